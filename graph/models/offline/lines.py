"""Reading the lines of an observation: `sort key=value … | free text`, continuation lines begin with two blanks.

Source: the shape of `Evidence.content` (`tools.vocabulary.Evidence`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime


@dataclass(frozen=True)
class Line:
    """One line of fields with what follows it.

    `raw` is the first line verbatim, for quoting; `more` are its continuation lines, verbatim, too. `text` is the free
    text behind ` | `, which is hostile and is only ever matched against patterns.
    """

    sort: str
    fields: Mapping[str, str] = field(compare=False)
    text: str
    raw: str
    more: tuple[str, ...] = ()

    def get(self, key: str) -> str:
        """Return a field's value, or an empty string where the line doesn't have it."""
        return self.fields.get(key, "")

    def number(self, key: str) -> float | None:
        """Return a field as a number, or None where it's absent or isn't one."""
        try:
            return float(self.fields[key])
        except (KeyError, ValueError):
            return None

    def time(self, key: str) -> datetime | None:
        """Return a field as an aware UTC time, or None where it's absent or isn't one."""
        return parse_time(self.fields.get(key, ""))

    @property
    def whole_text(self) -> str:
        """The free text with its continuation lines."""
        return "\n".join((self.text, *(line.strip() for line in self.more)))


def parse_time(text: str) -> datetime | None:
    """Return an ISO time as aware UTC, or None; a time without a zone is taken as UTC, as the tools write it."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def parse_lines(content: Iterable[str]) -> list[Line]:
    """Return the lines of fields in order, each with its continuation lines; a continuation without a head is lost."""
    lines: list[Line] = []
    for raw in content:
        if raw.startswith("  "):
            if lines:
                head = lines[-1]
                lines[-1] = Line(head.sort, head.fields, head.text, head.raw, (*head.more, raw))
        else:
            lines.append(_parse(raw))
    return lines


def _parse(raw: str) -> Line:
    head, _, text = raw.partition(" | ")
    sort, *tokens = head.split() or [""]
    fields = {}
    for token in tokens:
        key, separator, value = token.partition("=")
        if separator and value not in ("", "-"):
            fields[key] = value
    return Line(sort, fields, text.strip(), raw)
