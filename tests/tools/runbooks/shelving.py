"""Runbooks on a disk."""

from collections.abc import Mapping
from pathlib import Path


def shelved(directory: Path, texts: Mapping[str, str]) -> Path:
    """Write each text into a new directory under its file's name; returns the directory."""
    directory.mkdir()
    for name, text in texts.items():
        (directory / name).write_text(text, encoding="utf-8")
    return directory
