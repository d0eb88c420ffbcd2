"""Names asked for against names that a source knows.

Source: decided contract, "Answers of tools": a name that a source has never known is a typo (UNKNOWN_SELECTOR with near
names), not an absence.
"""

from collections.abc import Iterable

from tools.base import SourceFailure
from tools.canonical import fold
from tools.names import near
from tools.vocabulary import SourceError


def resolve(asked: str | None, known: Iterable[str], *, field: str) -> list[str] | None:
    """Return the source's own spellings of the folded name `asked`; None, meaning all, where nothing was asked.

    Raises SourceFailure(UNKNOWN_SELECTOR) with near names and the `field` where no known name folds to it.
    """
    if asked is None:
        return None
    names = sorted(set(known))
    matching = [name for name in names if fold(name) == asked]
    if not matching:
        raise SourceFailure(SourceError.UNKNOWN_SELECTOR, near_names=near(asked, names), field=field)
    return matching
