"""What may be asked of a cluster, and how each argument is normalized into a scope."""

import re

from pydantic import Field

from tools.base import Arguments
from tools.canonical import fold
from tools.cluster.frozen import full_name
from tools.cluster.kinds import CLUSTER_SCOPED, canonical_kind
from tools.cluster.state import ClusterState
from tools.vocabulary import Scope

_DNS = re.compile(r"(?P<service>[^.:]+)(?:\.(?P<namespace>[^.:]+)(?:\.svc[\w.-]*)?)?")
_COMPONENTS = {"scheduler": "kube-scheduler", "proxy": "kube-proxy", "kubeproxy": "kube-proxy"}


class ResourcesArguments(Arguments):
    """Which objects; null leaves a field open. `show_labels` and `output_wide` are display options."""

    resource_type: str = Field(description="资源类型，如 pods、deployments、services、endpoints、nodes、events")
    namespace: str | None = Field(description="命名空间；默认命名空间填 null")
    name: str | None = Field(description="对象名；列出全部时填 null")
    label_selector: str | None = Field(description="标签选择器，如 app=frontend；不限填 null")
    show_labels: bool | None = Field(description="是否显示标签，仅影响展示")
    output_wide: bool | None = Field(description="是否显示节点与 IP 等列，仅影响展示")


class DescribeArguments(Arguments):
    """Which object."""

    resource_type: str = Field(description="资源类型，如 pods、services、nodes、persistentvolumeclaims")
    name: str = Field(description="对象名，或唯一对应的应用名")
    namespace: str | None = Field(description="命名空间；默认命名空间填 null")


class AppArguments(Arguments):
    """Which application."""

    app_name: str = Field(description="应用名")


class ServiceArguments(Arguments):
    """Which service."""

    service_name: str = Field(description="服务名")


class ConnectivityArguments(Arguments):
    """Which port of which service."""

    service_name: str = Field(description="服务名")
    port: int = Field(ge=1, le=65535, description="服务端口")
    namespace: str | None = Field(description="命名空间；默认命名空间填 null")


class ErrorLogsArguments(Arguments):
    """Whose logs."""

    service_name: str = Field(description="服务名")
    namespace: str | None = Field(description="命名空间；默认命名空间填 null")


class RecentLogsArguments(ErrorLogsArguments):
    """Whose logs; `lines` is a display option."""

    lines: int | None = Field(ge=1, le=500, description="行数，仅影响展示；默认填 null")


class NodeServiceArguments(Arguments):
    """Which component on which node."""

    node_name: str = Field(description="节点名")
    service_name: str = Field(description="节点组件：kubelet、containerd、kube-proxy、kube-scheduler")


class NoArguments(Arguments):
    """Nothing to choose."""


def objects_scope(state: ClusterState, kind: str, namespace: str | None, name: str | None) -> dict[str, str]:
    """Return kind, namespace and name in canonical form, what isn't asked left out.

    `po/cart-1` names kind and object in one; a workload's name stands for the one pod that was generated for it.
    """
    spoken, slash, rest = (name or "").strip().partition("/")
    bare = rest if slash and canonical_kind(spoken) == canonical_kind(kind) else (name or "").strip()
    kind = canonical_kind(kind)
    scope = {"resource_type": kind}
    place = None if kind in CLUSTER_SCOPED else namespace_scope(state, namespace)
    if place:
        scope["namespace"] = place
    if bare:
        scope["name"] = full_name(state, kind, place, bare.casefold())
    return scope


def namespace_scope(state: ClusterState, namespace: str | None) -> str:
    """Return the namespace, the default one where none is named."""
    return fold(namespace or "") or state.namespace


def selector_scope(selector: str | None) -> str | None:
    """Return a label selector of equalities in canonical form: sorted, without blanks, `=` for `==`; None where blank.

    Raises ValueError where it is something else: set-based selectors have no canonical form here.
    """
    terms = [term for term in re.split(r"\s*,\s*", (selector or "").strip()) if term]
    pairs = [re.fullmatch(r"([\w./-]+)\s*==?\s*([\w.-]+)", term) for term in terms]
    if not all(pairs):
        raise ValueError("label_selector")
    return ",".join(sorted(f"{pair[1]}={pair[2]}" for pair in pairs if pair)) or None


def service_scope(state: ClusterState, service: str, namespace: str | None) -> Scope:
    """Return service and namespace; a DNS name is taken apart, a pod's name stands for its workload."""
    name = _DNS.fullmatch(service.strip().casefold())
    named = name["namespace"] if name else None
    bare = name["service"] if name else fold(service)
    return {"service_name": app_scope(state, bare), "namespace": namespace_scope(state, namespace or named)}


def app_scope(state: ClusterState, app: str) -> str:
    """Return an application's name; `deploy/cart` and the name of one of its pods stand for `cart`."""
    return state.app_named(app.strip().casefold().rpartition("/")[2])


def component_scope(component: str) -> str:
    """Return the name of a node's component: the unit's ending goes, short names are spelled out."""
    bare = fold(component).removesuffix(".service")
    return _COMPONENTS.get(bare, bare)
