"""The ten diagnostic tools of a Kubernetes cluster; their names are those of the field's benchmark."""

from typing import Any

from tools.base import EvidenceTool, IncidentContext
from tools.cluster import asking
from tools.cluster.describing import describe_object
from tools.cluster.evidence import found, line, shown
from tools.cluster.listing import list_objects
from tools.cluster.manifests import show_manifest
from tools.cluster.reports import show_configuration, show_connectivity, show_dependencies, show_node_service
from tools.cluster.state import Absent, ClusterState, Told
from tools.cluster.telemetry import show_alerts, show_error_logs, show_recent_logs
from tools.vocabulary import Evidence, EvidenceKind, Scope

DEFAULT_LINES = 50


def cluster_tools(state: ClusterState) -> tuple[EvidenceTool, ...]:
    """Return the ten tools over a cluster."""
    kinds: tuple[type[_ClusterTool], ...] = (
        GetResources,
        DescribeResource,
        GetAppYAML,
        GetServiceDependencies,
        CheckServiceConnectivity,
        GetAlerts,
        GetRecentLogs,
        GetErrorLogs,
        GetClusterConfiguration,
        CheckNodeServiceStatus,
    )
    return tuple(kind(state) for kind in kinds)


class _ClusterTool(EvidenceTool):
    kind = EvidenceKind.RESOURCES

    def __init__(self, state: ClusterState) -> None:
        self._state = state


def _absent(answer: Absent, namespace: str | None) -> Evidence:
    values = {"kind": answer.kind, "namespace": namespace, "name": answer.name, "near": ",".join(answer.near)}
    place = f" in {namespace}" if namespace else ""
    return found([line("absent", values)], f"there is no {answer.kind} {answer.name}{place}", [answer.name])


class GetResources(_ClusterTool):
    """Lists objects, as `kubectl get` does. MEASURED, DIRECT.

    | argument | in the scope | normalized |
    |---|---|---|
    | resource_type | yes | aliases (`po`, `deploy`, …) to the plural |
    | namespace | yes, unless the kind lies in none | folded; null is the default namespace |
    | name | yes, unless null | `pod/x` is `x`; a workload's name stands for the one pod or ReplicaSet of it |
    | label_selector | yes, unless null | equalities, sorted |
    | show_labels, output_wide | no | display options |

    An object that is asked for by name and isn't there is evidence (`absent`), an empty list is NO_EVIDENCE.
    """

    name = "GetResources"
    description = "列出 Kubernetes 资源及其状态（相当于 kubectl get）。"
    arguments = asking.ResourcesArguments

    def normalize(self, arguments: asking.ResourcesArguments, incident: IncidentContext) -> Scope:
        scope = asking.objects_scope(self._state, arguments.resource_type, arguments.namespace, arguments.name)
        selector = asking.selector_scope(arguments.label_selector)
        return {**scope, "label_selector": selector} if selector else scope

    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        kind, namespace = scope["resource_type"], scope.get("namespace")
        name, selector = scope.get("name"), scope.get("label_selector")
        answer = await self._state.table(kind, namespace, name, selector)
        if isinstance(answer, Absent):
            return _absent(answer, namespace)
        asked = f" {name}" if name else f" with {selector}" if selector else ""
        return shown(answer, lambda table: list_objects(kind, namespace, table, asked=asked))

    def suggest(self, incident: IncidentContext) -> Scope | None:
        return {"resource_type": "pods", "namespace": self._state.namespace}

    def paste(self, scope: Scope) -> str:
        words = ["kubectl get", scope["resource_type"], scope.get("name", ""), _place(scope)]
        words.append(f"-l {scope['label_selector']}" if scope.get("label_selector") else "")
        return " ".join(word for word in (*words, "-o wide --show-labels") if word)


def _place(scope: Scope) -> str:
    return f"-n {scope['namespace']}" if scope.get("namespace") else ""


