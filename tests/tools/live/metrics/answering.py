"""A server of Prometheus' API in a test's own words: what it knows, what it answers, and what it was asked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote

import httpx

from tests.tools.live.conformance import LIMIT, TOKEN
from tools.live.metrics.prometheus import Prometheus
from tools.live.metrics.settings import PrometheusSettings
from tools.live.transport import Transport

Point = tuple[float, float | str]


@dataclass
class Answering:
    """`series`: label sets with `__name__`; `points`: the samples of a range query (its form is given), or a function
    of it; `extra`: what stands beside `data` in its answer; `replies`: whole answers by path, instead of all that."""

    series: Sequence[Mapping[str, str]]
    points: Callable[[Mapping[str, str]], Sequence[Point]] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    replies: Mapping[str, httpx.Response] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, list[str]]]] = field(default_factory=list)

    def source(self, **settings: Any) -> Prometheus:
        """Return an opened source whose server this is."""
        said = PrometheusSettings.model_validate(
            {"url": "http://server/base", "token": TOKEN, "max_bytes": LIMIT, **settings}
        )
        transport = Transport(said.access(), wire=httpx.MockTransport(self._answer))
        return Prometheus("server", transport, said.service_labels, max_series=said.max_series)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        path = unquote(request.url.path).removeprefix("/base/api/v1")
        form = parse_qs(request.content.decode() or request.url.query.decode())
        self.asked.append((path, form))
        if path in self.replies:
            return self.replies[path]
        said = {name: values[0] for name, values in form.items()}
        if path == "/labels":
            return _success(sorted({label for one in self.series for label in one}))
        if path.startswith("/label/"):
            label = path.split("/")[2]
            return _success(sorted({one[label] for one in self._selected(form) if label in one}))
        if path == "/series":
            return _success([dict(one) for one in self._selected(form)])
        if path == "/metadata":
            return _success({})
        return self._evaluated(path, said)

    def _evaluated(self, path: str, said: Mapping[str, str]) -> httpx.Response:
        if path == "/query":
            return _success({"resultType": "vector", "result": [{"metric": {}, "value": [float(said["time"]), "1"]}]})
        if said["query"].startswith("max(count_over_time("):
            counts = [[float(said[end]), "10"] for end in ("start", "end")]
            return _success({"resultType": "matrix", "result": [{"metric": {}, "values": counts}]})
        points = self.points(said) if self.points else []
        told = [
            {"metric": dict(one), "values": [[at, str(value)] for at, value in points]} for one in self.series if points
        ]
        return _success({"resultType": "matrix", "result": told}, **self.extra)

    def _selected(self, form: Mapping[str, list[str]]) -> list[Mapping[str, str]]:
        """Return the series that every plain matcher in the selectors fits."""
        wanted = form.get("match[]", [])
        return [one for one in self.series if not wanted or any(_fits(one, selector) for selector in wanted)]


def every(step: int, value: Callable[[float], float]) -> Callable[[Mapping[str, str]], list[Point]]:
    """Return points over the span that is asked for."""

    def points(said: Mapping[str, str]) -> list[Point]:
        first, last = float(said["start"]), float(said["end"])
        return [(at, value(at)) for at in (first + step * i for i in range(int((last - first) // step) + 1))]

    return points


def _fits(labels: Mapping[str, str], selector: str) -> bool:
    name, _, rest = selector.partition("{")
    matchers = dict(one.split("=", 1) for one in rest.rstrip("}").split(",") if one)
    fitting = all(labels.get(label) == value.strip('"') for label, value in matchers.items())
    return fitting and (not name or labels.get("__name__") == name)


def _success(data: Any, **extra: Any) -> httpx.Response:
    return httpx.Response(200, json={"status": "success", "data": data, **extra})
