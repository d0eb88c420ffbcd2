"""Whether a lowered pool or timeout can't be what was hit, read a second time: the baselines leave room under it.

Only a change that does nothing else is judged, and only where something measures it: any doubt leaves the claim to the
other checks.
"""

import re
from collections.abc import Iterator

from graph.models.offline.semantic.reading import Deployed, World

_QUANTITY = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)\s*(ms|s|m)?(?![\w.])")
_SECONDS = {"ms": 1e-3, "s": 1.0, "m": 60.0}
_TIMEOUT = re.compile(r"time[_-]?out|deadline|time[_-]?limit", re.IGNORECASE)
_NOT_A_CALL = re.compile(
    r"idle|keep|ttl|cache|session|heart|lease|visibility|lock|probe|liveness|readiness|startup|grace|shut|drain|poll"
    r"|token|expir|timeout_?seconds",
    re.IGNORECASE,
)
_POOL = re.compile(r"pool[_-]?(size|max)|max\w*[_-]?(conn|pool)|maximum[_-]?pool", re.IGNORECASE)
_NOT_A_CEILING = re.compile(r"idle|life|age|time|min", re.IGNORECASE)
_SERIES = re.compile(r"^series service=(\S+) metric=(\S+) .*?\bbaseline=([\d.e+-]+) extreme=([\d.e+-]+)")
_TAIL = re.compile(r"(duration|latency|response_time)\w*?p9[5-9]\w*?(?P<unit>_ms|milliseconds|seconds)", re.IGNORECASE)
_IN_USE = re.compile(r"(pool|connections?)_(in_use|active|used|usage|utili[sz]ation)", re.IGNORECASE)
_SHARE = re.compile(r"_ratio|utili[sz]ation|percent|pct", re.IGNORECASE)
_NEEDED = 1.2
_WHOLE = 1.5
"""A larger share is told in percent."""


def leaves_room(change: Deployed, world: World) -> bool:
    """Whether a change only lowers pools or timeouts, and each is still above what its service used before."""
    pairs = list(zip(change.minus, change.plus, strict=False))
    if not pairs or len(change.minus) != len(change.plus):
        return False
    return all(_has_room(old, new, list(_baselines(change.service, world))) for old, new in pairs)


def _baselines(service: str, world: World) -> Iterator[tuple[str, float, float]]:
    for lines in world.lines.values():
        for found in filter(None, map(_SERIES.match, lines)):
            if found[1] == service and float(found[3]) > 0:
                yield found[2], float(found[3]), float(found[4])


def _has_room(old: str, new: str, baselines: list[tuple[str, float, float]]) -> bool:
    before, after = _QUANTITY.findall(old), _QUANTITY.findall(new)
    if len(before) != 1 or len(after) != 1 or _QUANTITY.sub("", old) != _QUANTITY.sub("", new):
        return False
    if _TIMEOUT.search(new) and not _NOT_A_CALL.search(new) and before[0][1] and after[0][1]:
        limits = [float(number) * _SECONDS[unit] for number, unit in (before[0], after[0])]
        used = [
            baseline * (1.0 if found["unit"].lower() == "seconds" else 1e-3)
            for metric, baseline, _ in baselines
            if (found := _TAIL.search(metric))
        ]
    elif _POOL.search(new) and not _NOT_A_CEILING.search(new):
        limits = [float(before[0][0]), float(after[0][0])]
        used = [_taken(one, limits[0]) for one in baselines if _IN_USE.search(one[0])]
    else:
        return False
    return limits[1] < limits[0] and bool(used) and limits[1] >= _NEEDED * max(used)


def _taken(measure: tuple[str, float, float], limit: float) -> float:
    metric, baseline, extreme = measure
    share = limit * (baseline / 100 if max(baseline, extreme) > _WHOLE else baseline)
    if _SHARE.search(metric):
        return share
    return max(baseline, share) if "usage" in metric else baseline
