"""Pods, nodes, plugins and whole schedulers for the tests of the cycle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, evolve, field

from schedframe import (
    Decision,
    InMemoryCluster,
    Node,
    ObjectMeta,
    Pod,
    PodSpec,
    Scheduler,
    Status,
    Taint,
    VirtualClock,
    hookimpl,
)
from schedframe.api import (
    Container,
    ContainerImage,
    ContainerPort,
    NodeSpec,
    NodeStatus,
    PodStatus,
    Quantity,
    ResourceRequirements,
    parse_quantity,
)
from schedframe.cycle import Executor, observing
from tests.configurations import configuration

PROFILE = "default-scheduler"


def amounts(**values: str | int) -> dict[str, Quantity]:
    """Resource amounts; underscores of names become dashes."""
    return {name.replace("_", "-"): parse_quantity(value) for name, value in values.items()}


def make_pod(
    name: str = "p",
    *,
    cpu: str | int = 0,
    uid: str = "",
    priority: int | None = None,
    labels: Mapping[str, str] | None = None,
    node_name: str = "",
    nominated: str = "",
    scheduler: str = PROFILE,
    gates: tuple[str, ...] = (),
    host_port: int = 0,
    image: str = "",
    finalizers: tuple[str, ...] = (),
    namespace: str = "default",
    generation: int = 0,
    **spec: Any,
) -> Pod:
    """A pod of one container; *spec* are further fields of its spec."""
    container = Container(
        name="c",
        image=image,
        resources=ResourceRequirements(requests=amounts(cpu=cpu) if cpu else {}),
        ports=(ContainerPort(container_port=host_port, host_port=host_port),) if host_port else (),
    )
    return Pod(
        ObjectMeta(
            name=name,
            namespace=namespace,
            uid=uid,
            labels=dict(labels or {}),
            finalizers=finalizers,
            generation=generation,
        ),
        PodSpec(
            containers=(container,),
            node_name=node_name,
            priority=priority,
            scheduler_name=scheduler,
            scheduling_gates=gates,
            **spec,
        ),
        PodStatus(nominated_node_name=nominated),
    )


def make_node(
    name: str = "n",
    *,
    cpu: str | int = 4,
    pods: int = 110,
    labels: Mapping[str, str] | None = None,
    taints: tuple[Taint, ...] = (),
    unschedulable: bool = False,
    images: Mapping[str, int] | None = None,
    uid: str = "",
    **others: str | int,
) -> Node:
    """A node with its name as hostname label; *others* are further allocatable resources."""
    allocatable = amounts(cpu=cpu, memory="64Gi", pods=pods, **others)
    return Node(
        ObjectMeta(name=name, uid=uid, labels={"kubernetes.io/hostname": name, **(labels or {})}),
        NodeSpec(taints=taints, unschedulable=unschedulable),
        NodeStatus(
            allocatable=allocatable,
            capacity=allocatable,
            images=tuple(ContainerImage((image,), size) for image, size in (images or {}).items()),
        ),
    )


def plugin_class(class_name: str = "Fake", /, **attributes: Any) -> type[Any]:
    """A plugin class: functions become its hooks (first argument: self), anything else attributes."""
    body: dict[str, Any] = {"__module__": __name__}
    for name, value in attributes.items():
        is_hook = callable(value) and not isinstance(value, type) and not name.startswith("_")
        body[name] = hookimpl(value) if is_hook else value
    return type(class_name, (), body)


def config_with(*names: str, only: Mapping[str, list[str]] | None = None, **fields: Any) -> dict[str, Any]:
    """A configuration of one profile with out-of-tree plugins at every point that they implement.

    *only*: extension point → the plugins that run there, in this order, and no others.
    """
    plugins: dict[str, Any] = {"multiPoint": {"enabled": [{"name": name} for name in names]}}
    for point, chosen in (only or {}).items():
        plugins[point] = {
            "disabled": [{"name": "*"}],
            "enabled": [{"name": name} for name in chosen],
        }
    return configuration({"schedulerName": PROFILE, "plugins": plugins}, **fields)


Fault = tuple[Status, Pod | None]


@define(eq=False)
class World:
    """A cluster, a clock that stands still, and a scheduler that keeps its faults."""

    plugins: Mapping[str, Any] = field(factory=dict)
    """Out-of-tree plugins by name: classes."""
    executor: Executor | None = None
    only: Mapping[str, list[str]] = field(factory=dict)
    """See :func:`config_with`."""
    config: Any = None
    options: Mapping[str, Any] = field(factory=dict)
    around: Callable[[InMemoryCluster], Any] = lambda cluster: cluster
    clock: VirtualClock = field(factory=VirtualClock)
    faults: list[Fault] = field(factory=list, init=False)
    cluster: InMemoryCluster = field(init=False)
    scheduler: Scheduler = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.cluster = InMemoryCluster(clock=self.clock)
        config = self.config
        if config is None and (self.plugins or self.only):
            config = config_with(*self.plugins, only=self.only)
        notes = observing(faulted=lambda status, pod: self.faults.append((status, pod)))
        self.scheduler = Scheduler(
            self.around(self.cluster),
            config,
            plugins=self.plugins,
            clock=self.clock,
            executor=self.executor,
            **{"seed": 1, **self.options, "observers": [notes, *self.options.get("observers", ())]},
        )

    def plugin(self, name: str) -> Any:
        """The plugin of that name."""
        return self.scheduler.core.frameworks[PROFILE].plugin(name)

    # ---- the cluster ----

    def create(self, *objects: Any) -> None:
        """Create objects."""
        for obj in objects:
            self.cluster.create(obj)

    def find(self, kind: str, key: str) -> Any | None:
        """An object as the cluster has it; unlike ``get`` this never fails on order."""
        return next((obj for obj in self.cluster.list(kind) if obj.key == key), None)

    def pod(self, name: str = "p") -> Pod:
        """The pod of that name in ``default`` as the cluster has it."""
        found = self.find("Pod", f"default/{name}")
        assert isinstance(found, Pod), f"there is no pod {name}"
        return found

    def node_of(self, name: str = "p") -> str:
        """Where the cluster says that the pod runs; empty if nowhere."""
        return self.pod(name).spec.node_name

    def change_pod(self, name: str, *, status: Mapping[str, Any] | None = None, **metadata: Any) -> Pod:
        """Update fields of the metadata and of the status of a pod."""
        pod = self.pod(name)
        changed = evolve(
            pod, metadata=evolve(pod.metadata, **metadata), status=evolve(pod.status, **(status or {}))
        )
        found: Pod = self.cluster.update(changed)
        return found

    def delete(self, name: str) -> None:
        """Delete a pod of ``default``."""
        self.cluster.delete(self.pod(name))

    # ---- the scheduler ----

    def settle(self) -> int:
        """Run until idle, and check that everything is consistent; the number of cycles."""
        cycles = self.scheduler.run_until_idle()
        self.check()
        return cycles

    def cycle(self) -> Decision | None:
        """One scheduling cycle, and the check."""
        decision = self.scheduler.schedule_one()
        self.check()
        return decision

    def sync(self) -> None:
        """Take in what happened, and check."""
        self.scheduler.sync()
        self.check()

    def pass_time(self, seconds: float) -> int:
        """Let time pass and run until idle; the number of cycles."""
        self.clock.advance(seconds)
        return self.settle()

    def check(self) -> None:
        """Every structure is consistent by itself."""
        core = self.scheduler.core
        core.queue.check_invariants()
        core.cache.check_invariants()
        core.waiting.check_invariants()
        core.paused.check_invariants()

    def where(self, name: str = "p") -> str:
        """Where the scheduler has the pod: a pool of the queue, ``waiting``, ``parked``, ``binding``,
        ``assumed``, ``placed``, or nothing."""
        core, key = self.scheduler.core, f"default/{name}"
        uid = core.pending[key].uid if key in core.pending else self.pod(name).uid
        info = core.queue.get(key)
        if info is not None:
            assert info.pool is not None
            return str(info.pool.value)
        if core.waiting.get(uid) is not None:
            return "waiting"
        if core.paused.get(uid) is not None:
            return "parked"
        if uid in core.binding:
            return "binding"
        if core.cache.is_assumed(uid):
            return "assumed"
        return "placed" if core.cache.get_pod(uid) is not None else ""

    def condition(self, name: str = "p") -> tuple[str, str] | None:
        """Reason and message of the pod's PodScheduled condition."""
        condition = self.pod(name).status.condition("PodScheduled")
        return None if condition is None else (condition.reason, condition.message)

    def fault_plugins(self) -> list[str]:
        """The plugins that faults were reported of, in order."""
        return [status.plugin for status, _ in self.faults]
