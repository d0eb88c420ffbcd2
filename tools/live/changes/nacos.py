"""Configuration history of Nacos.

Source: nacos.io/docs (Open API: v1 and v2 `cs/history`, v3 `admin/cs/history`). What a history record holds is told by
the server's code alone: an update's and a deletion's record hold the content from before, an insertion's the new one.
So what an update brought stands in the record after it, or is what is published now.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, ClassVar
from urllib.parse import urlencode

from typing_extensions import override

from tools.base import SourceFailure
from tools.canonical import fold
from tools.live.changes.diffs import BRIEF_LINES, WHOLE_LINES, text_diff, unified
from tools.live.changes.ownership import Ownership
from tools.live.changes.records import Deploy, Recorded, joined
from tools.live.changes.source import ChangeSource
from tools.live.changes.times import utc
from tools.live.concurrency import in_turns
from tools.live.reading import inside, mapping, some, text
from tools.live.source import Probe
from tools.live.transport import Transport
from tools.vocabulary import ChangeKind, Scope, SourceError

PAGE = 100
MAX_PAGES = 3
MAX_CONFIGS = 200
MAX_TOLD = 40
"""How many records of one configuration are told with their content, each for one request."""
DEFAULT_GROUP = "DEFAULT_GROUP"
_PROFILE = re.compile(r"-(?:dev|test|fat|uat|pre|prod|production|stage|staging|gray|online)$", re.IGNORECASE)
_ABSENT = frozenset({404})
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OPERATIONS = {"I": "published for the first time", "U": "published", "D": "deleted"}


@dataclass(frozen=True)
class Dialect:
    """How one version of the API spells what it is asked; `wrapped`: whether answers stand under `data`."""

    history: str
    history_list: Mapping[str, str]
    list_path: str
    configs: str
    config: str
    group: str
    namespace: str
    wrapped: bool


DIALECTS: Mapping[str, Dialect] = {
    "v1": Dialect(
        "/nacos/v1/cs/history", {"search": "accurate"}, "/nacos/v1/cs/history", "/nacos/v1/cs/configs",
        "/nacos/v1/cs/configs", "group", "tenant", False,
    ),
    "v2": Dialect(
        "/nacos/v2/cs/history", {}, "/nacos/v2/cs/history/list", "/nacos/v2/cs/history/configs",
        "/nacos/v2/cs/config", "group", "namespaceId", True,
    ),
    "v3": Dialect(
        "/nacos/v3/admin/cs/history", {}, "/nacos/v3/admin/cs/history/list", "/nacos/v3/admin/cs/history/configs",
        "/nacos/v3/admin/cs/config", "groupName", "namespaceId", True,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Config:
    """A configuration by its names, and the application that Nacos knows for it, if any."""

    group: str
    data_id: str
    application: str = ""

    @property
    def path(self) -> str:
        """The name under which its lines are told."""
        return f"{self.group}/{self.data_id}"


@dataclass(frozen=True)
class Entry:
    """A record of a configuration's history: `operation` is I, U or D, `at` its time (aware, UTC)."""

    number: str
    operation: str
    at: datetime
    application: str


