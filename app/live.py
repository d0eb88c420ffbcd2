"""What a run is doing, line by line on standard error, and the trace that goes to a file."""

import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rich.text import Text

from app.layout import Paragraph
from app.report import scope_text
from app.terminal import console_for, plain
from app.words import Words

HANGING = 5
"""How much further lines of one event are set in below its first."""


class Live:
    """Shows the progress events of a run as they come, with a moving line below them where there's a terminal.

    Use as a context manager around the run, and call it with each event.
    """

    def __init__(self, words: Words) -> None:
        self._words = words
        self._console = console_for(sys.stderr)
        self._status = self._console.status(Text(f"{words.label['waiting']} …"))

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._status.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._status.stop()

    def __call__(self, event: Mapping[str, Any]) -> None:
        """Show one event; one of the trace's, or of a kind that isn't known here, shows nothing."""
        if event.get("stream") == "progress":
            self._say(progress_line(event, self._words))

    def stopping(self) -> None:
        """Say that the run was asked to stop and is being closed; a terminal gets its cursor back at once."""
        self._status.stop()
        self._say(Text(self._words.label["stopping"], "yellow"))

    def note(self, line: str) -> None:
        """Say one line of the command line's own."""
        self._say(Text(f"zhizhi: {line}", "yellow"))

    def _say(self, line: Text | None) -> None:
        if line is None:
            return
        with suppress(OSError):  # a full disk behind standard error is no reason to end a diagnosis
            self._console.print(Paragraph(line, hanging=HANGING))


def progress_line(event: Mapping[str, Any], words: Words) -> Text | None:
    """Return the line for a progress event, or None for a kind that has none."""
    call = plain(f"{event.get('call_id', '')} {event.get('tool_name', '')}".strip())
    match event.get("kind"):
        case "ASKED":
            return Text.assemble(("→ ", "cyan"), (call, "bold"), f" {scope_text(event['scope'])}")
        case "ANSWERED":
            cut = f" ({words.label['truncated']})" if event.get("truncated") else ""
            status = words.evidence_status[event["evidence_status"]]
            return Text.assemble(("← ", "cyan"), f"{call} {status}{cut}: {plain(event['summary'])}")
        case "FAILED":
            names = ", ".join(event.get("near_names") or ())
            near = f"; {words.label['near_names']}: {plain(names)}" if names else ""
            return Text(f"← {call} {words.label['source_failed']}: {words.limitation[event['code']]}{near}", "yellow")
        case "SETTLED":
            gained = event["information_gain"] == "GAINED"
            told = f"{words.gain[event['information_gain']]} ({words.gain_by[event['by']]})"
            return Text(f"  {call} {words.label['settled']}: {told}", "green" if gained else "dim")
        case "REJECTED":
            detail = f": {words.violation[event['violation_type']]}" if event.get("violation_type") else ""
            why = f"{words.rejection[event['code']]}{detail}"
            return Text(f"✗ {call} {words.label['refused']}: {why}", "red")
        case "HANDED_OVER":
            return Text(f"■ {words.label['handed_over']}", "bold yellow")
        case "STOP":
            return Text(f"■ {words.limitation[event['reason']]}", "bold yellow")
    return None


class TraceFile:
    """A run's trace as NDJSON, one event a line, written as they come.

    Opening raises OSError where the file can't be written. After a later write error nothing more is written, and
    `close` tells why; the run goes on.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb", buffering=0)
        self._failure: str | None = None

    def __call__(self, event: Mapping[str, Any]) -> None:
        """Write the event that `event` carries, where it's one of the trace."""
        if event.get("stream") != "trace" or self._failure is not None:
            return
        try:
            self._file.write(json.dumps(event["event"], ensure_ascii=False).encode() + b"\n")
        except OSError as error:
            self._failure = error.strerror or "write error"

    def close(self) -> str | None:
        """Close the file; return why the trace in it is incomplete, or None."""
        try:
            self._file.close()
        except OSError as error:
            self._failure = self._failure or error.strerror
        return self._failure
