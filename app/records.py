"""Run records on the command line: `diagnose --record FILE` keeps one, `verify FILE…` proves it again."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from langgraph.store.base import BaseStore

from app.inputs import BadInput
from app.terminal import plain, write_out
from graph.record import RecordUnavailable, run_record, write_record
from graph.setting_errors import SettingsError
from graph.settings import HarnessSettings
from graph.verify import NotARecord, Verified, read_record, verify
from graph.wiring import DiagnosisGraph
from tools.base import EvidenceTool

DIFFERS = 1


class RecordFile:
    """The file that a run's record goes to; refused before the run begins where it can't be written.

    Raises BadInput.
    """

    def __init__(self, path: Path, settings: HarnessSettings) -> None:
        self._path = path
        self._key = _key(settings)
        if path.is_dir() or not os.access(path.parent, os.W_OK):
            raise BadInput(f"record file {path} can't be written")

    async def keep(
        self, graph: DiagnosisGraph, thread_id: str, tools: Sequence[EvidenceTool], store: BaseStore
    ) -> str | None:
        """Write the record of a thread's latest run; return in one line why not, where it can't be."""
        try:
            state = await graph.aget_state({"configurable": {"thread_id": thread_id}})
            record = await run_record(state.values, tools=tools, store=store, key=self._key)
            await asyncio.to_thread(write_record, self._path, record)
        except RecordUnavailable as error:
            return f"no record was written to {self._path}: {error}"
        except OSError as error:
            return f"no record was written to {self._path}: {error.strerror}"
        return None


def prove_records(paths: Sequence[Path], settings: HarnessSettings) -> int:
    """Verify records, tell one line of each on stdout, and return the exit code: 0, or 1 where one differs.

    Raises BadInput for a file that holds no record, before anything is told.
    """
    key = _key(settings)
    try:
        records = [(path, read_record(path)) for path in paths]
    except NotARecord as error:
        raise BadInput(str(error)) from None
    code = 0
    for path, record in records:
        found = verify(record, key=key)
        write_out(plain(f"{path}: {_told(found, record.get('signature'))}") + "\n")
        code = DIFFERS if found.difference else code
    return code


def _told(found: Verified, signature: object) -> str:
    if found.difference is not None:
        return f"DIFFERS at {found.difference}" + ("" if found.current else f" (written by version {found.version})")
    if found.signed:
        return "verified, signature included"
    return "verified" + (" (signed, but no key is configured to check it)" if signature else "")


def _key(settings: HarnessSettings) -> bytes | None:
    try:
        return settings.record.key_bytes()
    except SettingsError as error:
        raise BadInput(str(error)) from None
