"""`docs/runbooks.md` says what the commands, the settings and the code do."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.runbooks import commands
from tools.runbooks import fusion
from tools.runbooks.settings import MilvusSettings, RunbooksSettings

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "runbooks.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)


def test_the_commands_work_as_they_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runbooks").mkdir()
    (tmp_path / "postmortems").mkdir()
    (tmp_path / "runbooks" / "disk.md").write_text("# 磁盘写满\n\n先清理日志\n", encoding="utf-8")
    lines = [line.partition("#")[0] for line in BLOCKS[0].splitlines()]
    assert [line.split()[:3] for line in lines] == [
        ["zhizhi", "runbooks", one] for one in ("index", "search", "status")
    ]
    for line in lines:
        result = CliRunner().invoke(commands, shlex.split(line)[2:], standalone_mode=False)
        assert (result.exception, result.return_value or 0) == (None, 0)
        assert result.output


def test_every_setting_that_is_named_exists() -> None:
    named = set(re.findall(r"HARNESS_SOURCE_(RUNBOOKS|MILVUS)_([A-Z_]+)", PAGE))
    assert named
    fields = {"RUNBOOKS": RunbooksSettings.model_fields, "MILVUS": MilvusSettings.model_fields}
    assert [one for one in named if one[1].lower() not in fields[one[0]]] == []
    short = set(re.findall(r"`…_([A-Z_]+)`", PAGE))
    assert [one for one in short if one.lower() not in RunbooksSettings.model_fields] == []


def test_every_extra_that_is_named_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {extra for names in re.findall(r"zhizhi\[([\w,]+)\]", PAGE) for extra in names.split(",")}
    assert named == {"live", "embeddings", "milvus"}
    assert named <= set(project["optional-dependencies"])


def test_weights_and_floors_are_those_of_the_code() -> None:
    by_words = f"{fusion.BM25_WEIGHT} × BM25's share of the best that it could be + {fusion.SHARED_WEIGHT} × the share"
    assert f"cosine + {by_words} of the" in " ".join(PAGE.split())
    assert f"Below {fusion.FUSED_FLOOR} ({fusion.LEXICAL_FLOOR} without vectors) nothing is shown" in PAGE
