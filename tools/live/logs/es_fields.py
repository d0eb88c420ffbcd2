"""Which fields of an index hold what a log record has.

Source: Elasticsearch and OpenSearch documentation, "Field capabilities API". A text field can be searched and not
counted; its keyword subfield, `<name>.keyword` by dynamic mapping, can be counted.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tools.base import SourceFailure
from tools.vocabulary import SourceError

if TYPE_CHECKING:
    from tools.live.logs.settings import ElasticsearchSettings

_DATES = frozenset({"date", "date_nanos"})
_ANALYZED = frozenset({"text", "match_only_text"})
_UNANALYZED = frozenset({"keyword", "wildcard", "constant_keyword"})
_NUMBERS = frozenset({"long", "integer", "short", "byte", "unsigned_long"})
SUBFIELDS = ("keyword", "raw")


@dataclass(frozen=True)
class Field:
    """A field as it's asked: `name` with its subfield, and how it is kept."""

    name: str
    analyzed: bool = False
    number: bool = False


@dataclass(frozen=True)
class Fields:
    """The fields of an index pattern. `texts`: what may be searched, the message first."""

    time: str
    message: Field
    texts: tuple[Field, ...]
    service: Field | None
    level: Field | None


def wanted(settings: "ElasticsearchSettings") -> list[str]:
    """Return the names whose capabilities have to be asked for."""
    plain = (*settings.time_fields, *settings.message_fields, *settings.stack_fields)
    counted = (*settings.service_fields, *settings.level_fields)
    return [*plain, *counted, *(f"{name}.{sub}" for name in counted for sub in SUBFIELDS)]


def fields_of(capabilities: Any, settings: "ElasticsearchSettings") -> Fields:
    """Return the fields to ask, from the answer of the field capabilities API.

    Raises SourceFailure: SOURCE_MISSING where the pattern matches no index, SOURCE_UNREADABLE where its indices have no
    time or no message among the configured names.
    """
    if not isinstance(capabilities, dict) or not isinstance(capabilities.get("fields"), dict):
        raise SourceFailure(SourceError.SOURCE_UNREADABLE)
    if not capabilities.get("indices"):
        raise SourceFailure(SourceError.SOURCE_MISSING)
    types: Mapping[str, Any] = capabilities["fields"]
    times = [name for name in settings.time_fields if _all(types.get(name), _DATES)]
    texts = [found for name in settings.message_fields if (found := _searched(name, types))]
    stacks = [found for name in settings.stack_fields if (found := _searched(name, types))]
    if not times or not texts:
        raise SourceFailure(SourceError.SOURCE_UNREADABLE, field="index")
    return Fields(
        time=times[0],
        message=texts[0],
        texts=(texts[0], *stacks),
        service=_counted(settings.service_fields, types),
        level=_counted(settings.level_fields, types),
    )


def _searched(name: str, types: Mapping[str, Any]) -> Field | None:
    found = types.get(name)
    if _all(found, _ANALYZED):
        return Field(name, analyzed=True)
    return Field(name) if _all(found, _UNANALYZED) else None


def _counted(names: Iterable[str], types: Mapping[str, Any]) -> Field | None:
    for name in names:
        for spelled in (name, *(f"{name}.{sub}" for sub in SUBFIELDS)):
            if _all(types.get(spelled), _UNANALYZED):
                return Field(spelled)
            if _all(types.get(spelled), _NUMBERS):
                return Field(spelled, number=True)
    return None


def _all(found: Any, kinds: frozenset[str]) -> bool:
    """Whether a field is of these types in every index that has it."""
    return isinstance(found, dict) and bool(found) and set(found) - {"unmapped"} <= kinds and set(found) != {"unmapped"}
