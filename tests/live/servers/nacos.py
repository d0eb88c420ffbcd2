"""A small server of our own that keeps to Nacos' documented Open API, over publications that a test makes.

Documentation: https://nacos.io/docs/latest/manual/user/open-api/ (v1 and v2: `cs/configs`, `cs/history`,
`auth/login`) and https://nacos.io/docs/v3.0/manual/admin/admin-api/ (v3). What a history record holds is not
documented; kept is what the server does (`ConfigInfoPersistService`): the content from before for an update (U) and a
deletion (D), the new one for an insertion (I); `opType` padded to ten characters; pages with the newest first.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from tests.live.servers.answering import Request, Response, answering

ACCESS = "access-token-of-the-server"


@dataclass
class NacosStore:
    """What the server knows. `password` is the user nacos'; `logins` counts the exchanges for a token."""

    password: str
    current: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    logins: int = 0

    def publish(
        self, at: str, data_id: str, content: str | None, *, group: str = "DEFAULT_GROUP", app: str = ""
    ) -> int:
        """Publish a configuration at a time, or delete it (None); returns the number of the history record."""
        old = self.current.get((group, data_id))
        operation = "D" if content is None else "U" if old else "I"
        kept = content if old is None else old["content"]
        number = len(self.history) + 1001
        record = {"id": str(number), "lastId": -1, "dataId": data_id, "group": group, "tenant": "",
                  "appName": app, "md5": "x", "content": kept, "srcIp": "10.0.0.1", "srcUser": "nacos",
                  "opType": f"{operation:<10}", "createdTime": "2010-05-04T16:00:00.000+0000",
                  "lastModifiedTime": f"{at}.000+0000"}  # fmt: skip
        self.history.append(record)
        if content is None:
            del self.current[(group, data_id)]
        else:
            config = {"id": "1", "dataId": data_id, "group": group, "content": content, "appName": app, "tenant": ""}
            self.current[(group, data_id)] = config
        return number


@contextmanager
def start_nacos(store: NacosStore) -> Iterator[str]:
    """Serve the store on loopback while the block runs; gives the address."""
    with answering(lambda request: _answer(store, request)) as url:
        yield url


def _answer(store: NacosStore, request: Request) -> Response:
    if request.path in {"/nacos/v1/auth/login", "/nacos/v3/auth/user/login"} and request.method == "POST":
        said = dict(parse_qsl(request.body.decode()))
        if (said.get("username"), said.get("password")) != ("nacos", store.password):
            return Response("unknown user!", 403)
        store.logins += 1
        return Response({"accessToken": ACCESS, "tokenTtl": 18000, "globalAdmin": True, "username": "nacos"})
    if request.headers.get("authorization") != f"Bearer {ACCESS}":
        return Response({"status": 403, "error": "Forbidden", "message": "user not found!"}, 403)
    route = request.path.removeprefix("/nacos")
    if route.startswith("/v1/"):
        return _v1(store, route, request)
    group = "groupName" if route.startswith("/v3/") else "group"
    return _wrapped(store, route.replace("/v3/admin/", "/v2/"), request, group)


def _v1(store: NacosStore, route: str, request: Request) -> Response:
    named = request.param("group") or "", request.param("dataId") or ""
    if route == "/v1/cs/history" and request.param("search") == "accurate":
        return Response(_history(store, named, request))
    if route == "/v1/cs/history" and request.param("nid"):
        return Response(_record(store, request))
    if route == "/v1/cs/configs" and request.param("search"):
        return Response(_page([one for one in store.current.values() if "" in named or named], request))
    if route == "/v1/cs/configs":
        found = store.current.get(named)
        return Response(found["content"]) if found else Response("config data not exist", 404)
    return Response({"status": 404, "error": "Not Found"}, 404)


def _wrapped(store: NacosStore, route: str, request: Request, group: str) -> Response:
    """v2 and v3 wrap what they say; v3 says the group under another name, and v3's times are milliseconds."""
    named = request.param(group) or "", request.param("dataId") or ""
    if route == "/v2/cs/history/configs" and request.param("namespaceId"):
        data: Any = [{"dataId": one["dataId"], group: one["group"], "appName": one["appName"]}
                     for one in store.current.values()]  # fmt: skip
    elif route == "/v2/cs/history/list":
        data = _history(store, named, request)
    elif route == "/v2/cs/history" and request.param("nid"):
        data = _record(store, request)
    elif route == "/v2/cs/config":
        found = store.current.get(named)
        if found is None:
            return Response({"code": 20004, "message": "resource not found", "data": "config data not exist"}, 404)
        data = found if group == "groupName" else found["content"]
    else:
        return Response({"code": 10000, "message": "parameter missing", "data": None}, 400)
    return Response({"code": 0, "message": "success", "data": data})


def _history(store: NacosStore, named: tuple[str, str], request: Request) -> dict[str, Any]:
    rows = [one | {"content": None} for one in reversed(store.history) if (one["group"], one["dataId"]) == named]
    return _page(rows, request)


def _record(store: NacosStore, request: Request) -> dict[str, Any]:
    return next((one for one in store.history if one["id"] == request.param("nid")), {})


def _page(rows: list[dict[str, Any]], request: Request) -> dict[str, Any]:
    size, page = int(request.param("pageSize") or 100), int(request.param("pageNo") or 1)
    available = -(-len(rows) // size)
    items = rows[(page - 1) * size : page * size]
    return {"totalCount": len(rows), "pageNumber": page, "pagesAvailable": available, "pageItems": items}
