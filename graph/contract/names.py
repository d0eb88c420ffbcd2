"""Names in free text: services, metrics, changes, versions, paths; and which words are names at all.

Source: contract, "EvidenceGuard". A word is a name where its shape says so (`order-v2`, `http_5xx_ratio`, `559e94c`,
`PlaceOrder`), or where this run's evidence knows it as one (`frontend`), or nearly does (`frontent`).
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from enum import StrEnum

from graph.contract.folding import fold
from graph.contract.records import VerifiedRecord
from graph.contract.values import Word, scan


class NameSort(StrEnum):
    """What a word's shape says that it names."""

    REVISION = "revision"
    VERSION = "version"
    FRAGMENT = "fragment"
    """`p99`, `5xx`: a part of a metric's name."""
    COMPONENT = "component"
    OTHER = "other"


_HEX = re.compile(r"[0-9a-f]{7,64}")
_VERSION = re.compile(r"v\d[\w.-]*|\d+(?:\.\d+){2,}[\w.-]*")
_FRAGMENT = re.compile(r"p\d{2,4}(?:\.\d+)?|[1-5]xx")
_HUMPS = re.compile(r"[A-Za-z0-9]*[a-z][A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*|[A-Z]{2,}[a-z]{3,}")
_SNAKE = re.compile(r"[a-z0-9]+(?:_+[a-z0-9]+)+_?|_+[a-z0-9_]+")
_FILE = re.compile(r"[\w-]+(?:\.[\w-]+)*\.(?:[a-z]{1,5}|ya?ml)")
_MIXED = re.compile(r"(?=.*[a-z])(?=.*\d)[\w-]{3,}")
_SERVICE_WORD = re.compile(
    r"(?!(?:cross|multi|per|inter|intra|micro|self|single|each|all|same|up|down|third|web|end|one|any|on|a)[-_]?"
    r"(?:stream)?[-_]?s)[a-z][a-z-]*[a-z](?:service|svc)"
    r"|[a-z]+(?:-[a-z]+)*-(?:svc|service|api|db|server|gateway|worker|proxy|consumer|producer|cache|queue|agent|job)"
)
_GENERIC_PREFIX = re.compile(
    r"(?:cross|multi|per|inter|intra|micro|self|single|each|all|same|upstream|downstream|third|web|read|write|in|on|"
    r"shared|non|pre|post|client|server|first|full|local|remote|message|connection|work|dead-letter)-"
)
_GENERAL = re.compile(
    r"k8s|x509|x86(?:_64)?|ipv[46]|utf-?(?:8|16)|sha-?\d+|md5|base64|oauth2|http/?[123](?:\.\d)?|tls(?:v?1(?:\.\d)?)?|"
    r"tlsv1\.\d|i18n|e2e|b2b|log4j|amd64|arm64|iso-8601|rfc-?\d+|[lhspqt]\d|sev-?\d|[2345]g|i/o|a/b|e\.g|i\.e|vs\.|"
    r"postgresql|mysql|mongodb|github|gitlab|javascript|typescript|opentelemetry|clickhouse|rabbitmq|devops|graphql|"
    r"grpc|mtls|nosql|dynamodb|cloudwatch|elasticsearch|pagerduty|datadog|zookeeper|openssl|nodejs|node\.js|ios|macos|"
    r"\d+(?:st|nd|rd|th)"
)
_LETTERS = re.compile(r"[a-z]+")

_COMPONENT_KEYS = ("service", "caller", "callee", "component", "pod", "node", "host")
_NAMING_KEYS = (*_COMPONENT_KEYS, "metric", "id", "flag", "version", "change_id", "operation", "monitor")
_FIELD = re.compile(rf"(?:^|\s)({'|'.join(_NAMING_KEYS)})=(\S+)")
_MIN_NEAR = 6


def sort_by_shape(word: str) -> NameSort | None:
    """Return what the shape of a word says that it names, or None for an ordinary word."""
    low = word.casefold()
    if _GENERAL.fullmatch(low):
        return None
    if _HEX.fullmatch(low) and any(character.isdigit() for character in low):
        return NameSort.REVISION
    if _VERSION.fullmatch(low):
        return NameSort.VERSION
    if _FRAGMENT.fullmatch(low):
        return NameSort.FRAGMENT
    if _SERVICE_WORD.fullmatch(low) and not _GENERIC_PREFIX.match(low):
        return NameSort.COMPONENT
    if _MIXED.fullmatch(low) and "_" not in low:
        return NameSort.COMPONENT if "-" in low else NameSort.OTHER
    return NameSort.OTHER if _is_composed(word, low) else None


def _is_composed(word: str, low: str) -> bool:
    if _SNAKE.fullmatch(low) or _FILE.fullmatch(low) or ":" in word:
        return True
    if "/" in word:
        return word.count("/") > 1 or "." in word or "_" in word
    if "." in word or word.startswith("--"):
        return True
    return word[0].isalpha() and bool(_HUMPS.fullmatch(word))


