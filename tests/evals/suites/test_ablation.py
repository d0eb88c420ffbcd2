"""Ablation: what goes, what stays, when a case counts, and what a fallback has to name."""

import asyncio
import gc
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from evals.cases import Attempt, Case, DataAbsent
from evals.data import USUAL_PLACE
from evals.suites.ablation import Ablation, clusters, incidents, names_gap
from tests.support.drafts import draft
from tools.base import EvidenceTool, IncidentContext
from tools.vocabulary import Evidence

START = datetime(2026, 6, 18, 14, 0, tzinfo=UTC)
FIRED = START + timedelta(minutes=70)
GUILTY, DECOY, LATE = "a" * 40, "b" * 40, "c" * 40


def at(minute: int) -> str:
    return (START + timedelta(minutes=minute)).strftime("%Y-%m-%dT%H:%M:%SZ")


def write_incident(root: Path, *, guilty: str = GUILTY, decoy_at: int = 50, decoy_of: str = "cart") -> Path:
    """An incident whose one measure rises at minute 60; a guilty deploy at 55, a decoy, and one that came too late."""
    place = root / "rootcausebench" / "cart-slow"
    (place / "context").mkdir(parents=True)
    deploys = [("cart", GUILTY, 55), (decoy_of, DECOY, decoy_at), ("cart", LATE, 65)]
    commits = [
        {"sha": sha, "author": "x", "timestamp": at(40), "message": "telling", "files_changed": ["f.py"], "diff": "+ x"}
        for sha in (GUILTY, DECOY, LATE)
    ]
    logs = [
        {"timestamp": at(10), "service": "cart", "severity_text": "INFO", "msg": "calm", "trace_id": "t"},
        {"timestamp": at(61), "service": "cart", "severity_text": "ERROR", "msg": "telling", "trace_id": "t"},
    ]
    spans = [
        {"trace_id": "t", "span_id": "1", "parent_id": None, "service": "cart", "name": "get", "start": at(61),
         "duration_ms": 900, "status": "ERROR", "error": "telling"},
        {"trace_id": "t", "span_id": "2", "parent_id": "1", "service": "db", "name": "q", "start": at(61),
         "duration_ms": 800, "status": "OK"},
    ]  # fmt: skip
    alert = {"service": "cart", "metric": "p99_ms", "threshold": 500, "observed": 900, "fired_at": at(70),
             "severity": "high", "monitor": "m", "summary": "telling"}  # fmt: skip
    truth = {"root_cause_commit": guilty, "first_failing_service": "cart", "blast_radius": [],
             "remediation": "rollback", "decoy_deploy_commits": [DECOY]}  # fmt: skip
    rows = [f"{at(m)},cart,p99_ms,{100 + m % 3 if m < 60 else 900}\n{at(m)},cart,rps,{50 + m % 2}\n" for m in range(75)]
    files = {
        "alert.json": json.dumps(alert),
        "ground_truth.json": json.dumps(truth),
        "traces.json": json.dumps(spans),
        "logs.ndjson": "".join(json.dumps(one) + "\n" for one in logs),
        "metrics.csv": "timestamp,service,metric,value\n" + "".join(rows),
        "context/commits.json": json.dumps(commits),
        "context/deploys.json": json.dumps(
            [{"timestamp": at(m), "service": s, "commit_sha": sha, "version": sha[:3]} for s, sha, m in deploys]
        ),
        "context/flags.json": json.dumps(
            [{"timestamp": at(30), "flag": "beta", "service": "cart", "change": "off->on"}]
        ),
    }
    for name, text in files.items():
        (place / name).write_text(text, encoding="utf-8")
    return place


def found(place: Path) -> dict[str, str]:
    return {one.removal: one.second for one in incidents.ablations_of(place)}


def test_the_first_deviation_is_where_a_measure_left_its_noise_for_good(tmp_path: Path) -> None:
    assert incidents.first_deviation(write_incident(tmp_path)) == START + timedelta(minutes=60)


def test_an_incident_counts_where_another_change_was_live_in_time_on_a_suffering_service(tmp_path: Path) -> None:
    seconds = found(write_incident(tmp_path))
    assert seconds["changes-unread"] == seconds["guilty-unlisted"] == DECOY
    assert seconds["no-change-list"] == incidents.NO_CHANGE
    assert "nothing-told" not in seconds


def test_what_a_suffering_service_calls_counts_and_what_stands_apart_does_not(tmp_path: Path) -> None:
    assert found(write_incident(tmp_path / "1", decoy_of="db"))["changes-unread"] == DECOY
    assert "changes-unread" not in found(write_incident(tmp_path / "2", decoy_of="mail"))


def test_a_change_after_the_first_deviation_fits_nothing(tmp_path: Path) -> None:
    assert "changes-unread" not in found(write_incident(tmp_path, decoy_at=62))


def test_a_flag_whose_name_the_errors_may_refute_counts_only_where_no_error_is_left(tmp_path: Path) -> None:
    seconds = found(write_incident(tmp_path, decoy_of="mail"))
    assert seconds["changes-unread-silent"] == "beta"
    assert "changes-unread" not in seconds


def test_without_a_guilty_change_a_deploy_is_the_second_cause(tmp_path: Path) -> None:
    seconds = found(write_incident(tmp_path, guilty="none"))
    assert seconds == {"nothing-told": GUILTY, "nothing-told-no-change-list": incidents.UNSEEN_CHANGE}


def cases(root: Path) -> dict[str, Case]:
    return {case.case_id: case for case in Ablation(root).cases(seed=1, limit=None)}


def ask(tools: Any, name: str, **given: Any) -> Evidence:
    tool: EvidenceTool = next(tool for tool in tools if tool.name == name)
    arguments = tool.arguments.model_validate({**dict.fromkeys(tool.arguments.model_fields), **given})
    incident = IncidentContext(as_of=FIRED)
    return asyncio.run(tool.collect(tool.normalize(arguments, incident), arguments, incident))


QUESTIONS = ("get_alerts", "query_metrics", "find_log_signatures", "search_logs", "query_traces", "list_changes")


@pytest.mark.parametrize("name", ["changes-unread-silent", "guilty-unlisted-silent"])
def test_nothing_telling_is_left_in_any_answer(tmp_path: Path, name: str) -> None:
    write_incident(tmp_path)
    case = cases(tmp_path)[f"cart-slow/{name}"]
    tools = Ablation(tmp_path).tools(case)
    lines = [line for question in QUESTIONS for line in ask(tools, question).content]
    assert not any("telling" in line or "f.py" in line for line in [*lines, json.dumps(case.incident)])
    assert any(GUILTY in line for line in lines) is (name == "changes-unread-silent")
    assert any(DECOY in line for line in lines)
    assert any("p99_ms direction=UP" in line.replace("metric=", "") for line in lines)


def test_the_view_goes_with_its_tools_and_the_incident_stays_as_it_was(tmp_path: Path) -> None:
    place = write_incident(tmp_path)
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    tools: Any = Ablation(tmp_path).tools(cases(tmp_path)["cart-slow/no-change-list"])
    (view,) = {tool._directory for tool in tools if hasattr(tool, "_directory")}
    assert view.is_dir()
    assert not (view / "ground_truth.json").exists()
    del tools
    gc.collect()
    assert not view.exists()
    assert {path: path.read_bytes() for path in before} == before


PENDING = "NAME   READY   STATUS    RESTARTS   AGE\ncart-7d9c8b5f4-abcde   0/1   Pending   0   5m\n"
DESCRIBED = "Name: cart-7d9c8b5f4-abcde\nEvents:\n  Warning  FailedScheduling  0/3 nodes: 3 Insufficient cpu.\n"


def write_cluster(root: Path, **changed: Any) -> Path:
    place = root / "cloud-opsbench" / "shop" / "scheduling" / "1"
    place.mkdir(parents=True)
    cache: dict[str, Any] = {
        'GetResources:{"resource_type":"pods","name":"","namespace":"shop"}': PENDING,
        'DescribeResource:{"resource_type":"pods","name":"cart-7d9c8b5f4-abcde","namespace":"shop"}': DESCRIBED,
        'GetErrorLogs:{"namespace":"shop","service_name":"web"}': {
            "patterns": [{"count": 3, "sample": "cart timeout"}]
        },
        'GetErrorLogs:{"namespace":"shop","service_name":"cart"}': {"patterns": [{"count": 3, "sample": "telling"}]},
        "GetAlerts:{}": {"alerts": []},
        "GetClusterConfiguration:{}": {"nodes": []},
        **changed,
    }
    (place / "tool_cache.json").write_text(json.dumps(cache))
    result = {"fault_taxonomy": "Scheduling_Fault", "fault_object": "app/cart", "root_cause": "cpu_capacity_mismatch"}
    metadata = {"namespace": "shop", "query": "It is down.", "result": result, "process": {}}
    (place / "metadata.json").write_text(json.dumps(metadata))
    return place


def removals_of(place: Path) -> dict[str, str]:
    truth = json.loads((place / "metadata.json").read_text())["result"]
    return {one.removal: one.second for one in clusters.ablations_of(place, truth)}


