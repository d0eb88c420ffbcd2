"""The house's rules, held over the source itself: imports run one way, files stay short, nothing names a machine."""

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("app", "evals", "graph", "prompts", "tools")
MAY_IMPORT = {
    "app": {"app", "evals", "graph", "tools", "prompts"},
    "evals": {"evals", "graph", "tools", "prompts"},
    "graph": {"graph", "tools", "prompts"},
    "prompts": {"prompts"},
    "tools": {"tools"},
}
MAX_LINES = 400


def sources(*packages: str) -> list[Path]:
    return sorted(path for package in packages for path in (ROOT / package).rglob("*.py"))


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imported(path: Path) -> tuple[str, ...]:
    """The full names that a file imports at run time, wherever in the file: modules, and what is taken from them."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    unseen = {id(inner) for node in ast.walk(tree) if _for_types_only(node) for inner in ast.walk(node)}
    return tuple(name for node in ast.walk(tree) if id(node) not in unseen for name in _names(node, path))


def _for_types_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def _names(node: ast.AST, path: Path) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, f"{path}: relative import"
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_run_one_way(package: str) -> None:
    ours = {(path, name.partition(".")[0]) for path in sources(package) for name in imported(path)}
    wrong = [(str(path), top) for path, top in ours if top in PACKAGES and top not in MAY_IMPORT[package]]
    assert wrong == []


def test_no_package_imports_the_tests() -> None:
    assert [path for path in sources(*PACKAGES) for name in imported(path) if name.partition(".")[0] == "tests"] == []


def test_the_contract_is_pure() -> None:
    """It imports nothing of ours but itself and the vocabulary, no LangChain, no I/O and no clock."""
    ours = ("graph.contract.", "tools.vocabulary.")
    banned = {
        "langchain",
        "langchain_core",
        "langgraph",
        "asyncio",
        "os",
        "pathlib",
        "time",
        "socket",
        "random",
        "uuid",
    }
    wrong = [
        (str(path), name)
        for path in sources("graph/contract")
        for name in imported(path)
        if name.partition(".")[0] in banned or (name.partition(".")[0] in PACKAGES and not name.startswith(ours))
    ]
    assert wrong == []


def test_nothing_of_ours_imports_what_builds_the_servers_graph() -> None:
    """Importing it opens every configured source, which a demo, a check or a proof needs none of."""
    assert [
        str(path) for path in sources(*PACKAGES) if any("graph.agent." in f"{name}." for name in imported(path))
    ] == []


def test_there_are_no_import_cycles() -> None:
    modules = {module_name(path): path for path in sources(*PACKAGES)}
    needs = {
        module: {found for name in imported(path) if (found := _module_of(name, modules)) not in (None, module)}
        for module, path in modules.items()
    }
    try:
        list(TopologicalSorter(needs).static_order())
    except CycleError as error:
        pytest.fail(f"import cycle: {error.args[1]}")


def _module_of(name: str, modules: dict[str, Path]) -> str | None:
    """The module of ours that an imported name means: itself, or the one that it's taken from."""
    return next((candidate for candidate in (name, name.rpartition(".")[0]) if candidate in modules), None)


@pytest.mark.parametrize("path", sources(*PACKAGES, "tests"), ids=lambda path: str(path.relative_to(ROOT)))
def test_file_is_short_and_free_of_what_hides_types(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) < MAX_LINES
    assert "__future__.annotations" not in imported(path)
    assert "typing.TypedDict" not in imported(path)


def test_no_file_is_named_utils() -> None:
    assert [path for path in sources(*PACKAGES, "tests") if path.stem in {"utils", "util", "helpers", "misc"}] == []


def test_each_package_is_the_checkouts_own_when_started_elsewhere(tmp_path: Path) -> None:
    """The generic names could be shadowed by a dependency's; nothing but the environment's own path may find them."""
    code = f"import {', '.join(PACKAGES)}; print(*(m.__file__ for m in ({', '.join(PACKAGES)},)), sep='\\n')"
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    found = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=tmp_path, env=environ, capture_output=True, text=True, check=True
    )
    assert found.stdout.split("\n")[:-1] == [str(ROOT / package / "__init__.py") for package in PACKAGES]


def tracked_files() -> list[Path]:
    """The files that git tracks; in a copy without history, all but what .gitignore keeps out by habit."""
    if shutil.which("git"):
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
        if listed.returncode == 0 and listed.stdout:
            return [ROOT / name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()]
    return [path for path in ROOT.rglob("*") if path.is_file() and not _is_made(path.relative_to(ROOT))]


def _is_made(path: Path) -> bool:
    return any((part.startswith(".") and part != ".ci") or part == "__pycache__" for part in path.parts)


MACHINE = re.compile(r"/(?:work|root|home/\w+|Users/\w+)/\w|/tmp/w/")
"""A path that exists on one machine."""
INDEX_HOST = re.compile(
    r"(?:--(?:extra-)?index-url|--find-links|registry\s*=)\s*\S*//|pypi\.org|pythonhosted|registry\.npm"
)
"""The address of a package index: what one machine reaches, another may not."""


def test_no_tracked_file_names_a_machine_or_an_index() -> None:
    wrong = []
    for path in tracked_files():
        text = path.read_bytes().decode("utf-8", "ignore")
        if path != Path(__file__).resolve() and (MACHINE.search(text) or INDEX_HOST.search(text)):
            wrong.append(str(path.relative_to(ROOT)))
    assert wrong == []
