"""Reading the tables that `kubectl get` prints, and the sections that `kubectl describe` prints."""

import re

_COLUMN = re.compile(r"\S+(?: \S+)*")
_HEADING = re.compile(r"[A-Z][A-Z0-9()\-]*(?: [A-Z][A-Z0-9()\-]*)*")
_EVENT = re.compile(
    r"(?P<last_seen>\S+)\s+(?P<type>Normal|Warning)\s+(?P<reason>\w+)\s+(?P<object>[\w-]+/\S+)\s*(?P<message>.*)"
)


def read_table(text: str) -> list[dict[str, str]]:
    """Return the rows of a table, each by the column's name (lower case, `_` for what isn't a letter or digit).

    Columns begin where their heading does. A table of events may come without its headings.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return []
    headings = list(_COLUMN.finditer(lines[0]))
    if not all(_HEADING.fullmatch(found[0]) for found in headings):
        return [_event(line) for line in lines if _EVENT.match(line)]
    starts = [(column_name(found[0]), found.start()) for found in headings]
    if {"reason", "object", "message"} <= {name for name, _ in starts}:
        return [_event(line) for line in lines[1:] if _EVENT.match(line)]
    return [_row(line, starts) for line in lines[1:]]


def with_labels(table: str, labelled: str) -> str:
    """Return `table` with the column LABELS of `labelled`, a table of the same objects, at its end.

    Where one of both is no table by names, or the labels are there already, `table` comes back as it is.
    """
    labels = {row["name"]: row["labels"] for row in read_table(labelled) if "name" in row and "labels" in row}
    rows = read_table(table)
    if not labels or not rows or any("name" not in row or "labels" in row for row in rows):
        return table
    header, *lines = [line for line in table.splitlines() if line.strip()]
    width = max(map(len, (header, *lines))) + 3
    joined = (f"{line.ljust(width)}{labels.get(row['name'], '')}" for line, row in zip(lines, rows, strict=True))
    return "\n".join([f"{header.ljust(width)}LABELS", *joined])


def _row(line: str, starts: list[tuple[str, int]]) -> dict[str, str]:
    ends = [start for _, start in starts[1:]] + [len(line)]
    return {name: line[start:end].strip() for (name, start), end in zip(starts, ends, strict=True)}


def _event(line: str) -> dict[str, str]:
    found = _EVENT.match(line)
    return {key: value.strip() for key, value in found.groupdict().items()} if found else {}


def column_name(heading: str) -> str:
    """Return a column's name: lower case, `_` for what is no letter or digit (`PORT(S)` is `ports`)."""
    return re.sub(r"[^a-z0-9]+", "_", heading.casefold().replace("(s)", "s")).strip("_")


def read_event_table(lines: list[str]) -> list[dict[str, str]]:
    """Return the rows of the events at the end of a description: type, reason, age, from, message."""
    table = [line for line in lines if line.strip()]
    if len(table) < 2:
        return []
    starts = [(column_name(found[0]), found.start()) for found in _COLUMN.finditer(table[0])]
    return [_row(line, starts) for line in table[1:] if not set(line.strip()) <= {"-", " "}]


def read_sections(text: str) -> list[tuple[str, list[str]]]:
    """Return a description's sections in order: what stands before the first colon of a line that isn't indented, and
    the lines of it: the rest of that line, then the lines below it, indented as they are."""
    sections: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line[:1].strip() and ":" in line:
            name, _, rest = line.partition(":")
            sections.append((name.strip(), [rest.strip()]))
        elif sections:
            sections[-1][1].append(line.rstrip())
    return sections
