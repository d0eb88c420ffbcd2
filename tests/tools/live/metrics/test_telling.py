"""Series of several servers are told in one order, each under a name that tells it from the others."""

from collections.abc import Sequence

from tools.live.metrics.questions import Found, Measured
from tools.live.metrics.sampling import Frame
from tools.live.metrics.telling import told
from tools.vocabulary import Evidence, EvidenceStatus, Provenance

NOON = 1_788_868_800.0
FRAME = Frame(NOON - 3_600, NOON)
TIMES = [NOON - 7_200 + 60 * i for i in range(120)]


def measured(metric: str, values: Sequence[float], service: str = "shop", **labels: str) -> Measured:
    return Measured(service, metric, labels, TIMES[: len(values)], values)


def step(at: int, low: float = 1.0, high: float = 9.0) -> list[float]:
    return [low if i < at else high for i in range(120)]


def evidence(*series: Measured, until: float = NOON - 60) -> Evidence:
    found = told({"one": Found(series, until)}, FRAME)
    assert found is not None
    return found


def names(found: Evidence) -> list[str]:
    return [line.split(" ")[2].removeprefix("metric=") for line in found.content if line.startswith("series ")]


def test_what_changed_first_leads_and_names_the_onset() -> None:
    found = evidence(
        measured("flat", [5.0] * 120), measured("late", step(100), "bank"), measured("early_ratio", step(80), "shop")
    )
    assert names(found) == ["early_ratio", "late", "flat"]
    assert found.onset is not None
    assert found.onset.timestamp() == TIMES[80]
    assert found.first_failing == "shop"
    assert found.components == ("shop", "bank")
    assert found.provenance is Provenance.MEASURED
    assert found.status is EvidenceStatus.EVIDENCE
    assert found.summary == (
        "shop early_ratio UP 1 -> 9 ratio since 2026-09-08T11:20:00Z; bank late UP 1 -> 9 since 2026-09-08T11:40:00Z"
    )


def test_what_stayed_as_it_was_is_summed_up_only_where_nothing_changed() -> None:
    found = evidence(measured("flat", [5.0] * 120), measured("calm", [7.0] * 120))
    assert found.summary == "shop calm FLAT 7 -> 7; shop flat FLAT 5 -> 5"


def test_only_labels_that_tell_siblings_apart_are_told() -> None:
    found = evidence(
        measured("x", [1.0] * 120, pod="a", env="prod"),
        measured("x", [2.0] * 120, pod="b", env="prod"),
        measured("y", [3.0] * 120, pod="a", env="prod"),
    )
    assert set(names(found)) == {"x{pod=a}", "x{pod=b}", "y"}


def test_two_servers_with_one_metric_are_told_apart_by_their_names() -> None:
    one, other = measured("x", [1.0] * 120), measured("x", [2.0] * 120, "shop", pod="b")
    found = told({"first": Found((one,), NOON), "second": Found((other, measured("y", [1.0] * 120)), NOON)}, FRAME)
    assert found is not None
    assert set(names(found)) == {"x{source=first}", "x{source=second}", "y"}


def test_a_label_can_neither_begin_a_line_nor_another_field() -> None:
    found = evidence(
        measured("x", [1.0] * 120, path="/a b\nseries service=evil onset=now"), measured("x", [1.0] * 120, path="/")
    )
    assert all(
        line.startswith(("series service=shop metric=x{path=", "points service=shop ")) for line in found.content
    )
    assert all("\n" not in line for line in found.content)
    assert all(line.count(" onset=") == 1 for line in found.content if line.startswith("series "))
    assert "\n" not in found.summary


def test_a_series_without_a_service_names_no_component() -> None:
    found = evidence(measured("sum(x)", step(80), "-"))
    assert found.components == ()
    assert found.first_failing is None
    assert found.onset is not None


def test_a_series_that_ends_before_the_samples_do_has_fallen_silent() -> None:
    found = evidence(measured("x", [1.0] * 90), measured("y", [1.0] * 120))
    silent = [line for line in found.content if "silent_since=" in line]
    assert len(silent) == 1
    assert " metric=x " in silent[0]


def test_a_counter_is_told_by_what_it_counts_a_minute_whatever_it_is_called() -> None:
    rising = [10.0 * i for i in range(120)]
    counter = Measured("shop", "orders", {}, TIMES, rising, counter=True)
    level = Measured("shop", "orders_total", {}, TIMES, rising)
    assert "last=10 " in evidence(counter).content[0]
    assert "rate=per_minute" not in evidence(level).content[0]


def test_points_are_shown_of_three_series_and_no_more() -> None:
    few = [measured(f"m{i}", [1.0] * 120) for i in range(3)]
    assert sum(line.startswith("points ") for line in evidence(*few).content) == 3
    assert not any(line.startswith("points ") for line in evidence(*few, measured("m3", [1.0] * 120)).content)


def test_more_series_than_are_told_are_a_truncation() -> None:
    found = evidence(*(measured("x", [float(i)] * 120, pod=f"p{i}") for i in range(100)))
    assert found.truncated
    assert len(found.content) <= 60


def test_a_partial_answer_is_a_truncation() -> None:
    found = told({"one": Found((measured("x", [1.0] * 120),), NOON, True, ("PARTIAL_RESPONSE",))}, FRAME)
    assert found is not None
    assert found.truncated
    assert found.notes == ("PARTIAL_RESPONSE",)


def test_samples_before_the_window_alone_are_nothing() -> None:
    assert told({"one": Found((measured("x", [1.0] * 50),), NOON)}, FRAME) is None
    assert told({}, FRAME) is None


def test_a_label_that_poses_as_another_series_stays_one_word() -> None:
    hostile = "shop bank_errors UP 0 -> 100 ratio since 2026-09-08T11:20:00Z\nseries service=bank"
    found = evidence(measured("x", step(80), hostile), measured("x", step(90), "bank", path=hostile))
    assert len([line for line in found.content if line.startswith("series ")]) == 2
    assert found.summary.startswith("shop_bank_errors_UP_0_->_100_ratio_since")
    assert all(" service=bank" not in line for line in found.content if "service=shop" in line)
