"""Why a change is innocent: the harmless shapes of a diff, by rule."""

import re
from enum import StrEnum

from graph.models.offline.diffs import Diff, words_of
from graph.models.offline.mechanisms import MANIFEST, is_major
from graph.models.offline.reporting import is_telemetry


class Innocence(StrEnum):
    """A key of texts.toml that says why a change didn't cause the incident."""

    LATE = "late"
    NOT_LIVE = "not_live"
    DOCUMENTS = "documents"
    TESTS = "tests"
    BUILD = "build"
    APPEARANCE = "appearance"
    DEPENDENCY_PATCH = "dependency_patch"
    COMMENTS = "comments"
    REWRITTEN = "rewritten"
    TELEMETRY = "telemetry"
    OTHER_PATH = "other_path"
    UNSEEN = "unseen"
    ROOM = "room"


_FILE_SORTS = (
    (
        Innocence.DOCUMENTS,
        re.compile(r"\.(md|rst|adoc)$|(^|/)(docs?|documentation)/|CODEOWNERS|LICENSE|CHANGELOG", re.I),
    ),
    (
        Innocence.TESTS,
        re.compile(r"_test\.\w+$|\.(test|spec)\.\w+$|(^|/)(tests?|testdata|__tests__|fixtures)/|(^|/)test_", re.I),
    ),
    (
        Innocence.BUILD,
        re.compile(r"(^|/)\.(github|circleci|gitlab)|golangci|\.editorconfig|Jenkinsfile|Makefile$", re.I),
    ),
    (
        Innocence.APPEARANCE,
        re.compile(r"\.(css|scss|less|svg|png|html?|tmpl)$|(^|/)theme\.\w+$|/i18n/|/locales?/", re.I),
    ),
)
_VERSION = re.compile(r"\bv?\d+\.\d+(\.\d+)?([\w.+-]*)")
_LITERAL = re.compile(r"\"[^\"]*\"|'[^']*'|`[^`]*`|(?<![\w.])\d[\d_.]*\w*")
_OPERATOR = re.compile(
    r"[<>!=]=|&&|\|\||<<|>>|(?<![-=])>|<|!|\?\?|\b(?:not|and|or|in|is|await|go|defer|finally|with|try)\b|[*/%]"
)
_CALL = re.compile(r"(\w+)\s*\(")
_DEFINED = re.compile(
    r"\b(?:def|func|function|fn|fun|const|let|var|val)\s+(?:\([^)]*\)\s*)?(\w+)\s*[(=]"
    r"|^(?!(?:return|for|if|while|else|elif|await|throw|raise|new|yield|case)\b)(?:[\w<>\[\],.?]+\s+)+(\w+)\s*\(",
    re.MULTILINE,
)


def shape_of(diff: Diff) -> Innocence:
    """Return which harmless shape a diff without any fitting mechanism has; OTHER_PATH where it has none of them."""
    for sort, pattern in _FILE_SORTS:
        if diff.files and all(pattern.search(file) for file in diff.files):
            return sort
    if not diff.shown:
        return Innocence.UNSEEN
    net = (*diff.added, *diff.removed)
    if not net:
        return Innocence.TELEMETRY if diff.reports else Innocence.COMMENTS
    if all(MANIFEST.search(file) for file in diff.files) and _only_patches(diff):
        return Innocence.DEPENDENCY_PATCH
    if not diff.removed and all(is_telemetry(text) for _, _, text in net):
        return Innocence.TELEMETRY
    return Innocence.REWRITTEN if _rewritten(diff) else Innocence.OTHER_PATH


def _only_patches(diff: Diff) -> bool:
    """Whether each line sets a version, and none of them another major one."""
    lines = [text for _, _, text in (*diff.added, *diff.removed)]
    majors = any(is_major(old, new) for _, _, old in diff.removed for _, _, new in diff.added if _same(old, new))
    return bool(diff.files) and all(_VERSION.search(text) for text in lines) and not majors


def _same(old: str, new: str) -> bool:
    return _VERSION.sub("", old).strip() == _VERSION.sub("", new).strip()


def _rewritten(diff: Diff) -> bool:
    """Whether the code was provably only put another way: the same literals and operators, every call still made.

    Calls that came anew have to be defined by the change itself: they were extracted.
    """
    if not diff.before or not diff.block:
        return False
    if _literals(diff.before) != _literals(diff.block):
        return False
    if _OPERATOR.findall(_bare(diff.before)) and _operators(diff.before) != _operators(diff.block):
        return False
    gone, came = set(_CALL.findall(_bare(diff.before))), set(_CALL.findall(_bare(diff.block)))
    defined = {name for found in _DEFINED.findall(diff.block) for name in found if name}
    words = words_of(diff.before) - words_of(diff.block)
    return gone <= came and came - gone <= defined and not words


def _literals(code: str) -> set[str]:
    return {found.strip("\"'`") for found in _LITERAL.findall(code)}


def _operators(code: str) -> set[str]:
    return set(_OPERATOR.findall(_bare(code)))


def _bare(code: str) -> str:
    return _LITERAL.sub(" ", code)