class DescribeResource(_ClusterTool):
    """Describes one object with its events, as `kubectl describe` does. MEASURED, DIRECT.

    | argument | in the scope | normalized |
    |---|---|---|
    | resource_type, namespace, name | yes | as in GetResources |
    """

    name = "DescribeResource"
    description = "查看单个资源的详细状态、条件与事件（相当于 kubectl describe）。"
    arguments = asking.DescribeArguments

    def normalize(self, arguments: asking.DescribeArguments, incident: IncidentContext) -> Scope:
        if not arguments.name.strip():
            raise ValueError("name")
        return asking.objects_scope(self._state, arguments.resource_type, arguments.namespace, arguments.name)

    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        kind, namespace, name = scope["resource_type"], scope.get("namespace"), scope["name"]
        answer = await self._state.description(kind, namespace, name)
        if isinstance(answer, Absent):
            return _absent(answer, namespace)
        own = (answer.name if isinstance(answer, Told) else None) or name
        return shown(answer, lambda text: describe_object(kind, namespace, own, str(text)))

    def paste(self, scope: Scope) -> str:
        return " ".join(
            word for word in ("kubectl describe", scope["resource_type"], scope["name"], _place(scope)) if word
        )


class GetAppYAML(_ClusterTool):
    """Shows what was applied for an application. MEASURED, DIRECT.

    | argument | in the scope | normalized |
    |---|---|---|
    | app_name | yes | folded; a pod's name stands for its application |
    """

    name = "GetAppYAML"
    description = "查看应用的部署配置（工作负载、探针、环境变量、服务、存储声明）。"
    arguments = asking.AppArguments

    def normalize(self, arguments: asking.AppArguments, incident: IncidentContext) -> Scope:
        return {"app_name": asking.app_scope(self._state, arguments.app_name)}

    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        answer = await self._state.manifest(scope["app_name"])
        namespace = (answer.namespace if isinstance(answer, Told) else None) or self._state.namespace
        return shown(answer, lambda text: show_manifest(scope["app_name"], str(text), namespace))

    def paste(self, scope: Scope) -> str:
        return f"kubectl get deploy,svc,pvc -n {self._state.namespace} -l app={scope['app_name']} -o yaml"


class GetServiceDependencies(_ClusterTool):
    """Shows who calls a service and whom it calls. MEASURED, DIRECT.

    | argument | in the scope | normalized |
    |---|---|---|
    | service_name | yes | DNS and pod names to the service |
    """

    name = "GetServiceDependencies"
    description = "查看服务的上下游调用关系。"
    arguments = asking.ServiceArguments

    def normalize(self, arguments: asking.ServiceArguments, incident: IncidentContext) -> Scope:
        scope = asking.service_scope(self._state, arguments.service_name, None)
        return {"service_name": scope["service_name"]}

    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        answer = await self._state.dependencies(scope["service_name"])
        return shown(answer, lambda text: show_dependencies(scope["service_name"], str(text)))


class CheckServiceConnectivity(_ClusterTool):
    """Probes a service's port from inside the cluster. MEASURED, DIRECT.

    | argument | in the scope | normalized |
    |---|---|---|
    | service_name, namespace | yes | DNS names taken apart; null is the default namespace |
    | port | yes | as it is |
    """

    name = "CheckServiceConnectivity"
    description = "在集群内测试服务端口的 TCP 连通性。"
    arguments = asking.ConnectivityArguments

    def normalize(self, arguments: asking.ConnectivityArguments, incident: IncidentContext) -> Scope:
        scope = asking.service_scope(self._state, arguments.service_name, arguments.namespace)
        return {**scope, "port": arguments.port}

    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        namespace, service, port = scope["namespace"], scope["service_name"], scope["port"]
        answer = await self._state.connectivity(namespace, service, port)
        return shown(answer, lambda told: show_connectivity(namespace, service, port, told))

    def paste(self, scope: Scope) -> str:
        return f"nc -vz {scope['service_name']}.{scope['namespace']} {scope['port']}"


