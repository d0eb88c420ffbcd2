"""Lines of code that only report: a text inside a log, throw or error call says why a message reads so, never why it
is raised."""

import re
from collections.abc import Iterable

_LOGGING = re.compile(
    r"^(await\s+|_\s*=\s*|return\s+)?[\w.]*\b(log|logger|logging|console|slog|klog|zap|sugar|sentry|l|LOG|LOGGER|_log|_logger"
    r"|fmt|System\.out|System\.err|logrus|glog|winston|structlog|Log|Logger|Console|print|println|printf|eprintln!?)\b"
    r"(\([^()]*\))?[.:]*"
    r"(?P<method>\w*)\s*\(",
)
_METHODS = re.compile(
    r"^(trace|debug|info|information|notice|warn|warning|error|fatal|critical|exception|severe|log|msg|print|println|write_?line"
    r"|capture\w*)?(f|w|ln|ctx|context|_with)?$",
    re.IGNORECASE,
)
_RAISING = re.compile(
    r"\b(throw\s+(new\s+)?[\w.]+|raise\s+[\w.]+|panic!?|errors\.(New|Errorf|Wrapf?)|fmt\.Errorf|bail!|anyhow!|new\s+\w*(Error|Exception)"
    r"|http\.Error|HTTPException|abort|reject|res\.status\(\d+\)\.\w+|(status_?)?[Ee]rror(f|Response|_response)?)\s*\(",
)
_TELEMETRY = re.compile(
    r"prom(auto|etheus|client)|new_?(gauge|counter|histogram|summary)|\b(gauge|counter|histogram|timer|meter|statsd|otel"
    r"|tracer?|span|metrics?)\b\w*[.(:\-]|\.(inc|observe|record|set_?attribute|add_?event)\(",
    re.IGNORECASE,
)
_STRING = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|`[^`]*`")

ChangedLine = tuple[str, str, str]
"""(file, "-" or "+", text without the sign and outer blanks)."""


def without_reports(lines: Iterable[ChangedLine]) -> list[ChangedLine]:
    """Return changed lines without log calls, and with calls that raise an error cut off before their arguments.

    A call that spans lines is followed to its end, among the lines of the same file and sign.
    """
    kept: list[ChangedLine] = []
    depth: dict[tuple[str, str], int] = {}
    for file, sign, text in lines:
        key = (file, sign)
        if depth.get(key, 0) > 0:
            depth[key] = max(depth[key] + _open_parens(text), 0)
            continue
        logging, raising = _LOGGING.match(text), _RAISING.search(text)
        if logging and _METHODS.match(logging["method"]):
            depth[key] = max(_open_parens(text[logging.end() - 1 :]), 0)
        elif raising:
            depth[key] = max(_open_parens(text[raising.end() - 1 :]), 0)
            kept.append((file, sign, text[: raising.end()]))
        else:
            kept.append((file, sign, text))
    return kept


def is_telemetry(text: str) -> bool:
    """Whether a line of code feeds metrics or traces."""
    return bool(_TELEMETRY.search(text))


def _open_parens(text: str) -> int:
    bare = _STRING.sub("", text)
    return bare.count("(") - bare.count(")")
