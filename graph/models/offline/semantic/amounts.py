"""Which way the numbers of a diff moved, for the semantic guard."""

import re
from collections.abc import Sequence

_NUMBER = re.compile(
    r"(?<![\w.])(\d[\d_]*(?:\.\d+)?)(?:\s*\*\s*time\.)?\s*"
    r"(Nanosecond|Microsecond|Millisecond|Second|Minute|Hour|ms|us|ns|s|m|h|d|Ki|Mi|Gi|Ti|KB|MB|GB|K|M|G)?(?![\w(])"
)
_WORTH = {
    "Nanosecond": 1e-9, "Microsecond": 1e-6, "Millisecond": 1e-3, "Second": 1, "Minute": 60, "Hour": 3600,
    "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600, "d": 86400,
    "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "KB": 1e3, "MB": 1e6, "GB": 1e9, "K": 1e3, "M": 1e6, "G": 1e9,
}  # fmt: skip


def moved_values(minus: Sequence[str], plus: Sequence[str]) -> list[int]:
    """Return +1 or -1 for each number that another one replaced, on lines that are else nearly the same."""
    moves = []
    left = list(plus)
    for old in minus:
        numbers = _numbers(old)
        partner = next((new for new in left if new != old and numbers and _alike(old, new)), None)
        if partner is None:
            continue
        left.remove(partner)
        for before, after in zip(numbers, _numbers(partner), strict=False):
            if before != after:
                moves.append(1 if after > before else -1)
    return moves


def _numbers(line: str) -> list[float]:
    cores = "cpu" in line.lower()
    return [
        float(found[1].replace("_", "")) * (1e-3 if cores and found[2] == "m" else _WORTH.get(found[2] or "", 1))
        for found in _NUMBER.finditer(line)
    ]


def _alike(one: str, other: str) -> bool:
    if len(_numbers(one)) != len(_numbers(other)):
        return False
    mine, theirs = (set(re.findall(r"[A-Za-z_]\w*", _NUMBER.sub(" ", line))) for line in (one, other))
    return bool(mine | theirs) and len(mine & theirs) >= 0.6 * len(mine | theirs)
