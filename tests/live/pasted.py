"""Runs what a tool gives to be pasted, as a person's shell does."""

import os
import shutil
import subprocess

import pytest


def run(command: str, **addresses: str) -> str:
    """Return what a command prints; `addresses` are its variables. Skips the test where its client isn't installed."""
    client = command.split(" ", 1)[0]
    if shutil.which(client) is None:
        pytest.skip(f"needs {client}")
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), **addresses}
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout
