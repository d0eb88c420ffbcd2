"""Where the benchmarks lie: a directory that `--data` names, or `../shared/benchmarks` beside the checkout.

They are data of others: read where they are, never copied.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from evals.cases import DataAbsent

USUAL_PLACE = Path(__file__).resolve().parents[2] / "shared" / "benchmarks"

T = TypeVar("T")


def benchmark_dir(data: Path | None, name: str) -> Path:
    """Return the directory of the benchmark called `name`: `data/name` where there is one, else `data` itself.

    Raises DataAbsent where the place isn't a directory.
    """
    place = data if data is not None else USUAL_PLACE
    found = place / name if data is None or (place / name).is_dir() else place
    if not found.is_dir():
        raise DataAbsent(f"no data for {name}: {found} is no directory; name one with --data")
    return found


def digest_of(paths: Sequence[Path], root: Path) -> str:
    """Return the SHA-256 (hex) over the files' names below `root` and their bytes, in order of name."""
    whole = hashlib.sha256()
    for path in sorted(paths):
        whole.update(f"{path.relative_to(root).as_posix()}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as file:
            while chunk := file.read(1 << 20):
                whole.update(chunk)
    return whole.hexdigest()


def spread(items: Sequence[T], limit: int | None) -> Sequence[T]:
    """Return at most `limit` items, evenly spread over the sequence and always the same ones; all where None."""
    if limit is None or limit >= len(items):
        return items
    return [items[index * len(items) // limit] for index in range(limit)]
