"""Scripts against :class:`schedframe.queue.PriorityQueue` (``Scheduling queue`` in data/README.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from attrs import define, field

from plugins_builtin.catalogue import CATALOGUE
from schedframe import Action, ClusterEvent, EventRegistration
from schedframe.api import Pod, from_manifest
from schedframe.queue import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    NominatingMode,
    Pool,
    PriorityQueue,
    QueueOptions,
    QueueProfile,
    node_update_events,
    pod_update_events,
)
from schedframe.queue.hints import PreEnqueueFn

from .corpus import Case
from .plan import Plan, waiting_for
from .queue_fakes import FAKE_EVENTS, FAKE_GATES

T0 = 1_700_000_000
PROFILE = "default-scheduler"
Registrations = Mapping[str, tuple[EventRegistration, ...]]


def compare(case: Case, hints: Registrations | None = None) -> list[str]:
    """The differences between the recorded states and ours, up to the first operation that has any.

    *hints*: what the default plugins register, by name; those of the installed plugins unless given.
    """
    run = _Run.of(case["options"], default_registrations() if hints is None else hints)
    for number, (op, expected) in enumerate(zip(case["ops"], case["expected"], strict=True)):
        answer = run.do(op)
        found = _differences({**run.state(), **answer}, expected)
        if found:
            return [f"op {number} ({op['op']}): {line}" for line in found]
    return []


def plan(case: Case, undelivered: frozenset[str]) -> Plan:
    """A script waits for the plugins whose hints it may ask."""
    rejectors = {
        plugin
        for op in case["ops"]
        for names in ("unschedulable_plugins", "pending_plugins")
        for plugin in op.get(names, ())
    }
    waits_for = undelivered & rejectors
    return waiting_for(waits_for) if waits_for else Plan()


@cache
def default_registrations() -> Registrations:
    """What the default plugins register: the installed ones themselves, the others by the catalogue."""
    from schedframe.cluster import InMemoryCluster
    from schedframe.cycle.scheduler import Scheduler

    installed = Scheduler(InMemoryCluster()).core.frameworks[PROFILE].events()
    registrations = {}
    for entry in CATALOGUE.defaults():
        own = installed.get(entry.name)
        registrations[entry.name] = catalogue_registrations(entry.name) if own is None else own
    return registrations


def catalogue_registrations(plugin: str) -> tuple[EventRegistration, ...]:
    """The events of *plugin* according to the catalogue, without hints."""
    entry = CATALOGUE.get(plugin)
    assert entry is not None
    return tuple(
        EventRegistration(_event(registered.resource, registered.actions)) for registered in entry.events
    )


def _event(resource: str, labels: Any) -> ClusterEvent:
    actions = Action.NONE
    for label in labels:
        actions |= Action.parse(label)
    return ClusterEvent(resource, actions)


@define(eq=False)
class _Clock:
    ms: int

    def __call__(self) -> float:
        return T0 + self.ms / 1000


@define(eq=False)
class _Run:
    """One queue, its clock, and what the API server would say."""

    queue: PriorityQueue
    clock: _Clock
    tick_ms: int
    store: dict[str, Pod]
    popped: dict[str, Any] = field(factory=dict)

    @classmethod
    def of(cls, options: dict[str, Any], hints: Registrations) -> _Run:
        fakes = options["fakes"]
        gates: list[tuple[str, PreEnqueueFn]] = [("SchedulingGates", _scheduling_gates)]
        gates += [(fake, FAKE_GATES[fake]) for fake in fakes if fake in FAKE_GATES]
        events = {**hints, **{fake: FAKE_EVENTS[fake] for fake in fakes}}
        clock = _Clock(options["start_ms"])
        store: dict[str, Pod] = {}
        queue_options = QueueOptions(
            profiles={PROFILE: QueueProfile(gates, events)},
            clock=clock,
            initial_backoff=options["initial_backoff_s"],
            max_backoff=options["max_backoff_s"],
            max_in_unschedulable=options["max_in_unschedulable_s"],
            pod_lister=store.get,
            on_fault=lambda plugin, error, pod: None,
        )
        return cls(PriorityQueue(queue_options), clock, options["tick_ms"], store)

    def do(self, op: dict[str, Any]) -> dict[str, Any]:
        """Run one operation; its answer."""
        self.clock.ms += self.tick_ms
        operation: Callable[[dict[str, Any]], dict[str, Any] | None] = getattr(self, f"_{op['op']}")
        answer = operation(op) or {}
        self.queue.check_invariants()
        return answer

    # ---- pods --------------------------------------------------------------------------------------------

    def _add(self, op: dict[str, Any]) -> None:
        pod = self._keep(op["pod"])
        self.queue.add(pod)

    def _update(self, op: dict[str, Any]) -> dict[str, Any]:
        old, new = _pod(op["old"]), self._keep(op["new"])
        self.queue.update(old, new)
        return {"events": [str(event) for event in pod_update_events(old, new)]}

    def _delete(self, op: dict[str, Any]) -> None:
        self.queue.delete(self.store.pop(op["key"]))

    def _keep(self, manifest: dict[str, Any]) -> Pod:
        pod: Pod = _pod(manifest)
        self.store[pod.key] = pod
        return pod

    # ---- attempts ----------------------------------------------------------------------------------------

    def _pop(self, op: dict[str, Any]) -> dict[str, Any]:
        info = self.queue.pop()
        if info is None:
            return {"popped": None}
        self.popped[info.uid] = info
        return {"popped": info.key, "popped_uid": info.uid, "popped_attempts": info.attempts}

    def _done(self, op: dict[str, Any]) -> None:
        self.queue.done(op["uid"])

    def _add_unschedulable(self, op: dict[str, Any]) -> dict[str, Any]:
        info = self.popped[op["uid"]]
        outcome = self.queue.add_unschedulable(
            info,
            self.store.get(info.key),
            unschedulable_plugins=op["unschedulable_plugins"],
            pending_plugins=op["pending_plugins"],
        )
        if outcome.pool is None:
            return {"requeued": False}
        return {"requeued": True, "error": str(outcome.pool) if outcome.already else None}

    def _bind(self, op: dict[str, Any]) -> None:
        info = self.popped[op["uid"]]
        self.queue.nominator.delete(info.pod)
        self.queue.done(info.uid)
        stored = self.store.get(info.key)
        if stored is None or stored.uid != info.uid:
            return
        bound = self.store[info.key] = stored.with_node_name(op["node"])
        self.queue.move_all(ASSIGNED_POD_ADD, None, bound)
        self.queue.delete(stored)

    def _activate(self, op: dict[str, Any]) -> None:
        self.queue.activate(self.store[key] for key in op["keys"] if key in self.store)

    # ---- events ------------------------------------------------------------------------------------------

    def _node_add(self, op: dict[str, Any]) -> None:
        self.queue.move_all(ClusterEvent("Node", Action.ADD), None, _node(op["new"]))

    def _node_update(self, op: dict[str, Any]) -> dict[str, Any]:
        old, new = _node(op["old"]), _node(op["new"])
        events = node_update_events(old, new)
        for event in events:
            self.queue.move_all(event, old, new)
        return {"events": [str(event) for event in events]}

    def _node_delete(self, op: dict[str, Any]) -> None:
        self.queue.move_all(ClusterEvent("Node", Action.DELETE), _node(op["old"]), None)

    def _assigned_pod_added(self, op: dict[str, Any]) -> None:
        self.queue.move_all(ASSIGNED_POD_ADD, None, self._keep(op["new"]))

    def _assigned_pod_updated(self, op: dict[str, Any]) -> dict[str, Any]:
        old, new = _pod(op["old"]), self._keep(op["new"])
        events = pod_update_events(old, new)
        for event in events:
            self.queue.move_all(event, old, new)
        return {"events": [str(event) for event in events]}

    def _assigned_pod_deleted(self, op: dict[str, Any]) -> None:
        old = _pod(op["old"])
        self.store.pop(old.key, None)
        self.queue.move_all(ASSIGNED_POD_DELETE, old, None)

    def _move_all(self, op: dict[str, Any]) -> None:
        event = _event(op["event"]["resource"], op["event"]["actions"])
        make = _node if event.resource == "Node" else _pod
        old, new = (make(op[side]) if op[side] is not None else None for side in ("old", "new"))
        self.queue.move_all(event, old, new)

    # ---- time and nominations ----------------------------------------------------------------------------

    def _flush_backoff(self, op: dict[str, Any]) -> None:
        self.queue.flush_backoff()

    def _flush_unschedulable(self, op: dict[str, Any]) -> None:
        self.queue.flush_unschedulable()

    def _advance(self, op: dict[str, Any]) -> None:
        self.clock.ms += op["ms"]

    def _nominate(self, op: dict[str, Any]) -> None:
        self.queue.nominator.add(self._known(op["key"]), op["node"], NominatingMode(op["mode"]))

    def _delete_nomination(self, op: dict[str, Any]) -> None:
        self.queue.nominator.delete(self._known(op["key"]))

    def _known(self, key: str) -> Pod:
        if key in self.store:
            return self.store[key]
        pod: Pod = next(info.pod for info in reversed(self.popped.values()) if info.key == key)
        return pod

    # ---- state -------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Everything that a script records, as it records it."""
        pools = {str(pool): self.queue.in_pool(pool) for pool in Pool}
        in_flight = pools.pop("in_flight")
        named = {pool: [info.key for info in infos] for pool, infos in pools.items()}
        for pool in ("error_backoff", "unschedulable", "gated"):
            named[pool].sort()
        nominator = self.queue.nominator
        return {
            **named,
            "now_s": self.clock.ms / 1000,
            "in_flight": sorted(info.uid for info in in_flight),
            "in_flight_log": [
                f"pod:{entry}" if isinstance(entry, str) else str(entry.event)
                for entry in self.queue.in_flight.log()
            ],
            "nominated": {
                node: [pod.key for pod in nominator.nominated_pods_for_node(node)]
                for node in nominator.node_names
            },
            "scheduling_cycle": self.queue.scheduling_cycle,
            "pods": {info.key: _shown(info) for infos in pools.values() for info in infos},
        }


