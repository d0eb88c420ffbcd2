"""What holds of the EvidenceGuard for any draft: it never raises, finds any true quote, and no changed digit passes."""

import cProfile
import re
import string
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from graph.contract.draft import Draft
from graph.contract.evidence import check_draft, no_conclusion_references
from graph.contract.vocabulary import DraftViolationCode as Code
from graph.contract.vocabulary import EvidenceKind
from tests.graph.contract.evidence_samples import ZONE, analysis, chinese_draft, draft, english_draft, record, records

KNOWN = records()
WORDS = st.sampled_from(
    [
        *("order-api", "gateway", "p99", "5xx", "13:47", "05:44:30Z", "212 ms", "3.84 s", "18 倍", "75%", "7c1f0e9"),
        *(
            "从",
            "升到",
            "下降",
            "没有",
            "部署于",
            "早于",
            "`kubectl get`",
            "git revert x",
            "1 分 30 秒",
            "百分之",
            "25:99",
        ),
        *(
            "2026-03-02T05:44:30+08:00",
            "6月31日",
            "v1.2",
            "()",
            "，",
            ". ",
            "\n",
            "```",
            "0",
            "9" * 30,
            "--force",
            "a/b",
        ),
    ]
)
TEXTS = st.lists(WORDS, max_size=12).map("".join) | st.lists(WORDS, max_size=12).map(" ".join) | st.text(max_size=60)
IDS = st.lists(st.sampled_from(["a1", "a2", "", " ", "r1c1", "zz"]), max_size=3)
CALLS = st.lists(st.sampled_from([*KNOWN, "", "r0c1"]), max_size=4)
ITEMS = st.lists(st.fixed_dictionaries({"text": TEXTS, "analysis_ids": IDS}), max_size=2)
ANALYSES = st.fixed_dictionaries(
    {
        "analysis_id": st.sampled_from(["a1", "a2", ""]),
        "kind": st.sampled_from(["OBSERVATION", "NEGATIVE_OBSERVATION", "INFERENCE", "?"]),
        "text": TEXTS,
        "quotes": st.lists(
            TEXTS | st.sampled_from([line for item in KNOWN.values() for line in item.evidence.content])
        ),
        "tool_call_ids": CALLS,
    }
)
CONCLUSIONS = st.none() | st.fixed_dictionaries(
    {
        "text": TEXTS,
        "component": TEXTS,
        "cause": TEXTS,
        "change_id": st.none() | TEXTS,
        "first_failing": st.none() | TEXTS,
        "affected": st.lists(TEXTS, max_size=2),
        "alternatives": st.lists(
            st.fixed_dictionaries({"component": TEXTS, "cause": TEXTS, "change_id": TEXTS}), max_size=1
        ),
        "analysis_ids": IDS,
    }
)
DRAFTS = st.fixed_dictionaries(
    {
        "conclusion": CONCLUSIONS,
        "analyses": st.lists(ANALYSES, max_size=3),
        "action_plan": ITEMS,
        "recommendations": ITEMS,
        "limitations": st.fixed_dictionaries({"ruled_out": IDS}),
    }
)


@given(DRAFTS)
def test_any_draft_is_judged_the_same_each_time_and_none_raises(data: dict[str, Any]) -> None:
    written = Draft.model_validate_json(Draft.model_validate(data, strict=False).model_dump_json())

    first = check_draft(written, KNOWN, zone=ZONE)

    assert first == check_draft(written, records(), zone=ZONE)
    assert all(item.detail is None or len(item.detail) <= 80 for item in first)
    assert set(no_conclusion_references(written, KNOWN)) <= set(KNOWN)


