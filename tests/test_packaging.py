"""The first minute: the launcher, the environment that it makes, and the hashed requirements."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from app import __version__, environment

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PINNED = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^ ;\\]+)", re.MULTILINE)
SH = shutil.which("dash") or "/bin/sh"


def pins(name: str) -> dict[str, Version]:
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    return {found[1].lower().replace("_", "-"): Version(found[2]) for found in PINNED.finditer(text)}


@pytest.mark.parametrize("name", environment.HELD)
def test_every_requirement_is_pinned_and_hashed_and_no_index_is_named(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    code = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    entries = re.split(r"\n(?=\S)", code.strip())
    assert entries
    for entry in entries:
        assert PINNED.match(entry)
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry)
    assert "://" not in text


def test_requirements_hold_what_the_project_asks_for() -> None:
    runtime, live, evals, dev = map(pins, environment.HELD)
    extras = PROJECT["project"]["optional-dependencies"]
    for wanted in map(Requirement, PROJECT["project"]["dependencies"]):
        assert runtime[wanted.name.lower()] in wanted.specifier
    for wanted in map(Requirement, extras["live"]):
        assert live[wanted.name.lower()] in wanted.specifier
    for wanted in map(Requirement, extras["evals"]):
        assert evals[wanted.name.lower()] in wanted.specifier
    for wanted in map(Requirement, [*extras["embeddings"], *extras["milvus"]]):
        assert dev[wanted.name.lower()] in wanted.specifier
    for wanted in map(Requirement, PROJECT["dependency-groups"]["dev"]):
        assert dev[wanted.name.lower()] in wanted.specifier


@pytest.mark.parametrize(("name", "held"), [(name, held) for name, below in environment.HELD.items() for held in below])
def test_a_set_holds_those_below_it_in_the_same_versions(name: str, held: str) -> None:
    assert pins(held).items() <= pins(name).items()


def test_a_deployed_server_has_what_live_sources_need() -> None:
    config = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))
    assert config["dependencies"] == [".", *PROJECT["project"]["optional-dependencies"]["live"]]


def test_what_is_under_the_elastic_licence_is_not_shipped() -> None:
    assert not {"langgraph-api", "langgraph-runtime-inmem"} & pins("runtime").keys()


def test_version_is_the_projects() -> None:
    assert PROJECT["project"]["version"] == __version__


def test_langgraph_json_names_the_graph_and_an_incident_that_is_there() -> None:
    config = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))
    assert config["graphs"] == {"diagnosis": "graph.agent:graph"}
    assert (ROOT / config["env"]["HARNESS_INCIDENT_DIR"] / "alert.json").is_file()


@pytest.mark.parametrize("script", ["zhizhi", "requirements/compile"])
def test_shell_scripts_are_posix(script: str) -> None:
    assert subprocess.run([SH, "-n", ROOT / script], check=False).returncode == 0


# The launcher, with an environment that says what it was asked to run.


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the launcher in a directory with blanks in its name, with an environment that counts as whole."""
    root = tmp_path / "a check out"
    made = root / ".venv" / "zhizhi"
    made.mkdir(parents=True)
    (root / "requirements").mkdir()
    shutil.copy(ROOT / "zhizhi", root)
    executable(root / ".venv" / "bin" / "python", 'printf "%s|" "$PWD" "${PYTHONPATH-unset}" "$@"')
    for name in environment.HELD:
        (root / "requirements" / f"{name}.txt").write_text(f"{name}\n")
        (made / f"{name}.txt").write_text(f"{name}\n")
    (made / "root").write_text(f"{root}\n")
    return root


