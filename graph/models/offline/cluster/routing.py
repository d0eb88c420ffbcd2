"""Services that lead nowhere, and callers that call nobody: selectors, ports, protocols, addresses."""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

from graph.models.offline.cluster.facts import Case, Finding, Seen, pairs, pod_rank

_ADDRESS = re.compile(r"(?:\w+://)?(?:[^@/\s]*@)?(?P<host>[A-Za-z][A-Za-z0-9.-]*)(?::(?P<port>\d{1,5}))?(?:[/?].*)?")
_ADDRESS_NAME = re.compile(r"ADDR|HOST|URL|URI|ENDPOINT|SERVER|SERVICE|TARGET|UPSTREAM", re.IGNORECASE)
_UNRESOLVED = re.compile(
    r"lookup (?P<go>[\w.-]+)|UnknownHostException:? (?P<java>[\w.-]+)|getaddrinfo \w+ (?P<node>[\w.-]+)"
    r"|[Cc]ould not resolve host:? (?P<curl>[\w.-]+)|[Ff]ailed to resolve '?(?P<netty>[\w.-]+)"
)
_ALIKE = 0.75


def unserved_apps(case: Case) -> list[tuple[str, Seen]]:
    """Return the applications that run without a service of their name, where the others have one; with their rows."""
    if not case.listed("services"):
        return [(one.get("name"), one) for one in case.of("absent", kind="services")]
    served = {service.get("name") for service in case.objects("services")}
    workloads = case.objects("deployments") or case.objects("pods")
    names = [(one.get("app") or one.get("name"), one) for one in workloads]
    without = [(name, one) for name, one in names if name and name not in served]
    return without if len(without) * 3 <= len(names) else []


def idle_services(case: Case) -> list[Seen]:
    """Return the endpoints that are empty, or another's, though the application of that name has pods that are well."""
    found = []
    for endpoint in case.objects("endpoints"):
        pods = [one for one in case.objects("pods") if one.get("app") == endpoint.get("name")]
        if not pods or any(map(pod_rank, pods)):
            continue
        told = endpoint.get("endpoints")
        own = {pod.get("ip") for pod in pods} - {"", "<none>"}
        if told in ("", "<none>") or (own and not any(address in told for address in own)):
            found.append(endpoint)
    return found


def odd_protocols(case: Case) -> list[Seen]:
    """Return the services that speak another protocol than nearly all others."""
    services = case.objects("services")
    odd = [service for service in services if re.search(r"/(UDP|SCTP)", service.get("ports"))]
    return odd if len(odd) * 4 <= len(services) else []


def read_routing(case: Case) -> Iterator[Finding]:
    """Yield what is wrong with services, by what was applied for the application and what the cluster lists."""
    for service in case.of("service"):
        app, name = service.get("app"), service.get("name")
        labels = [pairs(one.get("labels")) for one in case.of("workload", app=app)]
        wanted = pairs(service.get("selector"))
        base = (service, *_endpoints(case, name))
        if wanted and labels and not any(wanted.items() <= have.items() for have in labels):
            workload = next(case.of("workload", app=app))
            yield Finding("service_selector_mismatch", app, (*base, workload))
        for port in case.of("service_port", app=app, service=name):
            yield from _port(case, app, port, base)
    yield from _addresses(case)
    yield from _database_ports(case)
    yield from _unresolvable(case)
    yield from _misroutes(case)


def _endpoints(case: Case, name: str) -> tuple[Seen, ...]:
    return tuple(one for one in case.objects("endpoints") if one.get("name") == name)


def _port(case: Case, app: str, port: Seen, base: tuple[Seen, ...]) -> Iterator[Finding]:
    containers = list(case.of("container", app=app))
    opened = [container for container in containers if container.get("ports")]
    numbers = {piece for one in opened for part in one.get("ports").split(",") for piece in re.split("[:/]", part)}
    probed = {probe.get("port") for probe in case.of("probe", app=app)}
    target = port.get("target_port")
    if opened and target and target not in numbers:
        yield Finding("service_port_mapping_mismatch", app, (port, *base, *opened[:1]), sure=target not in probed)
    elif port.get("protocol") not in ("", "TCP") and (probed or re.search("grpc|http|tcp", port.get("name"))):
        yield Finding("service_protocol_mismatch", app, (port, *base, *opened[:1]))


def _addresses(case: Case) -> Iterator[Finding]:
    """Addresses in an application's environment that no service has, but nearly; or at a port that it doesn't have."""
    services = {service.get("name"): service for service in case.objects("services")}
    if not services:
        return
    for env in case.of("env"):
        found = _ADDRESS.fullmatch(env.line.text)
        if not found or not _ADDRESS_NAME.search(env.get("name")) or not (found["port"] or "." in found["host"]):
            continue
        host = found["host"].partition(".")[0]
        service = services.get(host)
        if service is None:
            meant = _meant(host, services)
            if meant:
                yield Finding(_address_cause(meant, env), env.get("app"), (env, services[meant]))
        elif found["port"] and found["port"] not in re.split(r"[/:,]", service.get("ports")):
            yield Finding(_address_cause(host, env), env.get("app"), (env, service))


_DATABASE_PORT = re.compile(r"(MYSQL|MARIADB|DB|DATABASE|DATASOURCE)\w*PORT", re.IGNORECASE)


def _database_ports(case: Case) -> Iterator[Finding]:
    """A port of a database in an application's environment that no database's service has."""
    databases = [one for one in case.objects("services") if re.search("mysql|mariadb", one.get("name"))]
    ports = {port for one in databases for port in re.findall(r"\d+", one.get("ports"))}
    for env in case.of("env"):
        value = env.line.text.strip("\"' ")
        if ports and value.isdigit() and _DATABASE_PORT.search(env.get("name")) and value not in ports:
            yield Finding("mysql_invalid_port", env.get("app"), (env, databases[0]))


def _address_cause(service: str, env: Seen) -> str:
    database = re.search(r"mysql|mariadb", f"{service} {env.get('name')}", re.IGNORECASE)
    return "mysql_invalid_port" if database else "service_env_var_address_mismatch"


def _meant(host: str, services: dict[str, Seen]) -> str:
    """Return the service that an address nearly names, blank where none is near: such an address may be of no use."""
    near = [(SequenceMatcher(None, host, name, autojunk=False).ratio(), name) for name in services]
    near += [(1.0, name) for name in services if host.startswith(f"{name}-") or name.startswith(f"{host}-")]
    near += [(1.0, name) for name in services if len(name) > 4 and (host.startswith(name) or name.startswith(host))]
    ratio, name = max(near)
    return name if ratio >= _ALIKE else ""


def _unresolvable(case: Case) -> Iterator[Finding]:
    """A name that a service has can't be resolved by an application whose name service was set by hand."""
    for workload in case.of("workload"):
        policy = workload.get("dns_policy")
        if policy in ("", "ClusterFirst", "ClusterFirstWithHostNet") and not workload.get("nameservers"):
            continue
        logs = [seen for seen in _logs(case, workload.get("app")) if _UNRESOLVED.search(seen.line.whole_text)]
        yield Finding("service_dns_resolution_failure", workload.get("app"), (workload, *logs[:1]))
    services = {service.get("name") for service in case.objects("services")}
    for seen in [*case.of("pattern"), *case.of("log")]:
        found = _UNRESOLVED.search(seen.line.whole_text)
        host = next((name for name in found.groups() if name), "").partition(".")[0] if found else ""
        if host in services:
            yield Finding("service_dns_resolution_failure", seen.get("service"), (seen,), sure=False)


def _logs(case: Case, app: str) -> list[Seen]:
    return [*case.of("pattern", service=app), *case.of("log", service=app)]


_ROUTE = re.compile(r"(?:Path=|path:\s*|location\s+)[\s'\"]*(?P<path>/[\w/*.-]+)", re.IGNORECASE)
_TARGET = re.compile(
    r"(?:uri:\s*|proxy_pass\s+|service:\s*|name:\s*)[\s'\"]*(?:\w+://)?(?P<host>[a-z][\w-]+)", re.IGNORECASE
)
_WORDS = re.compile(r"[^a-z0-9]+")


def _misroutes(case: Case) -> Iterator[Finding]:
    """A gateway's route whose path speaks of one service leads to another."""
    names = {service.get("name"): _WORDS.sub("", service.get("name")) for service in case.objects("services")}
    for config in case.of("config"):
        targets: list[str] = []
        for row in config.line.more:
            target, route = _TARGET.search(row), _ROUTE.search(row)
            if target and target["host"] in names:
                targets.append(target["host"])
            if route is None or not targets:
                continue
            spoken = {
                name for name, bare in names.items() if any(_same(bare, part) for part in route["path"].split("/"))
            }
            if spoken and targets[-1] not in spoken:
                rows = [one for one in case.objects("services") if one.get("name") in {targets[-1], *spoken}]
                yield Finding("gateway_misroute", config.get("app"), (config, *rows[:3]))


def _same(bare: str, part: str) -> bool:
    word = _WORDS.sub("", part.casefold())
    return len(word) > 5 and bare.endswith(word)


def suspects(case: Case) -> list[str]:
    """Return the applications that errors speak of: by name, by the address of their service, and who wrote them."""
    addresses = {service.get("ip"): service.get("name") for service in case.objects("services") if service.get("ip")}
    names = {service.get("name") for service in case.objects("services")}
    found: dict[str, float] = {}
    for seen in [*case.of("pattern"), *case.of("log")]:
        weight = int(seen.line.number("count") or 1)
        told = seen.line.whole_text
        spoken = {name for address, name in addresses.items() if address in told}
        spoken |= {name for name in names if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", told)}
        unknown = _UNRESOLVED.search(told)
        host = next((name for name in unknown.groups() if name), "") if unknown else ""
        if host and host not in names:
            spoken.add(seen.get("service"))
        for name in spoken:
            found[name] = found.get(name, 0.0) + weight
        for name in names - spoken:
            found[name] = found.get(name, 0.0) + (weight * _HINT if _hinted(name, told) else 0.0)
    return sorted((name for name in found if found[name]), key=lambda name: -found[name])


_HINT = 0.01
"""What a word that only sounds like a service weighs beside its name."""
_STEM = re.compile(r"[a-z]{4,}")


def _hinted(name: str, told: str) -> bool:
    """An error speaks of a service's business: `could not retrieve orders` of orders-service."""
    stems = [stem.removesuffix("service") for stem in _STEM.findall(name)]
    return any(len(stem) > 3 and re.search(rf"\b{stem}s?\b", told, re.IGNORECASE) for stem in stems)
