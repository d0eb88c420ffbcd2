"""Queries to paste: what a person runs by hand, in a client of the backend's own, where a question stayed open.

A query is short, whole, and runs as it stands. One that would be too long asks for less or is left out; it's never cut.
Where the backend is and who may ask it, only the person knows: `$…_URL` and `$…_TOKEN` stand for it.
"""

from collections.abc import Iterable

LONGEST_QUERY = 300
"""How many characters one query has at most."""
LONGEST_PASTE = 600
"""How many characters all queries of one question have at most."""
_LONGEST_TEXT = 60
_PLAIN = frozenset("-_/:@")


def whole(queries: Iterable[str]) -> str:
    """Return the first query that isn't too long, blank where each is."""
    return next((one for one in queries if len(one) <= LONGEST_QUERY), "")


def lines(queries: Iterable[str]) -> str:
    """Return queries, one a line: those that aren't too long, as long as there is room."""
    told: list[str] = []
    room = LONGEST_PASTE
    for one in dict.fromkeys(queries):
        if one and len(one) <= min(LONGEST_QUERY, room):
            told.append(one)
            room -= len(one) + 1
    return "\n".join(told)


def any_case(name: str) -> str:
    """Return an RE2 pattern that finds a folded name however it is spelled.

    Nothing in it has to be quoted in any language: a character that might is any character.
    """
    return "(?i)" + "".join(
        one if one.isalnum() or one in _PLAIN else "[.]" if one == "." else " " if one == " " else "." for one in name
    )


def beginning(text: str) -> str:
    """Return the first words of a text, few enough for a query; blank where the first one is too long already."""
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT + 1].rpartition(" ")[0]
