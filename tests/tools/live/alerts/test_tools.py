"""get_alerts over live sources: what is told, in which order, and what an empty answer means."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import pytest

from tests.tools.live.alerts.payloads import LABELS, gettable, silenced
from tests.tools.live.conformance import INCIDENT, ask
from tools.base import IncidentContext, SourceFailure
from tools.frozen.alerts import AlertsTool
from tools.frozen.selectors import resolve
from tools.live.alerts.firing import AlertSource, Firing
from tools.live.alerts.records import read_alerts
from tools.live.alerts.tools import CURRENT_ONLY, LiveAlertsTool
from tools.vocabulary import Evidence, EvidenceStatus, Provenance, SourceError

NOW = INCIDENT.as_of + timedelta(minutes=3)


class Canned(AlertSource):
    """A source that answers what it's given."""

    command: ClassVar[str] = "firing"

    def __init__(self, alerts: Sequence[Any] = (), failure: SourceError | None = None, **firing: Any) -> None:
        self.name = "canned"
        self._alerts, _ = read_alerts(alerts)
        self._failure = failure
        self._more = {"now": NOW, **firing}

    async def firing(self) -> Firing:
        if self._failure is not None:
            raise SourceFailure(self._failure)
        return Firing(self._alerts, **self._more)


def named(service: str, **fields: Any) -> dict[str, Any]:
    return gettable({**LABELS, "service": service}, **fields)


async def told(*sources: AlertSource, service: str | None = None, known: Iterable[str] | None = None) -> Evidence:
    async def siblings(service: str, _: IncidentContext) -> None:
        resolve(service, known or (), field="service")

    tool = LiveAlertsTool(dict(zip("abc", sources, strict=False)), None if known is None else siblings)
    return await ask(tool, {"service": service})


async def test_an_alert_is_told_in_the_lines_of_a_frozen_one() -> None:
    evidence = await told(Canned([gettable()]))
    assert evidence.content == (
        "alert service=payment metric=error_ratio threshold=0.05 observed=0.4213 fired_at=2026-09-08T07:01:30Z "
        "severity=critical monitor=PaymentErrors | payment fails",
        "  More than 5 % fail.",
        "  Look at the bank.",
        '  expression=error_ratio{service="payment"}_>_0.05',
        "  instance=10.0.0.7:8080",
        "  job=payment-api",
    )
    assert evidence.provenance is Provenance.TEXT
    assert evidence.components == ("payment",)
    assert "observed 0.4213 ratio, threshold 0.05 ratio" in evidence.summary
    assert evidence.notes == ()


def test_name_arguments_and_scope_are_those_of_the_frozen_tool() -> None:
    live = LiveAlertsTool({})
    assert (live.name, live.arguments, live.kind) == (AlertsTool.name, AlertsTool.arguments, AlertsTool.kind)
    assert live.description == AlertsTool.description
    said = live.arguments.model_validate({"service": " Payment "})
    assert live.normalize(said, INCIDENT) == {"service": "payment"}
    assert live.suggest(INCIDENT) == {}


async def test_recent_alerts_come_first_silenced_ones_and_heartbeats_last() -> None:
    evidence = await told(
        Canned(
            [
                silenced({**LABELS, "service": "silenced"}),
                gettable({"alertname": "Watchdog", "service": "heartbeat"}, startsAt="2026-09-08T07:00:00Z"),
                named("weeks-old", startsAt="2026-08-01T00:00:00Z"),
                named("second", startsAt="2026-09-08T07:01:00Z"),
                named("first", startsAt="2026-09-08T06:58:00Z"),
            ]
        )
    )
    assert evidence.components == ("first", "second", "weeks-old", "heartbeat", "silenced")
    assert "  silenced=yes" in evidence.content


async def test_what_began_after_the_incident_is_not_its_alert() -> None:
    evidence = await told(Canned([gettable(), named("later", startsAt="2026-09-08T07:17:01Z")]))
    assert evidence.components == ("payment",)


