"""Every scenario of the two spec documents has the test that carries its name."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
SPEC = HERE.parents[2] / "shared" / "spec"
HEADING = re.compile(r"^(?:#+ )?(Requirement|Scenario): (.+)$", re.MULTILINE)
DOCUMENT = re.compile(r"(diagnosis-information-gain-stop-contract|single-react-evidence-semantic-guards)/spec\.md")


def scenarios() -> Iterator[tuple[str, str, str]]:
    """Yield (document, requirement, scenario) for each scenario heading."""
    for path in sorted(SPEC.glob("*.txt")):
        content = path.read_text(encoding="utf-8")
        named = DOCUMENT.search(content)
        assert named is not None
        requirement = ""
        for kind, name in HEADING.findall(content):
            if kind == "Requirement":
                requirement = name.strip()
            else:
                yield named[1], requirement, name.strip()


def docstrings_by_name() -> dict[str, str]:
    """Return the docstrings of the scenario tests, whitespace folded, by the tests' names."""
    found: dict[str, str] = {}
    for path in sorted((HERE / "spec").glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                assert node.name not in found
                found[node.name] = " ".join((ast.get_docstring(node) or "").split())
    return found


def name_of(scenario: str) -> str:
    return "test_" + re.sub(r"[^a-z0-9]+", "_", scenario.lower()).strip("_")


def test_every_scenario_has_its_test() -> None:
    if not SPEC.is_dir():
        pytest.skip("the spec documents are not beside this checkout")
    told = list(scenarios())
    assert len(told) == 35
    wanted = {
        name_of(scenario): f"{document} / {requirement} / {scenario}." for document, requirement, scenario in told
    }
    assert docstrings_by_name() == wanted
