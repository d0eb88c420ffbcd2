"""Which mechanisms a diff holds: pure pattern work over `rules/mechanisms.toml`, no symptoms yet."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from graph.models.offline.diffs import Diff
from graph.models.offline.pairs import ValueChange
from graph.models.offline.reporting import ChangedLine

MANIFEST = re.compile(
    r"(^|/)(go\.(mod|sum)|package(-lock)?\.json|yarn\.lock|requirements[\w.-]*\.txt|pom\.xml|build\.gradle(\.kts)?"
    r"|Cargo\.(toml|lock)|Gemfile(\.lock)?|pyproject\.toml|poetry\.lock|composer\.json|Dockerfile)$"
)
_VERSION = re.compile(r"(?<![\w.])v?(\d+)\.(\d+)(?:\.(\d+))?(?![\w.]*\s*%)")

_LITERAL = re.compile(r"[\"'][^\"']*:[^\"']*[\"']")
_PACKAGE = re.compile(r"[A-Za-z@][\w@/.-]*[A-Za-z]")


@dataclass(frozen=True)
class Mechanism:
    """One way in which a change breaks something; see the head of `rules/mechanisms.toml` for the fields."""

    name: str
    effects: tuple[str, ...]
    action: str
    zh: str
    en: str
    moves: tuple[str, ...] = ()
    ratio: float = 1.0
    reach: str = "own"
    tie: str = ""
    sign: tuple[str, ...] = ()
    key: re.Pattern[str] | None = None
    key_not: re.Pattern[str] | None = None
    removed: re.Pattern[str] | None = None
    added: re.Pattern[str] | None = None
    absent: re.Pattern[str] | None = None
    block: re.Pattern[str] | None = None
    declared: re.Pattern[str] | None = None
    says: re.Pattern[str] | None = None
    says_not: re.Pattern[str] | None = None
    files: re.Pattern[str] | None = None
    files_not: re.Pattern[str] | None = None


@dataclass(frozen=True)
class Match:
    """A mechanism found in a diff: the changed lines that show it, and the value or object that changed, if any."""

    mechanism: Mechanism
    lines: tuple[ChangedLine, ...]
    value: ValueChange | None = None
    object: str = ""


_PATTERNS = (
    "key",
    "key_not",
    "removed",
    "added",
    "absent",
    "block",
    "declared",
    "files",
    "files_not",
    "says",
    "says_not",
)


@cache
def mechanisms() -> tuple[Mechanism, ...]:
    """Return all mechanisms, read once from the rules."""
    table = tomllib.loads(files("graph.models.offline.rules").joinpath("mechanisms.toml").read_text("utf-8"))
    return tuple(_mechanism(name, rule) for name, rule in table.items())


def _mechanism(name: str, rule: dict[str, Any]) -> Mechanism:
    fields: dict[str, Any] = {
        key: re.compile(value, re.IGNORECASE) if key in _PATTERNS else value for key, value in rule.items()
    }
    fields.update({key: tuple(rule.get(key, ())) for key in ("effects", "moves", "sign")})
    return Mechanism(name=name, **fields)


def find_mechanisms(diff: Diff) -> list[Match]:
    """Return every mechanism that the net lines of a diff show, in the order of the rules."""
    return [match for mechanism in mechanisms() for match in _matches(mechanism, diff)]


def _matches(mechanism: Mechanism, diff: Diff) -> Iterator[Match]:
    if "MAJOR" in mechanism.moves:
        yield from _major_upgrades(mechanism, diff)
    elif mechanism.key:
        yield from _value_matches(mechanism, diff)
    if mechanism.removed:
        yield from _removed_matches(mechanism, diff)
    if mechanism.added:
        yield from _added_matches(mechanism, diff)
    if mechanism.block:
        yield from _block_matches(mechanism, diff)


def _in_files(mechanism: Mechanism, file: str) -> bool:
    if MANIFEST.search(file) and "MAJOR" not in mechanism.moves:
        return False
    if mechanism.files and not mechanism.files.search(file):
        return False
    return not (mechanism.files_not and mechanism.files_not.search(file))


def _value_matches(mechanism: Mechanism, diff: Diff) -> Iterator[Match]:
    for change in diff.values:
        line = _setting(change)
        line = f"{line} {snake(line)}"
        if (
            change.direction in mechanism.moves
            and change.ratio >= mechanism.ratio
            and _in_files(mechanism, change.file)
            and mechanism.key is not None
            and mechanism.key.search(line)
            and not (mechanism.key_not and mechanism.key_not.search(line))
        ):
            lines = ((change.file, "-", change.old_line), (change.file, "+", change.new_line))
            yield Match(mechanism, lines, value=change)


def _setting(change: ValueChange) -> str:
    """Return the line that sets a value, without the value where it's a text: what that says isn't what it sets."""
    if change.direction != "CHANGED" or change.new.start == change.new.end:
        return change.new_line
    rest = change.new_line[: change.new.start] + change.new_line[change.new.end :]
    return _LITERAL.sub(" ", rest)


def snake(text: str) -> str:
    """Return a text with its names in snake case, as the rules spell them: `maxPoolSize`, `session.timeout.ms`."""
    humps = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text)
    return re.sub(r"(?<=\w)[.-](?=[A-Za-z])", "_", humps).lower()


def _removed_matches(mechanism: Mechanism, diff: Diff) -> Iterator[Match]:
    assert mechanism.removed is not None  # noqa: S101 - narrowed by the caller
    for line in diff.removed:
        found = mechanism.removed.search(line[2])
        if not found or not _in_files(mechanism, line[0]):
            continue
        if _added_elsewhere(mechanism, found, diff):
            continue
        yield Match(mechanism, (line,), object=found.groupdict().get("object") or "")


def _added_elsewhere(mechanism: Mechanism, found: re.Match[str], diff: Diff) -> bool:
    again = found[0].lower().strip()
    if any(again in text.lower() for text in diff.block.splitlines()):
        return True
    return bool(mechanism.absent and mechanism.absent.search(diff.block))


def _added_matches(mechanism: Mechanism, diff: Diff) -> Iterator[Match]:
    assert mechanism.added is not None  # noqa: S101 - narrowed by the caller
    if mechanism.absent and mechanism.absent.search(diff.block):
        return
    removed = "\n".join(text.lower() for _, _, text in diff.removed)
    for line in diff.added:
        if not _in_files(mechanism, line[0]):
            continue
        for found in mechanism.added.finditer(line[2]):
            if found[0].lower().strip() not in removed:
                yield Match(mechanism, (line,), object=found.groupdict().get("object") or "")


def _block_matches(mechanism: Mechanism, diff: Diff) -> Iterator[Match]:
    assert mechanism.block is not None  # noqa: S101 - narrowed by the caller
    if mechanism.absent and mechanism.absent.search(diff.block):
        return
    if mechanism.declared and not mechanism.declared.search(diff.block):
        return
    found = mechanism.block.search(diff.block)
    if not found:
        return
    first = diff.block.count("\n", 0, found.start("new"))
    last = diff.block.count("\n", 0, found.end("new"))
    fresh = {text.strip() for text in diff.block.splitlines()[first : last + 1]}
    lines = tuple(line for line in diff.added if line[2] in fresh and _in_files(mechanism, line[0]))
    if lines:
        yield Match(mechanism, lines)


def _major_upgrades(mechanism: Mechanism, diff: Diff) -> Iterator[Match]:
    for old in diff.removed:
        name = _PACKAGE.search(old[2])
        if name is None or not _in_files(mechanism, old[0]):
            continue
        for new in diff.added:
            other = _PACKAGE.search(new[2])
            if new[0] == old[0] and other and other[0] == name[0] and is_major(old[2], new[2]):
                yield Match(mechanism, (old, new), object=name[0])


def is_major(old: str, new: str) -> bool:
    """Whether the version on the new line has another major number than the one on the old line."""
    before, after = _VERSION.search(old), _VERSION.search(new)
    return bool(before and after and before[1] != after[1])
