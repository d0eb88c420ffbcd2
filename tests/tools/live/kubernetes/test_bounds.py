"""What wasn't read of a cluster is said: nothing that stands behind a bound or a denial is told as not there."""

from tests.support.clusters import Cluster
from tests.tools.live.kubernetes.asking import asking
from tests.tools.live.kubernetes.states import pod_of, store_of, template_of
from tools.live.kubernetes.logs import MAX_PODS


async def test_configuration_that_cannot_be_read_leaves_who_calls_whom_open() -> None:
    cluster = Cluster()
    cluster.apps["web"].manifest["config"] = "metadata: {name: addresses}\ndata: {UPSTREAM: 'http://orders:5050'}"
    async with asking(store_of(cluster, denied={("configmaps", "shop")})) as asked:
        found = await asked("GetServiceDependencies", service_name="web")
    assert "SOURCE_FAILED:configmaps" in found.notes
    assert found.truncated


async def test_pods_whose_logs_were_not_read_leave_an_absence_open() -> None:
    cluster = Cluster()
    app = cluster.apps["web"]
    store = store_of(cluster)
    for number in range(MAX_PODS):
        pod = pod_of(app, template_of(app), "shop")
        pod["metadata"]["name"] = f"web-6d9c7f8b4c-zzzz{number}"
        store.add("pods", pod)
    async with asking(store) as asked:
        found = await asked("GetRecentLogs", service_name="web")
    assert f"PODS_CUT:{MAX_PODS}" in found.notes
    assert found.truncated
