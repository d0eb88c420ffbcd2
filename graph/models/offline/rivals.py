"""Failures of another party that explain the same symptoms as a change does, and are as early."""

import re
from collections.abc import Sequence

from graph.models.offline.facts import Case, Change, Signature, Source
from graph.models.offline.reach import Reach
from graph.models.offline.room import Kind
from graph.models.offline.symptoms import Symptom
from graph.models.offline.ties import SAMPLING

_HOST = re.compile(
    r"(?:\b(?:from|to|calling|call|upstream|host|peer|by|provider|endpoint)\b[\s=:\"']*(?:https?://)?|https?://"
    r"|(?:peer\.[\w.]+|server\.address|host(?:name)?|address)=)"
    r"(?P<host>(?:[a-z0-9-]+\.)+[a-z][a-z0-9-]*[a-z])",
    re.IGNORECASE,
)
_LOUD = {"WARN", "WARNING", "ERROR", "FATAL", "CRITICAL", "ALERT", "EMERGENCY", "SEVERE"}


def rival_of(case: Case, change: Change, kind: Kind, effects: Sequence[Symptom], reach: Reach) -> Source | None:
    """Return the line by which the changed service says that another party failed, no later than what a lowered limit
    of this kind would explain; None where there is none.

    What speaks of the limit itself (an exhausted pool, a call that was cut off) is no such failure.
    """
    begun = min((one.at for one in effects if one.at is not None), default=None)
    if kind.rival is None or begun is None:
        return None
    own = {one.family for one in effects}
    told = [(one.first_seen, one.text, one.source) for one in case.signatures if _tells(one, change)]
    told += [(one.at, one.text, one.source) for one in case.spans if one.service == change.service]
    for at, text, source in told:
        if at is None or at > begun + SAMPLING or any(family.in_text(reach.masked(text)) for family in own):
            continue
        if kind.rival.search(text) and names_another(text, change.service, reach):
            return source
    return None


def _tells(signature: Signature, change: Change) -> bool:
    return signature.service == change.service and signature.severity in _LOUD


def names_another(text: str, own: str, reach: Reach) -> bool:
    """Whether an error of a service names another party: an outside host, or a service that doesn't call it."""
    near = {own.lower(), *(one.lower() for one in reach.upstream_of(own))}
    if any(found["host"].lower().split(".")[0] not in near for found in _HOST.finditer(text)):
        return True
    others = (one for one in reach.services if one.lower() not in near)
    return any(re.search(rf"(?<![\w-]){re.escape(one)}(?![\w-])", text, re.IGNORECASE) for one in others)
