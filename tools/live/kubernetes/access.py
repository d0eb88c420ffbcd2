"""How the official client is let in: from a kubeconfig, from inside the cluster, or by address and token.

What runs a command on this machine, or leaves a connection unverified, is refused: a diagnosis asks, it runs nothing.
The client is given what was checked here, never the file, so that nothing can change in between.
"""

import logging
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import yaml
from kubernetes.aio import config as kubernetes_config
from kubernetes.aio.client import Configuration

from tools.base import SourceFailure
from tools.live.kubernetes.addresses import require_encryption
from tools.live.source import secret_of
from tools.vocabulary import SourceError

if TYPE_CHECKING:
    from tools.live.kubernetes.settings import KubernetesSettings

USUAL_KUBECONFIG = "~/.kube/config"
_OWN_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_RUNS_COMMANDS = ("exec", "auth-provider")
_CLUSTER_KEYS = ("server", "certificate-authority", "certificate-authority-data", "tls-server-name", "proxy-url")
_USER_KEYS = ("token", "username", "password", "client-certificate", "client-certificate-data", "client-key")
_FILES = frozenset(("certificate-authority", "client-certificate", "client-key", "tokenFile"))

Entry: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Access:
    """How to reach the API server, and the namespaces that may be asked about, the default one first.

    `configure` returns the official client's configuration; it raises SourceFailure(ACCESS_DENIED) where a file of a
    credential can't be read.
    """

    namespaces: tuple[str, ...]
    configure: Callable[[], Awaitable[Configuration]]


def access_of(settings: "KubernetesSettings") -> Access:
    """Return how to reach the cluster (blocking: reads a kubeconfig, or the pod's own namespace).

    Raises ValueError, one clear line, where settings and kubeconfig leave no safe way, or name no namespace.
    """
    if settings.url is not None:
        return Access(settings.namespaces, lambda: _by_address(settings))
    if settings.in_cluster:
        return Access(settings.namespaces or (_own_namespace(),), _in_cluster)
    return _by_kubeconfig(settings)


def _plain() -> Configuration:
    """Return a configuration without retries of its own, and with the log levels that it sets put back."""
    loggers = [logging.getLogger(name) for name in ("client", "kubernetes.aio.client.rest", "urllib3")]
    levels = [logger.level for logger in loggers]
    configuration = Configuration()
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)
    configuration.retries = None
    # Clusters' own authorities often lack what RFC 5280 wants of them; chain and host are verified all the same.
    configuration.disable_strict_ssl_verification = True
    return configuration


def _renewing(configuration: Configuration, token: Callable[[], str | None]) -> Configuration:
    """Read the token for each request: who holds a file of one renews it there."""

    def refresh(renewed: Any) -> None:
        renewed.api_key["BearerToken"] = f"Bearer {token()}"

    # The client asks the hook only where it holds a token already.
    configuration.api_key["BearerToken"] = ""
    hooked: Any = configuration
    hooked.refresh_api_key_hook = refresh
    return configuration


async def _by_address(settings: "KubernetesSettings") -> Configuration:
    configuration = _plain()
    configuration.host = settings.url or ""
    configuration.ssl_ca_cert = str(settings.ca_file) if settings.ca_file else None
    if settings.token or settings.token_file:
        return _renewing(configuration, lambda: secret_of(settings.token, settings.token_file))
    return configuration


def _own_namespace() -> str:
    try:
        return _OWN_NAMESPACE.read_text("utf-8").strip()
    except OSError:
        pass
    raise ValueError("in-cluster is set, but this process runs in no pod with a service account")


async def _in_cluster() -> Configuration:
    configuration = _plain()
    load: Callable[..., None] = kubernetes_config.load_incluster_config
    return await _loaded(configuration, load, client_configuration=configuration)


async def _loaded(configuration: Configuration, load: Callable[..., Any], **given: Any) -> Configuration:
    """Let the official client fill a configuration; what it can't read is a way in that isn't there."""
    try:
        waiting = load(**given)
        if waiting is not None:
            await waiting
    except (kubernetes_config.ConfigException, OSError, ValueError, TypeError):
        pass
    else:
        return configuration
    raise SourceFailure(SourceError.ACCESS_DENIED)


