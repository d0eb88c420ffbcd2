"""Changes as a local clone tells them: its commits, and deploys from annotated tags. Needs the `git` program."""

import asyncio
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ClassVar

from typing_extensions import override

from tools.base import SourceFailure
from tools.canonical import iso_utc
from tools.live.changes.diffs import BRIEF_LINES, WHOLE_LINES
from tools.live.changes.ownership import Ownership
from tools.live.changes.patches import OPTIONS, commits_of
from tools.live.changes.process import Git
from tools.live.changes.records import LEAST_SHA, Commit, Deploy, Recorded, is_sha
from tools.live.changes.source import Carried, ChangeSource, window_of
from tools.live.changes.times import at_second
from tools.live.source import Probe
from tools.vocabulary import ChangeKind, Scope, SourceError
from tools.windows import LOOK_AHEAD

MAX_COMMITS = 300
MAX_TAGS = 2_000
MAX_CARRIED = 20
FETCH_LATENESS = timedelta(minutes=10)
"""How late a clone may be fetched and still speak for its remote."""
_ORIGIN = "refs/remotes/origin/HEAD"
_UNIT = "\x1f"
_TAG_FORMAT = "--format=%(refname)%1f%(objecttype)%1f%(*objecttype)%1f%(*objectname)%1f%(taggerdate:unix)"


@dataclass(frozen=True)
class TagPattern:
    """How tags name deploys, e.g. `deploy/{service}/{version}`; `{service}` may be missing, `{version}` not."""

    text: str

    @property
    def glob(self) -> str:
        """The refs among which such tags stand: what is literal of the pattern, up to a slash."""
        return f"refs/tags/{self.text.partition('{')[0].rpartition('/')[0]}".rstrip("/")

    def read(self, ref: str) -> tuple[str | None, str] | None:
        """Return the service (None where the pattern has none) and version of a ref, or None where it's no deploy."""
        expression = re.escape(self.text).replace(r"\{service\}", r"(?P<service>[^/]+)")
        expression = expression.replace(r"\{version\}", r"(?P<version>.+)")
        found = re.fullmatch(expression, ref.removeprefix("refs/tags/"))
        return (found.groupdict().get("service"), found["version"]) if found else None


