"""A scheduler with one plugin of its own: on the cluster of a kubeconfig, or in memory to try it."""

import argparse
import logging

from attrs import define

from schedframe import InMemoryCluster, NodeInfo, Pod, Scheduler, Status, hookimpl
from schedframe.cluster.kubernetes import KubernetesCluster

NAME = "python-scheduler"


ELSEWHERE = Status.unschedulable("node(s) of another team")


@define(eq=False)
class SameTeam:
    """Reject nodes of another team than that of the pod."""

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        """Reject the node if its label ``team`` is not the pod's."""
        team = pod.labels.get("team")
        return None if team == node_info.node.labels.get("team") else ELSEWHERE


CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"schedulerName": NAME}],
}


def try_in_memory() -> None:
    """Place two pods on two nodes of two teams."""
    room = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    cluster = InMemoryCluster()
    for team in ("red", "blue"):
        labels = {"team": team}
        cluster.create(
            {
                "kind": "Node",
                "metadata": {"name": f"{team}-node", "labels": labels},
                "status": {"allocatable": room},
            }
        )
        spec = {"schedulerName": NAME, "containers": [{"name": "c", "image": "pause"}]}
        cluster.create({"kind": "Pod", "metadata": {"name": team, "labels": labels}, "spec": spec})
    with Scheduler(cluster, CONFIG, plugins=[SameTeam]) as scheduler:
        scheduler.run_until_idle()
    for pod in cluster.list("Pod"):
        print(f"{pod.name} -> {pod.node_name}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kubeconfig", help="run on this cluster until Ctrl-C")
    kubeconfig = parser.parse_args().kubeconfig
    if kubeconfig is None:
        try_in_memory()
    else:
        logging.basicConfig(level=logging.INFO)
        with (
            KubernetesCluster.from_kubeconfig(kubeconfig) as cluster,
            Scheduler(cluster, CONFIG, plugins=[SameTeam]) as scheduler,
        ):
            scheduler.run()
