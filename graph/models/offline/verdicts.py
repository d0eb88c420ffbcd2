"""Why a change is innocent: the harmless shapes of a diff, by rule."""

import re
from enum import StrEnum

from graph.models.offline.diffs import Diff, words_of
from graph.models.offline.mechanisms import MANIFEST


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
    HARMLESS_VALUE = "harmless_value"
    OTHER_PATH = "other_path"
    UNSEEN = "unseen"


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
    (Innocence.DEPENDENCY_PATCH, MANIFEST),
)
_TELEMETRY = re.compile(
    r"prometheus|metric|histogram|counter|gauge|span\.|attribute|log(ger)?\.|slog|printf|otel|request_?id|\.inc\(|observe",
    re.I,
)


def shape_of(diff: Diff) -> Innocence:
    """Return which harmless shape a diff without any fitting mechanism has; OTHER_PATH where it has none of them."""
    for sort, pattern in _FILE_SORTS:
        if diff.files and all(pattern.search(file) for file in diff.files):
            return sort
    if not diff.shown:
        return Innocence.UNSEEN
    if not diff.added and not diff.removed:
        return Innocence.COMMENTS
    if diff.values and all(value.direction in ("RAISED", "QUIET") for value in diff.values) and _only_values(diff):
        return Innocence.HARMLESS_VALUE
    if all(_TELEMETRY.search(text) for _, _, text in (*diff.added, *diff.removed)):
        return Innocence.TELEMETRY
    return Innocence.REWRITTEN if _rewritten(diff) else Innocence.OTHER_PATH


def _only_values(diff: Diff) -> bool:
    touched = {value.old_line for value in diff.values} | {value.new_line for value in diff.values}
    return all(text in touched for _, _, text in (*diff.added, *diff.removed))


def _rewritten(diff: Diff) -> bool:
    """Whether nearly every word that went away came back: the code was moved or put another way."""
    gone = words_of("\n".join(text for _, _, text in diff.removed))
    came = words_of(diff.block)
    return len(gone) >= 3 and len(gone & came) >= 0.75 * len(gone)
