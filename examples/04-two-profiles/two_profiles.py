"""A scheduler of one's own: two profiles of one configuration, one of them with a plugin from this file."""

from pathlib import Path

from attrs import define, field, frozen

from schedframe import (
    InMemoryCluster,
    NodeInfo,
    Pod,
    Scheduler,
    Status,
    VirtualClock,
    hookimpl,
    parse_quantity,
)


@frozen
class KeepHeadroomArgs:
    """The CPU of a node that is not for the pods of this profile."""

    cpu: str = "1"


@define(eq=False)
class KeepHeadroom:
    """Rejects nodes on which less than the headroom would be left."""

    args: KeepHeadroomArgs
    _headroom: int = field(init=False)

    @_headroom.default
    def _milli_cpu(self) -> int:
        return parse_quantity(self.args.cpu).milli_value()

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        free = node_info.allocatable.get("cpu", 0) - node_info.requested.get("cpu", 0)
        if free - pod.requests.get("cpu", 0) >= self._headroom:
            return None
        return Status.unschedulable("no headroom would be left")


def node(name: str) -> dict[str, object]:
    room = {"cpu": "4", "memory": "16Gi", "pods": "20"}
    return {"kind": "Node", "metadata": {"name": name}, "status": {"allocatable": room}}


def pod(name: str, profile: str, cpu: str) -> dict[str, object]:
    container = {"name": "main", "resources": {"requests": {"cpu": cpu}}}
    spec = {"schedulerName": profile, "containers": [container]}
    return {"kind": "Pod", "metadata": {"name": name}, "spec": spec}


def main() -> None:
    clock = VirtualClock()
    cluster = InMemoryCluster([node("a"), node("b"), node("c")], clock=clock)
    config = Path(__file__).with_name("config.yaml")
    scheduler = Scheduler(cluster, config, plugins={"KeepHeadroom": KeepHeadroom}, clock=clock, seed=1)

    for i in range(6):
        cluster.create(pod(f"batch-{i}", "batch", "1"))
        cluster.create(pod(f"web-{i}", "serving", "500m"))
        scheduler.run_until_idle()

    for each in sorted(cluster.list("Pod"), key=lambda pod: str(pod.name)):
        print(f"{each.name:8} {each.spec.scheduler_name:8} {each.spec.node_name or '-'}")
    for waiting in scheduler.pending().to_dict().get("unschedulable", []):
        print(f"{waiting['pod']}: {waiting['message']}")


if __name__ == "__main__":
    main()