class GitSource(ChangeSource):
    """A clone, read only. A commit's time is when it was committed; a deploy's is its tag's."""

    tells: ClassVar[frozenset[ChangeKind]] = frozenset({ChangeKind.COMMIT, ChangeKind.DEPLOY})
    local: ClassVar[bool] = True

    def __init__(self, name: str, git: Git, *, owners: Ownership, tags: TagPattern | None, ref: str | None) -> None:
        self.name = name
        self._git = git
        self._owners = owners
        self._tags = tags
        self._ref = ref

    @override
    async def probe(self) -> Probe:
        refs = await self._refs()
        async with self._git.rows("log", ["-1", "--format=%H", "--end-of-options", *refs, "--"]) as rows:
            found = [row async for row in rows]
        return Probe(None, f"{len(found)} newest commit read")

    @override
    async def close(self) -> None:
        """Nothing is held open."""

    @override
    async def recorded(self, start: datetime, end: datetime) -> Recorded:
        refs = await self._refs()
        window = [f"--since={iso_utc(start)}", f"--until={iso_utc(end)}"]
        commits, cut = await self._log([*window, f"--max-count={MAX_COMMITS + 1}"], refs, BRIEF_LINES)
        deploys, more = await self._deploys()
        notes = await asyncio.to_thread(self._staleness, end)
        return replace(
            Recorded(tuple(commits[:MAX_COMMITS]), tuple(deploys)).within(start, end),
            services=await self._services(refs[0]) | {one.service for one in deploys if one.service},
            truncated=cut or more or len(commits) > MAX_COMMITS or bool(notes),
            notes=notes,
        )

    @override
    async def change(self, folded: str) -> Recorded:
        sha = await self._commit(folded)
        if sha is None:
            return Recorded()
        commits, cut = await self._log(["--max-count=1"], [sha], WHOLE_LINES)
        deploys, more = await self._deploys()
        of_commit = tuple(one for one in deploys if one.change_id == sha)
        return Recorded(tuple(commits), of_commit, truncated=cut or more)

    @override
    async def carried(self, deploy: Deploy, *, whole: bool = False) -> Carried:
        sha = await self._commit(deploy.change_id)
        if sha is None:
            return Carried()
        limit = WHOLE_LINES if whole else BRIEF_LINES
        head, cut = await self._log(["--max-count=1"], [sha], limit)
        before = await self._commit(deploy.previous or "")
        if before is None or whole:
            return Carried(tuple(head), cut)
        found, more = await self._log([f"--max-count={MAX_CARRIED + 1}"], [f"{before}..{sha}"], limit)
        rest = [one for one in found[:MAX_CARRIED] if one.sha != sha]
        return Carried((*head, *rest), cut or more or len(found) > MAX_CARRIED)

    @override
    def paste(self, scope: Scope) -> str:
        at = f"git -C {shlex.quote(str(self._git.path))}"
        if "change_id" in scope:
            return f"{at} show --end-of-options {shlex.quote(str(scope['change_id']))}"
        start, end = (iso_utc(one) for one in window_of(scope))
        of = f" -- {shlex.quote(scope['service'])}" if "service" in scope and self._owners.service is None else ""
        lines = [f"{at} log -p --first-parent --since={start} --until={end} {shlex.quote(self._ref or 'HEAD')}{of}"]
        if self._tags:
            lines.append(f"{at} for-each-ref --sort=-taggerdate {shlex.quote(self._tags.glob)}")
        return "\n".join(lines)

    async def _refs(self) -> list[str]:
        """Return what is read: the configured ref, else HEAD and the remote's default branch, as far as they exist.

        Raises SourceFailure(SOURCE_MISSING) where the directory is no clone or holds no commit.
        """
        wanted = [self._ref] if self._ref else ["HEAD", _ORIGIN]
        found = [sha for ref in wanted if (sha := await self._resolved(ref))]
        if not found:
            raise SourceFailure(SourceError.SOURCE_MISSING)
        return list(dict.fromkeys(found))

    async def _commit(self, change_id: str) -> str | None:
        return await self._resolved(change_id.lower()) if is_sha(change_id) else None

    async def _resolved(self, ref: str) -> str | None:
        said = ["--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}"]
        sha = (await self._git.text("rev-parse", said, accept=True)).strip()
        return sha if len(sha) >= LEAST_SHA else None

    async def _log(self, options: Sequence[str], revisions: Sequence[str], limit: int) -> tuple[list[Commit], bool]:
        arguments = ["--first-parent", *OPTIONS, *options, "--end-of-options", *revisions, "--"]
        async with self._git.rows("log", arguments) as rows:
            commits = [commit async for commit in commits_of(rows, self._owners, limit=limit)]
            return commits, rows.cut

    async def _services(self, ref: str) -> frozenset[str]:
        if self._owners.service is not None or self._owners.patterns:
            return self._owners.named()
        names = await self._git.text("ls-tree", ["-d", "-z", "--name-only", ref])
        return frozenset(name for name in names.split("\x00") if name and not name.startswith("."))

    async def _deploys(self) -> tuple[list[Deploy], bool]:
        """Return the deploys that annotated tags tell, oldest first, each with the SHA that its service had before."""
        if self._tags is None:
            return [], False
        arguments = ["--sort=-taggerdate", f"--count={MAX_TAGS + 1}", _TAG_FORMAT, self._tags.glob]
        rows = (await self._git.text("for-each-ref", arguments)).split("\n")
        deploys: list[Deploy] = []
        last: dict[str | None, str] = {}
        for row in reversed(rows[:MAX_TAGS]):
            deploy = self._deploy(row)
            if deploy is not None:
                deploys.append(replace(deploy, previous=last.get(deploy.service)))
                last[deploy.service] = deploy.change_id
        return deploys, len(rows) > MAX_TAGS

    def _deploy(self, row: str) -> Deploy | None:
        fields = row.split(_UNIT)
        said = self._tags.read(fields[0]) if self._tags and len(fields) == 5 else None
        at = at_second(fields[4]) if len(fields) == 5 else None
        if said is None or fields[1:3] != ["tag", "commit"] or at is None:
            return None
        return Deploy(fields[3], said[0] or self._owners.service, at, version=said[1])

    def _staleness(self, end: datetime) -> tuple[str, ...]:
        """Remark that a clone was fetched before the window's end: what happened since isn't in it."""
        fetched = _fetched(self._git.path)
        if fetched is None or fetched >= end - LOOK_AHEAD - FETCH_LATENESS:
            return ()
        return (f"CLONE_FETCHED:{iso_utc(fetched.replace(microsecond=0))}",)


def _fetched(path: Path) -> datetime | None:
    """Return when a clone was last fetched, or made; None where it has no remote, and so speaks for itself alone."""
    for name in ("FETCH_HEAD", _ORIGIN):
        for directory in (path / ".git", path):
            try:
                return datetime.fromtimestamp((directory / name).stat().st_mtime, UTC)
            except OSError:
                continue
    return None