def test_a_cluster_counts_where_the_fault_shows_and_nothing_tells_its_causes_apart(tmp_path: Path) -> None:
    assert removals_of(write_cluster(tmp_path)) == {
        "pending-uninspected": "memory_capacity_mismatch",
        "pending-unspecified": "memory_capacity_mismatch",
        "object-unseen": "memory_capacity_mismatch",
    }


def test_a_cluster_does_not_count_where_something_still_tells(tmp_path: Path) -> None:
    journal = {'CheckNodeServiceStatus:{"node_name":"m","service_name":"kube-scheduler"}': "Insufficient cpu"}
    assert "pending-unspecified" not in removals_of(write_cluster(tmp_path, **journal))


def test_a_cluster_does_not_count_where_the_fault_no_longer_shows(tmp_path: Path) -> None:
    well = {'GetResources:{"resource_type":"pods","name":"","namespace":"shop"}': PENDING.replace("Pending", "Running")}
    assert set(removals_of(write_cluster(tmp_path, **well))) == {"object-unseen"}


def test_what_names_the_unseen_object_is_gone_but_for_what_others_say_of_it(tmp_path: Path) -> None:
    place = write_cluster(tmp_path)
    left = clusters.what_remains(clusters.read_answers(place), clusters.removals()["object-unseen"], "cart")
    assert set(left) == {
        'GetErrorLogs:{"namespace":"shop","service_name":"web"}', "GetAlerts:{}", "GetClusterConfiguration:{}"
    }  # fmt: skip


def test_of_alerts_only_those_at_the_entry_stay() -> None:
    alerts = [{"name": name, "evidence": [f"LATENCY of {name}", "RESOURCE_CPU"]} for name in ("web", "cart")]
    answers = {
        "GetAlerts:{}": {"alerts": alerts},
        'GetServiceDependencies:{"service_name":"web"}': "[Service]: web (Entry)\n[Upstream (Called By)]: (User)\n",
        'GetServiceDependencies:{"service_name":"cart"}': "[Service]: cart\n[Upstream (Called By)]: web\n",
    }
    left = clusters.what_remains(answers, clusters.removals()["latency-unlocated"], None)
    assert left["GetAlerts:{}"]["alerts"] == [{"name": "web", "evidence": ["LATENCY of web"]}]


def test_every_removal_names_a_second_cause_and_none_is_named_twice() -> None:
    assert all(len(set(one.causes)) == len(one.causes) > 1 for one in clusters.removals().values())


CASE = Case(suite="ablation", case_id="a", cluster="a", query="?", expected={"second": DECOY, "gaps": ["changes"]})


def test_whatever_is_published_is_a_false_release_and_the_second_cause_is_told() -> None:
    named = {**draft()["conclusion"], "change_id": DECOY[:9]}
    suite = Ablation(None)
    published = [
        Attempt(release={"outcome": "SUCCESS", "draft": {"conclusion": one}}) for one in (named, draft()["conclusion"])
    ]
    values = [suite.score(CASE, one).values for one in published]
    assert [(one["released"], one["answerable"], one["correct"]) for one in values] == [(True, False, False)] * 2
    assert [one["second_cause_published"] for one in values] == [True, False]
    assert [one["gap_named"] for one in values] == [None, None]


@pytest.mark.parametrize(("release", "named"), [
    ({"gaps": [{"kind": "changes"}]}, True),
    ({"gaps": [{"kind": "logs"}]}, False),
    ({"limitations": [{"code": "SOURCE_MISSING", "source": "list_changes"}]}, True),
    ({"limitations": [{"code": "NOTHING_CHECKED", "source": None}]}, False),
    ({"unproven_changes": [{"change_id": "x"}]}, True),
    ({}, False),
])  # fmt: skip
def test_a_fallback_has_to_name_what_is_missing(release: dict[str, Any], named: bool) -> None:
    assert names_gap(release, CASE.expected) is named


def test_one_benchmark_alone_will_do_and_none_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(DataAbsent, match="neither"):
        cases(tmp_path)
    write_cluster(tmp_path)
    assert {case.source["sort"] for case in cases(tmp_path).values()} == {"cluster"}


@pytest.mark.skipif(not USUAL_PLACE.is_dir(), reason="the benchmarks aren't beside the checkout")
def test_both_benchmarks_together_give_two_hundred_cases() -> None:
    found = list(Ablation(None).cases(seed=1, limit=None))
    assert len(found) >= 200
    assert len({case.case_id for case in found}) == len(found)