class Vocabulary:
    """The names that a run's evidence knows, whatever their shape: what a draft's plain words may turn out to name."""

    def __init__(self, records: Mapping[str, VerifiedRecord], ignored: Iterable[str]) -> None:
        self.components: set[str] = set()
        self.metrics: set[str] = set()
        self._others: set[str] = set()
        self.ignored = {fold(name).casefold() for name in ignored} | {name.casefold() for name in records}
        for record in records.values():
            self._learn(record)
        for names in (self.components, self.metrics, self._others):
            names.discard("-")
            names.discard("")
        self._near = {cut for name in self.components | self.metrics | self._others for cut in _cuts(name)}
        self.ideographic = {name for name in self.components if not name.isascii() and len(name) > 1}

    def _learn(self, record: VerifiedRecord) -> None:
        evidence = record.evidence
        self.components.update(fold(name).casefold() for name in evidence.components)
        if evidence.first_failing:
            self.components.add(fold(evidence.first_failing).casefold())
        self._others.update(fold(change.change_id).casefold() for change in evidence.changes)
        for key, value in record.scope.items():
            if isinstance(value, str):
                self._file(key, fold(value).casefold())
        for line in evidence.content:
            if not line.startswith("  "):
                for key, value in _FIELD.findall(fold(line.partition(" | ")[0])):
                    self._file(key, value.casefold())

    def _file(self, key: str, value: str) -> None:
        if key in _COMPONENT_KEYS:
            self.components.add(value)
        elif key == "metric":
            self.metrics.add(value)
        elif key in _NAMING_KEYS:
            self._others.add(value)

    def sort_of(self, word: str) -> NameSort | None:
        """Return what `word` names: by its shape, as a known component or metric, or as nearly one; None for a word."""
        low = word.casefold()
        if low in self.ignored:
            return None
        if low in self.components:
            return NameSort.COMPONENT
        if low in self.metrics:
            return NameSort.OTHER
        return sort_by_shape(word) or (NameSort.COMPONENT if self._nearly_known(low) else None)

    def _nearly_known(self, low: str) -> bool:
        if len(low) < _MIN_NEAR or low in self._others:
            return False
        if any(form in self.components for form in (low.removesuffix("s"), f"{low}s", low.removesuffix("es"))):
            return False
        return any(cut in self._near for cut in _cuts(low))


def _cuts(name: str) -> set[str]:
    """Give a name and the name with one character out: two names that share one of these differ in one place."""
    if not _MIN_NEAR <= len(name) <= 100:
        return {name}
    return {name} | {name[:at] + name[at + 1 :] for at in range(len(name))}


def parts_of_word(word: str) -> tuple[str, ...]:
    """Return the words that a run holds: `cpu/memory` is two, `pkg/auth/jwt.go` is one."""
    if "/" in word and sort_by_shape(word) is None and not _GENERAL.fullmatch(word.casefold()):
        return tuple(word.split("/"))
    return (word,)


class NameSet:
    """The names that evidence holds, asked whether a text's name is one of them."""

    def __init__(self, words: Iterable[str]) -> None:
        self._whole: set[str] = set()
        self._segments: set[str] = set()
        revisions: set[str] = set()
        for word in words:
            low = word.casefold().lstrip("-/.")
            self._whole.update(_joins(low))
            self._segments.update(re.split(r"[_./-]", low))
            revisions.update(run for run in _HEX.findall(low) if len(run) == len(low))
        self._revisions = sorted(revisions)

    def holds(self, name: str) -> bool:
        """Return whether `name` is a whole name here; a revision also where at least 7 digits begin one."""
        low = name.casefold().lstrip("-/.")
        if low in self._whole:
            return True
        if _FRAGMENT.fullmatch(low):
            return low in self._segments
        return self.holds_revision(low) or self._plural_of_held(low)

    def holds_revision(self, low: str) -> bool:
        """Return whether a revision here begins with `low`, at least 7 hexadecimal digits."""
        if not _HEX.fullmatch(low):
            return False
        at = bisect_left(self._revisions, low)
        return at < len(self._revisions) and self._revisions[at].startswith(low)

    def _plural_of_held(self, low: str) -> bool:
        return low.endswith("s") and _LETTERS.fullmatch(low) is not None and low[:-1] in self._whole


def _joins(low: str) -> set[str]:
    """Give a name and its parts at `/` and `.` (`jwt.go` of `pkg/auth/jwt.go`); a version has no parts."""
    found = {low}
    cuts = [match.start() for match in re.finditer(r"[/.](?=[a-z_])", low)][:8]
    starts = [0, *(cut + 1 for cut in cuts)]
    ends = [*cuts, len(low)]
    found.update(low[start:end] for start in starts for end in ends if start < end)
    return found


def words_in(text: str) -> tuple[str, ...]:
    """Return the words and names of a text, folded."""
    return tuple(token.text for token in scan(fold(text)) if isinstance(token, Word))