def _pod(manifest: dict[str, Any]) -> Any:
    return from_manifest(manifest, kind="Pod")


def _node(manifest: dict[str, Any]) -> Any:
    return from_manifest(manifest, kind="Node")


def _scheduling_gates(pod: Pod) -> str | None:
    return "gated" if pod.spec.scheduling_gates else None


def _shown(info: Any) -> dict[str, Any]:
    shown = {
        "queue": str(info.pool),
        "uid": info.uid,
        "resource_version": info.pod.metadata.resource_version,
        "attempts": info.attempts,
        "unschedulable_count": info.unschedulable_count,
        "error_count": info.error_count,
        "timestamp_s": _seconds(info.timestamp),
        "initial_attempt_s": _seconds(info.initial_attempt),
        "unschedulable_plugins": sorted(info.unschedulable_plugins),
        "pending_plugins": sorted(info.pending_plugins),
        "gating_plugin": info.gating_plugin,
    }
    if info.pool in (Pool.BACKOFF, Pool.ERROR_BACKOFF):
        shown["backoff_expiry_s"] = info.backoff_expiry - T0
    if info.flushed:
        shown["flushed"] = True
    return shown


def _seconds(time: float | None) -> float | None:
    return None if time is None else round(time - T0, 3)


_NOT_COMPARED = {"active_tie", "duplicate"}


def _differences(found: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    lines = []
    for name in sorted((found.keys() | expected.keys()) - _NOT_COMPARED):
        if name == "pods":
            lines += _pod_differences(found[name], expected[name])
        elif found.get(name) != expected.get(name):
            lines.append(f"{name}: expected {expected.get(name)!r}, got {found.get(name)!r}")
    return lines


def _pod_differences(found: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    lines = []
    for key in sorted(found.keys() | expected.keys()):
        ours, theirs = found.get(key) or {}, expected.get(key) or {}
        for name in sorted(ours.keys() | theirs.keys()):
            if ours.get(name) != theirs.get(name):
                lines.append(f"pods[{key}].{name}: expected {theirs.get(name)!r}, got {ours.get(name)!r}")
    return lines
