"""Differences: bounded, masked, and none of them able to pass for another file's."""

from hypothesis import given
from hypothesis import strategies as st

from tools.frozen.diffs import changed_lines
from tools.live.changes.diffs import FileDiff, items_diff, patch_lines, text_diff, unified
from tools.live.changes.flattening import flat

_NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30)
_LINES = st.lists(
    st.one_of(
        st.sampled_from(["+++ b/other", "--- a/other", "+diff --git a/x b/y", "-@@ other/file @@", "+++ /dev/null"]),
        st.builds(lambda sign, text: sign + text, st.sampled_from("+-"), st.text("ab +-@/\t", max_size=20)),
    ),
    max_size=8,
)


@given(st.lists(st.tuples(st.sampled_from(["a/x", "b/y", "c"]), _LINES), max_size=4))
def test_no_changed_line_passes_for_a_file(files: list[tuple[str, list[str]]]) -> None:
    said = unified([FileDiff(path, tuple(lines)) for path, lines in files], limit=1_000)
    told = changed_lines(said, [path for path, _ in files])
    assert {line[2:] for line in told if line.startswith("@ ")} <= {"a/x", "b/y", "c"}
    changed = [line for _, lines in files for line in lines if line[1:].strip()]
    assert len([line for line in told if not line.startswith("@ ")]) == len(changed)


@given(_NAMES)
def test_any_name_of_a_file_stays_on_its_line(name: str) -> None:
    said = unified([FileDiff(name, ("+x",))], limit=10)
    assert len(said.split("\n")) == 2
    assert changed_lines(said, [])[-1] == "+ x"


def test_a_diff_is_bounded_in_lines_and_in_their_length() -> None:
    files = [FileDiff("a", tuple(f"+{n}" for n in range(50))), FileDiff("b", ("+" + "x" * 9_000,) * 50)]
    rows = unified(files, limit=60).split("\n")
    assert sum(row.startswith("+") and not row.startswith("+++") for row in rows) == 60
    assert max(map(len, rows)) <= 1_001


def test_context_and_marks_of_a_patch_are_no_changed_lines() -> None:
    patch = "@@ -1,3 +1,3 @@ def f():\n context\n-old\n\\ No newline at end of file\n+new"
    assert patch_lines(patch) == ("-old", "+new")


def test_secrets_of_a_configuration_are_masked_and_still_seen_to_change() -> None:
    before = 'db:\n  password: "one"\n  url: jdbc:mysql://root:s3cret@db/x\n  max: 5\n'
    after = 'db:\n  password: "two"\n  url: jdbc:mysql://root:s3cret@db/y\n  max: 5\n'
    lines = text_diff("x.yaml", before, after).lines
    assert [line[0] for line in lines] == ["-", "-", "+", "+"]
    assert not any(secret in " ".join(lines) for secret in ("one", "two", "s3cret"))


def test_a_changed_line_inside_of_a_private_key_is_masked() -> None:
    key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg{}\n-----END PRIVATE KEY-----\nmax: 5\n"
    assert text_diff("x", key.format("A"), key.format("B")).lines == ("-[MASKED:PRIVATE_KEY]", "+[MASKED:PRIVATE_KEY]")


def test_items_are_compared_key_by_key() -> None:
    before = {"a": "1", "b": "2", "c": "x\ny", "spring.datasource.password": "p"}
    after = {"a": "1", "b": "3", "c": "x\nz", "d": "4", "spring.datasource.password": "q"}
    assert items_diff("ns", before, after).lines == (
        "-b: 2", "+b: 3", "-y", "+z", "+d: 4",
        "-spring.datasource.password: [MASKED:PASSWORD]", "+spring.datasource.password: [MASKED:PASSWORD]",
    )  # fmt: skip


def test_a_document_is_flattened_by_names() -> None:
    document = {
        "spec": {
            "replicas": 3,
            "paused": False,
            "none": None,
            "containers": [
                {"name": "app", "env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"ref": "x"}}]},
                {"args": ["-v", "2"]},
            ],
        }
    }
    assert flat(document) == {
        "spec.replicas": "3",
        "spec.paused": "false",
        "spec.containers.app.env.A": "1",
        "spec.containers.app.env.B.valueFrom.ref": "x",
        "spec.containers.1.args.0": "-v",
        "spec.containers.1.args.1": "2",
    }
