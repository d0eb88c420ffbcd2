"""The live sources that somebody configured, from the environment and the settings file.

`HARNESS_SOURCE_<NAME>_<FIELD>` and `[harness.source.<name>]` say the same; the environment wins field by field.
"""

import re
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from graph.setting_errors import SettingsError, first_line
from tools.live.source import SourceSettings

_VARIABLE = re.compile(r"HARNESS_SOURCE_([A-Z0-9]+)_([A-Z0-9_]+)", re.IGNORECASE)
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")


def source_tables(environment: Mapping[str, str], table: Any) -> dict[str, dict[str, Any]]:
    """Return the fields of each source by its name, in lower case, unchecked.

    `table` is the settings file's `[harness.source]`, dashes in field names already underscores. Raises SettingsError
    where it isn't a table of tables.
    """
    if not isinstance(table, dict) or not all(isinstance(fields, dict) for fields in table.values()):
        raise SettingsError("invalid settings file: expected [harness.source.<name>] tables")
    sources = {name.replace("_", "-"): dict(fields) for name, fields in table.items()}
    for variable, value in environment.items():
        if found := _VARIABLE.fullmatch(variable):
            name, field = found[1].lower(), found[2].lower()
            sources.setdefault(name, {})[field] = value
    return sources


def configured_sources(given: Mapping[str, Any]) -> dict[str, SourceSettings]:
    """Return the checked settings of each source; one that is checked already is taken as it is.

    Raises SettingsError, one clear line that names the setting and never its value.
    """
    return {name: one if isinstance(one, SourceSettings) else _checked(name, one) for name, one in given.items()}


def _checked(name: str, fields: Any) -> SourceSettings:
    # The types take a while to load, which settings without a live source needn't wait for.
    from tools.live.registry import settings_of

    if not _NAME.fullmatch(name):
        raise SettingsError(f"invalid source name {name[:40]!r}: expected letters, digits and dashes, at most 32")
    try:
        return settings_of(name, fields)
    except ValidationError as error:
        line = first_line(error, below=("source", name))
    except ValueError as error:
        line = f"invalid setting HARNESS_SOURCE_{name.upper()}_TYPE (harness.source.{name}.type): {error}"
    raise SettingsError(line)
