"""The loader: strict about values, and the same from a checkout, a wheel or an archive."""

import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import get_args
from zipfile import ZipFile

import pytest
from jinja2 import UndefinedError

import prompts
from prompts import PromptName, digest, render

PACKAGE = Path(prompts.__file__).parent
LOCALIZED: tuple[PromptName, ...] = ("diagnosis", "evidence_repair")
FIXED: tuple[PromptName, ...] = ("router", "semantic_guard")


def test_every_prompt_file_has_a_name_and_every_name_a_file() -> None:
    assert {file.name.removesuffix(".zh.md") for file in PACKAGE.glob("*.md")} == set(get_args(PromptName))
    assert {*LOCALIZED, *FIXED} == set(get_args(PromptName))


@pytest.mark.parametrize("name", LOCALIZED)
def test_a_localized_prompt_names_the_language_of_the_answer(name: PromptName) -> None:
    assert "用中文写" in render(name, locale="zh")
    assert "用英文写" in render(name, locale="en")


@pytest.mark.parametrize("name", LOCALIZED)
def test_a_missing_value_is_an_error(name: PromptName) -> None:
    with pytest.raises(ValueError, match="locale"):
        render(name)


@pytest.mark.parametrize("name", get_args(PromptName))
def test_a_value_that_the_template_does_not_use_is_an_error(name: PromptName) -> None:
    with pytest.raises(ValueError, match="surplus"):
        render(name, surplus="x", **({"locale": "zh"} if name in LOCALIZED else {}))


@pytest.mark.parametrize("name", LOCALIZED)
def test_a_locale_without_a_language_is_an_error(name: PromptName) -> None:
    with pytest.raises(UndefinedError):
        render(name, locale="fr")


@pytest.mark.parametrize("name", get_args(PromptName))
def test_a_rendered_prompt_has_no_template_left_in_it(name: PromptName) -> None:
    text = render(name, **({"locale": "zh"} if name in LOCALIZED else {}))
    assert "{{" not in text
    assert "{%" not in text
    assert text == text.strip() != ""


@pytest.mark.parametrize("name", get_args(PromptName))
def test_a_digest_is_that_of_the_file(name: PromptName) -> None:
    assert digest(name) == sha256((PACKAGE / f"{name}.zh.md").read_bytes()).hexdigest()


def test_prompts_render_from_an_archive_outside_of_the_checkout(tmp_path: Path) -> None:
    archive = tmp_path / "installed.zip"
    with ZipFile(archive, "w") as target:
        for file in [*PACKAGE.glob("*.py"), *PACKAGE.glob("*.md")]:
            target.write(file, f"prompts/{file.name}")
    code = (
        f"import sys; sys.path.insert(0, {str(archive)!r}); import prompts; "
        "print(prompts.__file__); print(prompts.digest('diagnosis')); print(len(prompts.render('router')))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    where, found, length = done.stdout.split("\n")[:3]
    assert where.startswith(str(archive))
    assert found == digest("diagnosis")
    assert int(length) == len(render("router"))
