# ruff: noqa: S608 -- statements are composed of fixed text of this package; every value is a parameter
"""The services that any source of a frozen incident knows."""

from collections.abc import Sequence

from tools.base import SourceFailure
from tools.frozen.database import Database


async def known_services(sources: Sequence[tuple[str, Database]], zone: str) -> frozenset[str]:
    """Return the services named in `sources`, pairs of a fixed table name and its database.

    For sources whose silence about a service means something (no alert, no change): a name that the metrics, logs or
    traces know is no typo. A source that can't answer contributes none.
    """
    names: set[str] = set()
    for table, database in sources:
        try:
            found = await database.ask(
                zone,
                lambda rows, _, table=table: rows.all(f"SELECT DISTINCT service FROM {table}"),  # type: ignore[misc]
            )
        except SourceFailure:
            continue
        names.update(service for (service,) in found if service)
    return frozenset(names)