async def test_the_same_alert_of_two_servers_is_told_once_with_all_that_they_know() -> None:
    poor = gettable(annotations={}, status={"state": "suppressed", "silencedBy": ["x"], "inhibitedBy": []})
    evidence = await told(Canned([gettable()]), Canned([poor]))
    assert sum(line.startswith("alert ") for line in evidence.content) == 1
    assert "observed=0.4213" in evidence.content[0]
    assert "  silenced=yes" in evidence.content


async def test_one_source_that_fails_beside_one_that_answers_makes_the_answer_partial() -> None:
    evidence = await told(Canned([gettable()]), Canned(failure=SourceError.BACKEND_TIMEOUT))
    assert evidence.truncated
    assert evidence.notes == ("SOURCE_FAILED:b",)


@pytest.mark.parametrize("service", [None, "order"])
async def test_one_source_that_fails_beside_an_empty_one_is_no_absence(service: str | None) -> None:
    with pytest.raises(SourceFailure) as caught:
        await told(Canned(), Canned(failure=SourceError.BACKEND_TIMEOUT), service=service, known=["order"])
    assert caught.value.code is SourceError.BACKEND_TIMEOUT


@pytest.mark.parametrize(
    ("source", "known"),
    [
        (Canned(), ["order"]),
        (Canned(services=frozenset({"order"})), None),
        (Canned([named("order", startsAt="2026-09-08T09:00:00Z")]), None),
    ],
    ids=["another source knows it", "a rule names it", "it has a later alert"],
)
async def test_a_known_service_without_an_alert_is_an_absence(source: Canned, known: list[str] | None) -> None:
    evidence = await told(source, service="Order", known=known)
    assert evidence.status is EvidenceStatus.NO_EVIDENCE
    assert not evidence.truncated
    assert evidence.summary == "no alert for order"


@pytest.mark.parametrize("known", [None, [], ["payments", "order"]])
async def test_a_service_that_nobody_knows_is_an_error(known: list[str] | None) -> None:
    with pytest.raises(SourceFailure) as caught:
        await told(Canned([gettable()]), service="paymnet", known=known)
    assert caught.value.code is SourceError.UNKNOWN_SELECTOR
    assert caught.value.field == "service"
    assert "payment" in caught.value.near_names


async def test_where_the_other_sources_fail_nobody_can_tell_a_typo_from_quiet() -> None:
    async def failing(service: str, incident: IncidentContext) -> None:
        raise SourceFailure(SourceError.BACKEND_TIMEOUT)

    with pytest.raises(SourceFailure) as caught:
        await ask(LiveAlertsTool({"a": Canned()}, failing), {"service": "order"})
    assert caught.value.code is SourceError.BACKEND_TIMEOUT


async def test_without_a_question_nothing_firing_is_an_absence() -> None:
    evidence = await told(Canned())
    assert evidence.status is EvidenceStatus.NO_EVIDENCE
    assert not evidence.truncated


async def test_of_a_past_incident_an_absence_is_marked_as_truncated() -> None:
    """What was resolved since can't be told by a server that knows only of now."""
    much_later = INCIDENT.as_of + timedelta(hours=5)
    absence = await told(Canned(now=much_later))
    assert absence.truncated
    assert absence.notes == (CURRENT_ONLY,)
    still = await told(Canned([gettable()], now=much_later))
    assert not still.truncated
    assert still.notes == (CURRENT_ONLY,)


async def test_our_own_clock_serves_where_the_server_tells_none() -> None:
    incident = INCIDENT.model_copy(update={"as_of": datetime.now(UTC)})
    evidence = await ask(LiveAlertsTool({"a": Canned(now=None)}), {"service": None}, incident)
    assert evidence.notes == ()


async def test_broken_records_and_the_servers_own_warning_are_remarked() -> None:
    evidence = await told(Canned([gettable()], broken=2, warned=True))
    assert evidence.truncated
    assert evidence.notes == ("BROKEN_RECORDS:2", "PARTIAL_RESPONSE")


def test_the_command_to_paste_finds_the_service_under_any_label_in_any_case() -> None:
    tool = LiveAlertsTool({"a": Canned()})
    assert tool.paste({"service": "a b"}) == "firing | grep -i -F -e 'a b'"
    assert tool.paste({}) == "firing"