@given(st.data())
def test_a_quote_with_other_whitespace_and_width_is_always_found(data: st.DataObject) -> None:
    item = data.draw(st.sampled_from([one for one in KNOWN.values() if one.evidence.content]))
    words = " ".join(item.evidence.content).split()
    start = data.draw(st.integers(0, len(words) - 1))
    quoted = words[start : start + data.draw(st.integers(1, 12))]
    assume(len("".join(quoted)) >= 4)
    gaps = st.sampled_from([" ", "  ", "\n", "\t", "\u3000", "\n  "])
    written = "".join(word + data.draw(gaps) for word in quoted)
    if data.draw(st.booleans()):
        written = written.translate({ord(c): ord(c) + 0xFEE0 for c in string.ascii_letters + string.digits + "=|:"})

    found = {
        violation.code
        for violation in check_draft(
            draft(
                {"conclusion": None, "analyses": [analysis("a", "OBSERVATION", "异常。", [item.call_id], [written])]}
            ),
            KNOWN,
            zone=ZONE,
        )
    }
    assert Code.QUOTE_NOT_FOUND not in found


def _digits(text: str) -> list[int]:
    return [found.start() for found in re.finditer(r"\d", text)]


OBSERVED = [
    item
    for whole in (chinese_draft(), english_draft())
    for item in whole["analyses"]
    if item["kind"] == "OBSERVATION" and _digits(item["text"])
]


def _stands(item: dict[str, Any], text: str) -> bool:
    alone = draft({"conclusion": None, "analyses": [{**item, "text": text}]})
    return not check_draft(alone, KNOWN, zone=ZONE)


@pytest.mark.parametrize("item", OBSERVED)
def test_no_digit_of_an_observation_can_be_changed(item: dict[str, Any]) -> None:
    text = item["text"]
    assert _stands(item, text)
    changed = [
        text[:at] + digit + text[at + 1 :] for at in _digits(text) for digit in string.digits if digit != text[at]
    ]
    assert [other for other in changed if _stands(item, other)] == []


@pytest.mark.parametrize("item", OBSERVED)
def test_no_character_of_a_service_in_an_observation_can_be_changed(item: dict[str, Any]) -> None:
    text = item["text"]
    places = [at for found in re.finditer(r"order-api|gateway", text) for at in range(*found.span())]
    changed = [f"{text[:at]}q{text[at + 1 :]}" for at in places]
    assert [other for other in changed if _stands(item, other)] == []


@given(
    value=st.decimals(min_value=1, max_value=99999, places=1),
    other=st.decimals(min_value=1, max_value=99999, places=1),
    service=st.from_regex(r"[a-z]{3,8}-[a-z0-9]{2,6}", fullmatch=True),
    template=st.sampled_from(["{} 的延迟达到 {} ms。", "{} latency reached {} ms.", "{} 延迟 {} 毫秒"]),
)
def test_an_observation_of_any_service_stands_exactly_with_its_own_value(
    value: Any, other: Any, service: str, template: str
) -> None:
    line = f"series service={service} metric=latency_ms direction=UP extreme={value.normalize():f}"
    known = {"r1c1": record("r1c1", EvidenceKind.METRICS, (line,), components=(service,))}

    def stands(stated: Any) -> bool:
        item = analysis("a", "OBSERVATION", template.format(service, stated), ["r1c1"], [line])
        return not check_draft(draft({"conclusion": None, "analyses": [item]}), known, zone=ZONE)

    assert stands(value)
    assert stands(other) == (value == other)


def test_the_work_grows_in_step_with_the_draft() -> None:
    steps = []
    for repeats in (100, 200, 400):
        data = chinese_draft()
        data["analyses"][0]["text"] = data["analyses"][2]["text"] = "13:47 从 5 升到 7 ms，1,2 `a b` git x " * repeats
        written = draft(data)
        steps.append(_calls_made(partial(check_draft, written, KNOWN, zone=ZONE)))

    assert steps[2] - steps[1] < 2.5 * (steps[1] - steps[0])


def _calls_made(work: Callable[[], object]) -> int:
    """Count function calls, which unlike seconds are the same on any machine."""
    profile = cProfile.Profile()
    profile.runcall(work)
    return sum(entry.callcount for entry in profile.getstats())