class GetAlerts(_ClusterTool):
    """Shows the open alerts of the cluster. MEASURED, DIRECT. It has no argument, so there is one question only."""

    name = "GetAlerts"
    description = "查看集群当前的指标异常告警。"
    kind = EvidenceKind.ALERTS
    arguments = asking.NoArguments

    def normalize(self, arguments: Any, incident: IncidentContext) -> Scope:
        return {}

    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        return shown(await self._state.alerts(), show_alerts)

    def suggest(self, incident: IncidentContext) -> Scope | None:
        return {}


class GetRecentLogs(_ClusterTool):
    """Shows the newest log lines of a service. TEXT, DIRECT.

    | argument | in the scope | normalized |
    |---|---|---|
    | service_name, namespace | yes | as in CheckServiceConnectivity |
    | lines | no | a display option |
    """

    name = "GetRecentLogs"
    description = "查看服务最近的日志。"
    kind = EvidenceKind.LOGS
    arguments = asking.RecentLogsArguments

    def normalize(self, arguments: asking.RecentLogsArguments, incident: IncidentContext) -> Scope:
        return asking.service_scope(self._state, arguments.service_name, arguments.namespace)

    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        answer = await self._state.recent_logs(scope["namespace"], scope["service_name"])
        limit = arguments.lines or DEFAULT_LINES
        return shown(answer, lambda rows: show_recent_logs(scope["namespace"], scope["service_name"], rows, limit))

    def paste(self, scope: Scope) -> str:
        return f"kubectl logs -n {scope['namespace']} deploy/{scope['service_name']} --tail={DEFAULT_LINES}"


class GetErrorLogs(_ClusterTool):
    """Shows the patterns of a service's error lines. TEXT, DIRECT.

    | argument | in the scope | normalized |
    |---|---|---|
    | service_name, namespace | yes | as in CheckServiceConnectivity |
    """

    name = "GetErrorLogs"
    description = "查看服务错误日志的聚合模式与样例。"
    kind = EvidenceKind.LOGS
    arguments = asking.ErrorLogsArguments

    def normalize(self, arguments: asking.ErrorLogsArguments, incident: IncidentContext) -> Scope:
        return asking.service_scope(self._state, arguments.service_name, arguments.namespace)

    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        answer = await self._state.error_logs(scope["namespace"], scope["service_name"])
        return shown(answer, lambda told: show_error_logs(scope["namespace"], scope["service_name"], told))

    def paste(self, scope: Scope) -> str:
        return f"kubectl logs -n {scope['namespace']} deploy/{scope['service_name']} | grep -iE 'error|fail'"


class GetClusterConfiguration(_ClusterTool):
    """Shows all nodes with status, taints, labels and resources. MEASURED, DIRECT. It has no argument."""

    name = "GetClusterConfiguration"
    description = "查看集群所有节点的状态、污点、标签与可分配资源。"
    arguments = asking.NoArguments

    def normalize(self, arguments: Any, incident: IncidentContext) -> Scope:
        return {}

    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        return shown(await self._state.configuration(), show_configuration)

    def paste(self, scope: Scope) -> str:
        return "kubectl describe nodes"


class CheckNodeServiceStatus(_ClusterTool):
    """Shows whether a component runs on a node. MEASURED, DIRECT.

    | argument | in the scope | normalized |
    |---|---|---|
    | node_name | yes | folded |
    | service_name | yes | folded; `kubelet.service`, `scheduler` and the like to the component's name |
    """

    name = "CheckNodeServiceStatus"
    description = "查看节点上系统组件（kubelet、containerd、kube-proxy、kube-scheduler）的运行状态。"
    arguments = asking.NodeServiceArguments

    def normalize(self, arguments: asking.NodeServiceArguments, incident: IncidentContext) -> Scope:
        node = arguments.node_name.strip().casefold().rpartition("/")[2]
        return {"node_name": node, "service_name": asking.component_scope(arguments.service_name)}

    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        answer = await self._state.node_service(scope["node_name"], scope["service_name"])
        return shown(answer, lambda told: show_node_service(scope["node_name"], scope["service_name"], told))

    def paste(self, scope: Scope) -> str:
        return f"ssh {scope['node_name']} systemctl status {scope['service_name']}"