def _by_kubeconfig(settings: "KubernetesSettings") -> Access:
    files = str(settings.kubeconfig or os.environ.get("KUBECONFIG") or USUAL_KUBECONFIG)
    context, cluster, user = _parts(files, settings.context)
    _check(cluster, user)
    own = context.get("namespace")
    namespaces = settings.namespaces or ((str(own),) if own else ())
    if not namespaces:
        raise ValueError("namespaces is needed: the kubeconfig's context names none")

    async def configure() -> Configuration:
        configuration = _plain()
        load: Callable[..., Awaitable[None]] = kubernetes_config.load_kube_config_from_dict
        checked = _checked(cluster, user)
        await _loaded(configuration, load, config_dict=checked, client_configuration=configuration)
        if user.get("tokenFile") and not user.get("token"):
            return _renewing(configuration, lambda: secret_of(None, Path(user["tokenFile"])))
        return configuration

    return Access(namespaces, configure)


def _checked(cluster: Entry, user: Entry) -> Entry:
    """Return a kubeconfig of what is taken from the user's own: one context, and no key that isn't known to be safe."""
    kept = {key: user[key] for key in (*_USER_KEYS, "client-key-data") if key in user}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "asked",
        "contexts": [{"name": "asked", "context": {"cluster": "asked", "user": "asked"}}],
        "clusters": [{"name": "asked", "cluster": {key: cluster[key] for key in _CLUSTER_KEYS if key in cluster}}],
        "users": [{"name": "asked", "user": kept}],
    }


def _check(cluster: Entry, user: Entry) -> None:
    """Raise ValueError where a kubeconfig would run a command or connect unverified."""
    if any(user.get(key) for key in _RUNS_COMMANDS):
        raise ValueError("the kubeconfig's user runs a command (exec, auth-provider); set url and token-file instead")
    if cluster.get("insecure-skip-tls-verify"):
        raise ValueError("the kubeconfig sets insecure-skip-tls-verify; give it a certificate-authority instead")
    require_encryption(str(cluster.get("server") or ""))


def _parts(files: str, context: str | None) -> tuple[Entry, Entry, Entry]:
    """Return the context, its cluster and its user; the first of a name where several files have one."""
    documents = list(_documents(files))
    if not documents:
        raise ValueError("there is no kubeconfig; set kubeconfig, in-cluster, or url with token-file and ca-file")
    current = next((one["current-context"] for one in documents if one.get("current-context")), None)
    chosen = _named(documents, "context", context or current)
    if not chosen:
        raise ValueError("the kubeconfig has no such context")
    cluster = _named(documents, "cluster", chosen.get("cluster"))
    if not cluster:
        raise ValueError("the kubeconfig's context names no cluster that it has")
    return chosen, cluster, _named(documents, "user", chosen.get("user"))


def _documents(files: str) -> Iterator[Entry]:
    """Yield the kubeconfigs of a list of paths, the file names in them absolute; those that aren't there are none."""
    for name in filter(None, files.split(os.pathsep)):
        path = Path(name).expanduser()
        if not path.exists():
            continue
        try:
            document = yaml.safe_load(path.read_text("utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError):
            document = None
        if not isinstance(document, dict):
            raise ValueError("the kubeconfig is no readable YAML mapping")
        yield {**document, "directory": path.absolute().parent}


def _named(documents: list[Entry], sort: str, name: object) -> Entry:
    for document in documents:
        for entry in document.get(f"{sort}s") or ():
            if isinstance(entry, Mapping) and entry.get("name") == name and isinstance(entry.get(sort), Mapping):
                return {key: _whole(key, value, document["directory"]) for key, value in entry[sort].items()}
    return {}


def _whole(key: str, value: Any, directory: Path) -> Any:
    return str(directory / str(value)) if key in _FILES and value else value
