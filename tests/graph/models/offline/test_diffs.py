"""What a diff is taken to do, and what it isn't: reports, other orders, rewrites, units, names far apart."""

import pytest

from graph.models.offline.diffs import Diff, read_diff
from graph.models.offline.verdicts import Innocence, shape_of


def diff_of(*lines: str, file: str = "services/x/handler.ts") -> Diff:
    return read_diff((file,), [(file, line[0], line[1:].strip()) for line in lines])


@pytest.mark.parametrize(
    "lines",
    [
        ("-  throw new ValidationError('bad total');", "+  throw new ValidationError(`bad total: ${field} missing`);"),
        ("-  log.info('sent');", "+  log.info('sent to %s, quota exceeded', peer);"),
        (
            "-  raise ValueError('no scope')",
            "+  raise ValueError(",
            "+      f'no scope {scope}, need orders.read',",
            "+  )",
        ),
        ('+  logger.warn("pool exhausted, timeout={}", timeout);',),
    ],
)
def test_what_only_reports_is_no_part_of_a_diff(lines: tuple[str, ...]) -> None:
    diff = diff_of(*lines)
    assert not diff.added
    assert not diff.removed
    assert shape_of(diff) is Innocence.TELEMETRY


def test_a_condition_beside_a_raised_error_stays() -> None:
    diff = diff_of("+  if (total > 9) throw new RangeError('over the limit');")
    assert [text for _, _, text in diff.added] == ["if (total > 9) throw new RangeError("]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('ciphers: "A-GCM:B-GCM:C-GCM"', 'ciphers: "C-GCM:A-GCM:B-GCM"'),
        ('actions = ["s3:Get", "s3:Put"]', 'actions = ["s3:Put", "s3:Get"]'),
    ],
)
def test_another_order_of_a_list_changes_nothing(old: str, new: str) -> None:
    assert not diff_of(f"-{old}", f"+{new}").removed


def test_an_element_that_is_gone_from_a_list_is_gone() -> None:
    assert diff_of('-protocols: "TLSv1.2 TLSv1.3"', '+protocols: "TLSv1.3"').removed


def test_an_extracted_function_is_a_rewrite() -> None:
    old = "return put(bucket, key, 3)"
    diff = diff_of(f"-  {old}", "+  return store(bucket, key)", "+def store(bucket, key):", f"+  {old}")
    assert shape_of(diff) is Innocence.REWRITTEN


@pytest.mark.parametrize(
    "lines",
    [
        ("-  limit: 600", "+  limit: 120"),
        ("-  wait(props.ttl(), TimeUnit.SECONDS)", "+  wait(Duration.ofMillis(props.ttl()))"),
        ("-  if (a > b) run(a)", "+  if (a < b) run(a)"),
        ("-  for row in rows: save(row)", "+  for row in unique(rows): save(row)"),
    ],
)
def test_another_value_unit_operator_or_call_is_no_rewrite(lines: tuple[str, ...]) -> None:
    assert shape_of(diff_of(*lines)) is Innocence.OTHER_PATH


def test_a_unit_alone_changes_a_value() -> None:
    (value,) = diff_of(
        "-  c.expireAfter(p.ttl(), TimeUnit.SECONDS)", "+  c.expireAfter(Duration.ofMillis(p.ttl()))"
    ).values
    assert (value.direction, value.ratio) == ("LOWERED", 1000.0)


def test_values_are_paired_by_their_names_across_rewritten_lines() -> None:
    new = ("+  digest_enabled: bool = False", "+  return prefs.x")
    (value,) = diff_of('-  return prefs.get("digest_enabled", True)', *new).values
    assert value.direction == "DISABLED"


def test_a_constant_that_replaces_another_is_a_change() -> None:
    (value,) = diff_of("-  m.setNaming(Naming.LOWER_CAMEL)", "+  m.setNaming(Naming.SNAKE_CASE)").values
    assert value.direction == "CHANGED"


def test_a_major_upgrade_is_no_patch() -> None:
    patch = diff_of("-lib==2.1.0", "+lib==2.1.4", file="requirements.txt")
    major = diff_of("-lib==2.1.0", "+lib==3.0.0", file="requirements.txt")
    assert (shape_of(patch), shape_of(major)) == (Innocence.DEPENDENCY_PATCH, Innocence.OTHER_PATH)