def executable(path: Path, body: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def launch(
    command: Path, *arguments: str, cwd: Path, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    environ = {"PATH": "/usr/bin:/bin"} if env is None else env
    return subprocess.run([command, *arguments], cwd=cwd, env=environ, capture_output=True, text=True, check=False)


def test_launcher_hands_over_from_any_directory_through_links_and_with_an_empty_environment(
    checkout: Path, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "link").symlink_to("../a check out/zhizhi")
    (tmp_path / "bin" / "zz").symlink_to("link")
    done = launch(tmp_path / "bin" / "zz", "diagnose", "a b", "--json", cwd=tmp_path, env={})
    assert done.stdout == f"{tmp_path}|unset|-P|-m|app|diagnose|a b|--json|"


def test_launcher_brings_what_the_evals_need(checkout: Path, tmp_path: Path) -> None:
    assert (
        launch(checkout / "zhizhi", "eval", "--gate", cwd=tmp_path).stdout == f"{tmp_path}|unset|-P|-m|app|eval|--gate|"
    )
    (checkout / ".venv" / "zhizhi" / "evals.txt").unlink()
    executable(tmp_path / "tools" / "python3", 'case $2 in -c) echo "$0";; *) echo "make $4"; exit 2;; esac')
    path = {"PATH": f"{tmp_path / 'tools'}:/usr/bin:/bin"}
    assert launch(checkout / "zhizhi", "eval", cwd=tmp_path, env=path).stdout == "make evals\n"


SPOKEN = {"HARNESS_SOURCE_PROMETHEUS_URL": "http://prometheus.example"}


@pytest.mark.parametrize(
    ("arguments", "environ", "wanted"),
    [
        (["diagnose", "q"], SPOKEN, "live"),
        (["tools"], {"HARNESS_CONFIG_FILE": "mine.toml"}, "live"),
        (["doctor"], {}, "live"),
        (["declare", "npx"], {}, "live"),
        (["runbooks", "index", "docs"], {}, "live"),
        (["diagnose", "q", "--incident", "d"], {}, "runtime"),
        (["demo"], SPOKEN, "runtime"),
    ],
)
def test_launcher_brings_what_live_sources_need_only_where_one_is_asked(
    checkout: Path, tmp_path: Path, arguments: list[str], environ: dict[str, str], wanted: str
) -> None:
    for name in environment.HELD:
        (checkout / ".venv" / "zhizhi" / f"{name}.txt").unlink()
    executable(tmp_path / "tools" / "python3", 'case $2 in -c) echo "$0";; *) echo "make $4"; exit 2;; esac')
    path = {"PATH": f"{tmp_path / 'tools'}:/usr/bin:/bin", **environ}
    assert launch(checkout / "zhizhi", *arguments, cwd=tmp_path, env=path).stdout == f"make {wanted}\n"


def test_launcher_runs_the_tests_in_the_checkout_and_hands_their_arguments_on(checkout: Path, tmp_path: Path) -> None:
    done = launch(checkout / "zhizhi", "test", "-k", "a or b", cwd=tmp_path)
    assert done.stdout == f"{checkout}|unset|-P|-m|pytest|-k|a or b|"


def test_launcher_lets_no_foreign_packages_in(checkout: Path, tmp_path: Path) -> None:
    done = launch(checkout / "zhizhi", cwd=tmp_path, env={"PATH": "/usr/bin:/bin", "PYTHONPATH": "/elsewhere"})
    assert done.stdout == f"{tmp_path}|unset|-P|-m|app|"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda root: (root / "requirements" / "runtime.txt").write_text("other\n"),
        lambda root: (root / ".venv" / "zhizhi" / "runtime.txt").unlink(),
        lambda root: (root / ".venv" / "zhizhi" / "root").write_text("/moved\n"),
        lambda root: (root / ".venv" / "bin" / "python").unlink(),
    ],
    ids=["requirements changed", "install interrupted", "checkout moved", "python gone"],
)
def test_launcher_makes_the_environment_anew_when_it_is_not_whole(
    checkout: Path, tmp_path: Path, spoil: object
) -> None:
    assert callable(spoil)
    spoil(checkout)
    executable(tmp_path / "tools" / "python3", 'case $2 in -c) echo "$0";; *) echo "make $2 $4"; exit 2;; esac')
    done = launch(checkout / "zhizhi", "demo", cwd=tmp_path, env={"PATH": f"{tmp_path / 'tools'}:/usr/bin:/bin"})
    assert (done.returncode, done.stdout) == (2, f"make {checkout}/app/environment.py runtime\n")


@pytest.mark.parametrize(
    ("python", "line"),
    [
        (None, "zhizhi: python3 was not found; install Python 3.11 or newer.\n"),
        ("echo", "zhizhi: python3 is too old; install Python 3.11 or newer.\n"),
    ],
)
def test_launcher_says_in_one_line_what_python_is_missing(
    checkout: Path, tmp_path: Path, python: str | None, line: str
) -> None:
    (checkout / ".venv" / "zhizhi" / "runtime.txt").unlink()
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("dirname", "cmp", "cat"):
        (tools / name).symlink_to(shutil.which(name) or name)
    if python is not None:
        executable(tools / "python3", python)
    done = launch(checkout / "zhizhi", "demo", cwd=tmp_path, env={"PATH": str(tools)})
    assert (done.returncode, done.stdout, done.stderr) == (2, "", line)


# The environment, made for real from requirement sets that need no index.


@pytest.fixture
def bare_root(tmp_path: Path) -> Path:
    root = tmp_path / "bare root"
    (root / "requirements").mkdir(parents=True)
    for name in environment.HELD:
        (root / "requirements" / f"{name}.txt").write_text("# nothing\n")
    return root


def make(root: Path, wanted: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-I", environment.__file__, str(root), wanted]
    environ = {**os.environ, "PIP_NO_INDEX": "1", "PIP_USER": "1"}
    return subprocess.Popen(command, env=environ, stderr=subprocess.PIPE, text=True)


def test_environment_is_made_once_by_two_at_once_and_a_half_made_one_is_thrown_away(bare_root: Path) -> None:
    (bare_root / ".venv" / "zhizhi").mkdir(parents=True)
    (bare_root / ".venv" / "half-made").touch()
    starts = [make(bare_root, "runtime"), make(bare_root, "dev")]
    said = "".join(start.communicate()[1] for start in starts)
    assert [start.returncode for start in starts] == [0, 0]
    assert said.count("first use") == 1
    assert environment.is_whole(bare_root, "runtime")
    assert environment.is_whole(bare_root, "dev")
    assert not (bare_root / ".venv" / "half-made").exists()
    python = bare_root / ".venv" / "bin" / "python"
    path = subprocess.run(
        [python, "-I", "-c", "import sys; print(sys.path)"], capture_output=True, text=True, check=True
    )
    assert str(bare_root) in path.stdout

    nowhere = "no-such-package-anywhere==1.0 --hash=sha256:" + "0" * 64
    (bare_root / "requirements" / "dev.txt").write_text(nowhere)
    failed = make(bare_root, "dev")
    line = failed.communicate()[1].splitlines()[-1]
    assert failed.returncode == 2
    assert line == "zhizhi: " + environment.UNFETCHED
    assert not environment.is_whole(bare_root, "dev")
    assert environment.is_whole(bare_root, "runtime")


def test_environment_of_somebody_else_is_left_alone(bare_root: Path) -> None:
    theirs = bare_root / ".venv" / "pyvenv.cfg"
    theirs.parent.mkdir()
    theirs.touch()
    start = make(bare_root, "runtime")
    assert "was not made by zhizhi" in start.communicate()[1]
    assert start.returncode == 2
    assert theirs.exists()
