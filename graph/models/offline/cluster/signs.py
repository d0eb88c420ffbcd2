"""Signs: what a single line says outright. The rules are data, `rules/signs.toml`."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from graph.models.offline.cluster.facts import CRASHING, Case, Finding, Seen, pod_rank

_LOGS = ("pattern", "log")


@dataclass(frozen=True)
class Sign:
    """A rule of one line; `needs` names a state that the application has to be in, too."""

    cause: str
    sort: re.Pattern[str]
    where: Mapping[str, re.Pattern[str]]
    text: re.Pattern[str] | None
    unless: re.Pattern[str] | None
    about: str
    needs: str
    sure: bool

    def fits(self, seen: Seen) -> bool:
        """Return whether a line shows the sign."""
        line = seen.line
        if not self.sort.fullmatch(line.sort):
            return False
        if not all(pattern.fullmatch(line.get(key)) for key, pattern in self.where.items()):
            return False
        told = line.whole_text
        return (self.text is None or bool(self.text.search(told))) and not (self.unless and self.unless.search(told))


@cache
def _signs() -> tuple[Sign, ...]:
    rules = tomllib.loads(files("graph.models.offline.cluster.rules").joinpath("signs.toml").read_text("utf-8"))
    return tuple(
        Sign(
            cause=rule["cause"],
            sort=re.compile(rule["sort"]),
            where={key: re.compile(value) for key, value in (rule.get("where") or {}).items()},
            text=re.compile(rule["text"], re.IGNORECASE) if "text" in rule else None,
            unless=re.compile(rule["unless"], re.IGNORECASE) if "unless" in rule else None,
            about=rule["about"],
            needs=rule.get("needs", ""),
            sure=rule.get("sure", True),
        )
        for rule in rules["sign"]
    )


def read_signs(case: Case) -> Iterator[Finding]:
    """Yield what single lines of the cluster's own say, in the order of the rules."""
    yield from _read(case, [seen for seen in case.lines if seen.line.sort not in _LOGS])


def read_log_signs(case: Case) -> Iterator[Finding]:
    """Yield what applications say of themselves, in the order of the rules."""
    yield from _read(case, [seen for seen in case.lines if seen.line.sort in _LOGS])


def _read(case: Case, lines: list[Seen]) -> Iterator[Finding]:
    for sign in _signs():
        for seen in lines:
            if sign.fits(seen):
                component = _about(sign, seen, case)
                pod = case.pod_of(component)
                if component and _in_state(sign, component, case) and _lasting(seen, case):
                    yield Finding(sign.cause, component, (seen, pod) if pod and pod != seen else (seen,), sign.sure)


def _about(sign: Sign, seen: Seen, case: Case) -> str:
    if sign.about == "namespace":
        return case.namespace
    if sign.about == "database":
        return database_of(seen.get("service"), case)
    return seen.get(sign.about)


def _in_state(sign: Sign, app: str, case: Case) -> bool:
    if not sign.needs:
        return True
    pod = case.pod_of(app)
    if pod is None:
        return False
    return pod_rank(pod) == CRASHING or bool(pod.line.number("restarts") or (sign.needs == "unwell" and pod_rank(pod)))


def _lasting(seen: Seen, case: Case) -> bool:
    """An event of an application that has all its pods is over: it was refused, tried again and admitted."""
    if seen.line.sort != "event" or not seen.get("reason").startswith("FailedCreate"):
        return True
    workloads = [one for one in case.objects("deployments") if one.get("name") == seen.get("app")]
    return not workloads or not whole(workloads[0])


def whole(workload: Seen) -> bool:
    """Return whether a workload has as many ready pods as it wants, and of its newest declaration."""
    have, _, want = workload.get("ready").partition("/")
    return have == want and (want == "0" or workload.get("up_to_date") != "0")


def database_users(case: Case) -> list[str]:
    """Return the applications whose logs speak of a database's state, where it isn't known yet which one they use."""
    told = [sign for sign in _signs() if sign.about == "database"]
    users = [seen.get("service") for seen in case.lines if any(sign.fits(seen) for sign in told)]
    return [user for user in dict.fromkeys(users) if not database_of(user, case)]


_DATABASE = re.compile(r"mysql|mariadb|postgres|pgsql|mongo|redis|(^|-)db(-|$)|database", re.IGNORECASE)


def database_of(app: str, case: Case) -> str:
    """Return the database that an application speaks to: itself, the one that its environment names, or the only one.

    Blank where that isn't known.
    """
    databases = sorted({pod.get("app") for pod in case.objects("pods") if _DATABASE.search(pod.get("app"))})
    if app in databases:
        return app
    told = " ".join(seen.line.text for seen in case.of("env", app=app))
    named = [one for one in databases if one in told]
    if len(named or databases) == 1:
        return (named or databases)[0]
    return ""
