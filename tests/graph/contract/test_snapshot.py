"""The snapshot: facts in the order of execution, limitations by code, everything bounded."""

from hypothesis import given
from hypothesis import strategies as st

from graph.contract.records import InvocationKey, VerifiedRecord
from graph.contract.snapshot import (
    MAX_FACTS,
    MAX_LIMITATIONS,
    MAX_RESULT_CHARS,
    MAX_SCOPE_CHARS,
    Limitation,
    project_snapshot,
)
from graph.contract.vocabulary import (
    EvidenceKind,
    FailureCode,
    InvocationStatus,
    LimitationCode,
    SourceError,
    StopReason,
)
from tests.support.scripted import evidence

LINE = "raw line of a source"
codes = st.one_of(st.sampled_from(LimitationCode), st.sampled_from(SourceError))
outcomes = st.lists(st.one_of(st.none(), codes), max_size=40)


def key(number: int) -> InvocationKey:
    status = InvocationStatus.READY
    return InvocationKey(call_id=f"r1c{number}", tool_name=f"t{number}", scope_digest="s", status=status, digest="d")


def record(number: int) -> VerifiedRecord:
    found = evidence([LINE], summary=f"{number} " + "x" * 1000, truncated=number % 2 == 0)
    return VerifiedRecord(
        f"r1c{number}", f"t{number}", EvidenceKind.METRICS, {"service": "s" * 999, "n": number}, found
    )


@given(outcomes, st.one_of(st.none(), st.sampled_from(StopReason)), st.lists(st.sampled_from(FailureCode), max_size=2))
def test_what_is_verified_is_a_fact_and_what_is_not_a_limitation(
    found: list[LimitationCode | SourceError | None], stop: StopReason | None, failures: list[FailureCode]
) -> None:
    keys = [key(number) for number in range(len(found))]
    checked = {f"r1c{number}": code or record(number) for number, code in enumerate(found)}
    snapshot = project_snapshot(keys, checked, stop_reason=stop, failures=failures)
    verified = [number for number, code in enumerate(found) if code is None]
    assert [fact.scope["n"] for fact in snapshot.observed_facts] == verified[:MAX_FACTS]
    assert snapshot.stop_reason is stop
    told = [Limitation(code=code) for code in failures]
    told += [Limitation(code=code, source=f"t{number}") for number, code in enumerate(found) if code is not None]
    told += [] if found else [Limitation(code=LimitationCode.NOTHING_CHECKED)]
    assert snapshot.limitations == tuple(dict.fromkeys(told))[:MAX_LIMITATIONS]
    for fact in snapshot.observed_facts:
        assert len(fact.result) <= MAX_RESULT_CHARS
        assert fact.scope["service"] == "s" * (MAX_SCOPE_CHARS - 1) + "…"
        assert fact.truncated is (fact.scope["n"] % 2 == 0)
    assert LINE not in snapshot.model_dump_json()


def test_a_result_is_cut_between_words_and_shows_it() -> None:
    summary = " ".join(["DEPLOY 21ab01148bc0fcde8fa47206397fad5df3be5869"] * 12)
    found = evidence([LINE], summary=summary)
    long = VerifiedRecord("r1c1", "t1", EvidenceKind.CHANGES, {}, found)
    result = project_snapshot([key(1)], {"r1c1": long}, stop_reason=None).observed_facts[0].result
    assert result.endswith("…")
    assert set(result[:-1].split()) <= set(summary.split())


def test_a_key_that_was_not_checked_is_missing_and_no_fact() -> None:
    snapshot = project_snapshot([key(1)], {}, stop_reason=None)
    assert snapshot.observed_facts == ()
    assert snapshot.limitations == (Limitation(code=LimitationCode.RECORD_MISSING, source="t1"),)


def test_what_a_source_remarks_of_its_quality_is_a_limitation_once_a_source() -> None:
    remarks = ("BROKEN_LINES:3", "ZONE_ASSUMED:Asia/Shanghai", "SOURCE_UNREADABLE:flags", "ENCODING:GB18030")
    found = VerifiedRecord("r1c0", "t0", EvidenceKind.CHANGES, {}, evidence([LINE], notes=remarks))
    snapshot = project_snapshot([key(0)], {"r1c0": found}, stop_reason=None)
    assert [limitation.code for limitation in snapshot.limitations] == [
        LimitationCode.BROKEN_LINES,
        LimitationCode.ZONE_ASSUMED,
        LimitationCode.SOURCE_INCOMPLETE,
    ]
    assert {limitation.source for limitation in snapshot.limitations} == {"t0"}