class NacosSource(ChangeSource):
    """Configurations of one Nacos namespace. Each publication is a release that carries the lines it changed.

    A configuration that was deleted before now is known only where the settings name it. Gray publications aren't told.
    """

    tells: ClassVar[frozenset[ChangeKind]] = frozenset({ChangeKind.DEPLOY})

    def __init__(
        self,
        name: str,
        transport: Transport,
        dialect: Dialect,
        *,
        login: Callable[[Transport], Awaitable[Mapping[str, str]]],
        namespace: str,
        configs: Sequence[Config],
        owners: Ownership,
    ) -> None:
        self.name = name
        self._transport = transport
        self._dialect = dialect
        self._login = login
        self._namespace = namespace
        self._configs = configs
        self._owners = owners

    @override
    async def probe(self) -> Probe:
        configs, _ = await self._known()
        await self._entries(configs[0], _EPOCH, pages=1) if configs else None
        return Probe(None, f"{len(configs)} configurations")

    @override
    async def close(self) -> None:
        await self._transport.close()

    @override
    async def recorded(self, start: datetime, end: datetime) -> Recorded:
        configs, cut = await self._known()

        async def of(config: Config) -> Recorded:
            entries, more = await self._entries(config, start)
            wanted = [one for one in entries if start <= one.at < end]
            deploys = await self._released(config, entries, wanted[:MAX_TOLD], BRIEF_LINES)
            return Recorded(deploys=tuple(deploys), truncated=more or len(wanted) > MAX_TOLD)

        told = await in_turns(of, configs)
        names = frozenset(service for one in configs if (service := self._service(one)))
        return joined([*told, Recorded(services=names, truncated=cut)])

    @override
    async def change(self, folded: str) -> Recorded:
        said = re.fullmatch(rf"{re.escape(self.name)}:(\d+):(.+)", folded)
        if said is None:
            return Recorded()
        configs, _ = await self._known()
        config = next((one for one in configs if fold(one.path) == said[2]), None)
        if config is None:
            return Recorded(known=frozenset(f"{self.name}:{said[1]}:{one.path}" for one in configs))
        entries, _ = await self._entries(config, _EPOCH)
        wanted = [one for one in entries if one.number == said[1]]
        known = frozenset(self._id(config, one) for one in entries)
        return Recorded(deploys=tuple(await self._released(config, entries, wanted, WHOLE_LINES)), known=known)

    @override
    def paste(self, scope: Scope) -> str:
        """Return what lists the history of the configurations that were named, else the configurations."""
        dialect = self._dialect
        page = {"pageNo": 1, "pageSize": PAGE}
        space = {dialect.namespace: self._namespace or ("public" if dialect.wrapped else "")}
        asked: list[tuple[str, Mapping[str, object]]] = [
            (
                dialect.list_path,
                {**dialect.history_list, "dataId": one.data_id, dialect.group: one.group, **space, **page},
            )
            for one in self._configs
        ]
        every: Mapping[str, object] = {"search": "accurate", "dataId": "", dialect.group: "", **space, **page}
        asked = asked or [(dialect.configs, space if dialect.wrapped else every)]
        return "\n".join(
            f'curl -H "Authorization: Bearer $NACOS_TOKEN" "$NACOS_URL{path}?{urlencode(params)}"'
            for path, params in asked
        )

    def _service(self, config: Config) -> str | None:
        """Whose a configuration is: by the settings, else its application, else its name up to profile and ending."""
        if self._owners.service or self._owners.patterns:
            return self._owners.of(config.data_id) or self._owners.of(config.path)
        stem = config.data_id.rpartition(".")[0] if "." in config.data_id else config.data_id
        return config.application or _PROFILE.sub("", stem)

    def _id(self, config: Config, entry: Entry) -> str:
        return f"{self.name}:{entry.number}:{config.path}"

    async def _known(self) -> tuple[list[Config], bool]:
        """Return the configurations to look at, and whether there are more."""
        if self._configs:
            return list(self._configs), False
        if self._dialect.wrapped:
            rows = some(await self._ask(self._dialect.configs, {self._dialect.namespace: self._namespace or "public"}))
            return [self._config(row) for row in rows[:MAX_CONFIGS]], len(rows) > MAX_CONFIGS
        found: list[Config] = []
        for page in range(1, MAX_CONFIGS // PAGE + 1):
            params = {"search": "accurate", "dataId": "", "group": "", "tenant": self._namespace}
            answer = mapping(await self._ask(self._dialect.configs, {**params, "pageNo": page, "pageSize": PAGE}))
            found += [self._config(row) for row in _items(answer)]
            if page >= _pages(answer):
                return found, False
        return found, True

    def _config(self, row: Mapping[str, Any]) -> Config:
        group = text(row.get("group")) or text(row.get("groupName")) or DEFAULT_GROUP
        return Config(group, text(row.get("dataId")), text(row.get("appName")))

    async def _entries(self, config: Config, start: datetime, *, pages: int = MAX_PAGES) -> tuple[list[Entry], bool]:
        """Return a configuration's history, newest first, as far back as `start`, and whether some of it is missing."""
        found: list[Entry] = []
        for page in range(1, pages + 1):
            named = {**self._dialect.history_list, **self._names(config)}
            answer = mapping(await self._ask(self._dialect.list_path, {**named, "pageNo": page, "pageSize": PAGE}))
            rows = [entry for row in _items(answer) if (entry := _entry(row))]
            found += rows
            if page >= _pages(answer) or (rows and rows[-1].at < start):
                return found, False
        return found, True

    async def _released(
        self, config: Config, entries: Sequence[Entry], wanted: Sequence[Entry], limit: int
    ) -> list[Deploy]:
        after = {one.number: newer for newer, one in pairwise(entries)}
        neighbours = {after[one.number].number for one in wanted if one.number in after}
        numbers = sorted({one.number for one in wanted} | neighbours)

        async def content(number: str) -> str:
            answer = await self._ask(self._dialect.history, {"nid": number, **self._names(config)})
            return text(mapping(answer).get("content"))

        contents = dict(zip(numbers, await in_turns(content, numbers), strict=True))
        current = await self._current(config) if any(one.number not in after for one in wanted) else ""
        deploys = []
        for entry in wanted:
            own = contents[entry.number]
            newer = contents[after[entry.number].number] if entry.number in after else current
            before, now = {"I": ("", own), "D": (own, "")}.get(entry.operation, (own, newer))
            deploys.append(self._deploy(config, entry, unified([text_diff(config.path, before, now)], limit=limit)))
        return deploys

    def _deploy(self, config: Config, entry: Entry, diff: str) -> Deploy:
        owner = replace(config, application=entry.application or config.application)
        done = _OPERATIONS.get(entry.operation, "changed")
        return Deploy(
            self._id(config, entry),
            self._service(owner),
            entry.at,
            message=f"configuration {config.path} {done}",
            files=(config.path,),
            diff=diff,
        )

    async def _current(self, config: Config) -> str:
        params = self._names(config)
        headers = await self._login(self._transport)
        answer = await self._transport.answer(
            "GET", self._dialect.config, params=params, headers=headers, accept_status=_ABSENT
        )
        if answer.status == 404:
            return ""
        if not self._dialect.wrapped:
            return answer.body.decode("utf-8", errors="replace")
        data = mapping(answer.json()).get("data")
        return text(data) or text(inside(data, "content"))

    def _names(self, config: Config) -> dict[str, str]:
        named = {"dataId": config.data_id, self._dialect.group: config.group}
        return named | ({self._dialect.namespace: self._namespace} if self._namespace else {})

    async def _ask(self, path: str, params: Mapping[str, str | int]) -> Any:
        headers = await self._login(self._transport)
        answer = await self._transport.json("GET", path, params=params, headers=headers)
        if not isinstance(answer, dict):
            raise SourceFailure(SourceError.SOURCE_UNREADABLE)
        if not self._dialect.wrapped:
            return answer
        if answer.get("code") not in (0, 200):
            raise SourceFailure(SourceError.QUERY_REJECTED)
        return answer.get("data")


def _items(page: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return a page's records; raises SourceFailure(SOURCE_UNREADABLE) where there's no list of them."""
    rows = page.get("pageItems")
    if not isinstance(rows, list):
        raise SourceFailure(SourceError.SOURCE_UNREADABLE)
    return some(rows)


def _pages(page: Mapping[str, Any]) -> int:
    """Return how many pages there are; raises SourceFailure(SOURCE_UNREADABLE) where a page doesn't tell."""
    said = text(page.get("pagesAvailable"))
    if not said.isdecimal():
        raise SourceFailure(SourceError.SOURCE_UNREADABLE)
    return int(said)


def _entry(row: Mapping[str, Any]) -> Entry | None:
    at = utc(row.get("lastModifiedTime")) or utc(row.get("modifyTime")) or utc(row.get("createdTime"))
    number = text(row.get("id"))
    if at is None or not number or text(row.get("publishType")).strip() not in {"", "formal"}:
        return None
    return Entry(number, text(row.get("opType")).strip().upper()[:1] or "U", at, text(row.get("appName")).strip())
