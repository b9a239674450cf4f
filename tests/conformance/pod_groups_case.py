"""Pod groups and placements against a whole scheduler (``Pod groups`` in data/README.md).

The scheduler runs on a virtual clock and a cluster in memory; bindings and evictions reach the cluster with
the delays that the data states. What v1.36 does and this scheduler does not, on purpose, is in
:mod:`tests.conformance.pod_groups_defects`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import define, evolve, field

from schedframe import (
    ConfigError,
    CycleState,
    InMemoryCluster,
    InputError,
    Pod,
    Registry,
    Scheduler,
    Status,
    hookimpl,
)
from schedframe.api import from_manifest, group_of
from schedframe.cycle.outcomes import GroupAttempt
from schedframe.framework import GROUP_TRIAL
from schedframe.framework.binding import drive
from schedframe.queue import GroupQueue, Pool, QueuedPodInfo

from .corpus import Case
from .difference import differences
from .pod_groups_defects import plan

START = 946_684_800.0
"""A whole second, at which the clock of every case starts."""
BIND_MS, EVICT_MS, SETTLE_MS = 1, 2, 5
UNSCHEDULABLE_FLUSH_MS = 30_000
SECOND_MS = 1000


__all__ = ["compare", "plan"]


@define(eq=False)
class FakeReserve:
    """Rejects pods with the label ``reserve: "no"`` when the result of a group is applied."""

    @hookimpl
    def reserve(self, state: CycleState, pod: Pod) -> Status | None:
        if state.get(GROUP_TRIAL) or pod.labels.get("reserve") != "no":
            return None
        return Status.unschedulable("reserve says no")

    @hookimpl
    def events_to_register(self) -> tuple[()]:
        return ()


@define(eq=False)
class Clock:
    """The time of a case, in whole milliseconds."""

    ms: int = 0

    def __call__(self) -> float:
        return START + self.ms / 1000


@define(eq=False)
class LateExecutor:
    """Bindings and evictions happen some milliseconds later; everything else at once."""

    clock: Clock
    inline: bool = False
    work: list[tuple[int, int, Callable[[], Any], Callable[[Any], None]]] = field(factory=list)
    _number: int = 0

    def submit(self, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        if getattr(work, "func", None) is drive:
            delay = BIND_MS
        elif getattr(getattr(work, "func", work), "__name__", "") in ("evict", "<lambda>") and _evicts(work):
            delay = EVICT_MS
        else:
            done(work())
            return
        self._number += 1
        self.work.append((self.clock.ms + delay, self._number, work, done))

    def run_due(self) -> bool:
        due = sorted([each for each in self.work if each[0] <= self.clock.ms], key=lambda each: each[:2])
        for each in due:
            self.work.remove(each)
            each[3](each[2]())
        return bool(due)

    def close(self) -> None:
        while self.work:
            self.clock.ms = max(self.clock.ms, min(each[0] for each in self.work))
            self.run_due()


def _evicts(work: Any) -> bool:
    function = getattr(work, "func", work)
    return "Eviction" in getattr(function, "__qualname__", "")


def compare(case: Case) -> list[str]:
    """The differences between the recorded states and ours, up to the first step that has any."""
    expect = case["expect"]
    try:
        run = Run.of(case)
    except (ConfigError, InputError) as error:
        return [] if isinstance(expect, dict) else [f"config_error: expected none, got {error}"]
    if isinstance(expect, dict):
        return [f"config_error: expected {expect['config_error']!r}, got a scheduler"]
    for number, (step, expected) in enumerate(zip(case["steps"], expect, strict=True)):
        run.do(step)
        lines = run.differences(expected)
        if lines:
            return [f"step {number} ({step['op']}): {line}" for line in lines]
    run.scheduler.core.queue.check_invariants()
    run.scheduler.core.cache.check_invariants()
    return []


@define(eq=False)
class Run:
    """A scheduler with its cluster, and what it did in the present step."""

    clock: Clock
    cluster: InMemoryCluster
    executor: LateExecutor
    scheduler: Scheduler
    cycles: list[dict[str, Any]] = field(factory=list)
    _popped: QueuedPodInfo | None = None
    """In the present cycle."""
    _take: Callable[[], QueuedPodInfo | None] = field(init=False)

    @classmethod
    def of(cls, case: Case) -> Run:
        clock = Clock()
        cluster = InMemoryCluster(case["objects"], clock=clock, strict=False)
        executor = LateExecutor(clock)
        registry = Registry.installed()
        registry.register("FakeReserve", FakeReserve)
        scheduler = Scheduler(
            cluster,
            case["config"],
            registry=registry,
            clock=clock,
            executor=executor,
            seed=0,
            feature_gates=dict.fromkeys(case["gates"], True),
        )
        run = cls(clock, cluster, executor, scheduler)
        queue = scheduler.core.queue
        run._take, queue.pop = queue.pop, run._pop  # type: ignore[method-assign]
        # Of the two flushes, that of the unschedulable pods happens every 30 s only.
        queue.flush = run._flush  # type: ignore[method-assign]
        if scheduler.groups is not None:
            scheduler.core.observers.group_ended = run.note
            scheduler.core.observers.each_attempt = True  # attempts are compared, so each group is tried
        scheduler.sync()
        return run

    def note(self, attempt: GroupAttempt) -> None:
        """Note a cycle of a group as the data has it."""
        order = list(attempt.order)
        found: dict[str, Any] = {"group": attempt.key, "members": sorted(order), "order": order}
        outcome = attempt.outcome
        if outcome is not None and outcome.placements:
            found["placements"] = sorted(each.name for each in outcome.placements)
            found["placement_fits"] = {name: list(keys) for name, keys in outcome.fitting.items()}
            if outcome.scores is not None:
                names, scores = outcome.feasible, outcome.scores
                by_name: dict[str, dict[str, int]] = {name: {} for name in names}
                for plugin, values in scores.by_plugin.items():
                    for name, value in zip(names, values, strict=True):
                        by_name[name][plugin] = value
                totals = dict(zip(names, scores.total, strict=True))
                found["placement_scores"] = by_name
                found["placement_totals"] = totals
                best = max(totals.values())
                found["best_placements"] = sorted(name for name in names if totals[name] == best)
        self.cycles.append(found)

    def _flush(self) -> None:
        queue = self.scheduler.core.queue
        queue.flush_backoff()
        if self.clock.ms % UNSCHEDULABLE_FLUSH_MS == 0:
            queue.flush_unschedulable()

    # ---- steps -------------------------------------------------------------------------------------------

    def do(self, step: dict[str, Any]) -> None:
        self.cycles = []
        operation: Callable[[dict[str, Any]], None] = getattr(self, f"_{step['op']}")
        operation(step)

    def _create(self, step: dict[str, Any]) -> None:
        for manifest in step["objects"]:
            self._advance_to(self.clock.ms + 1)
            self.cluster.create(manifest)
            self.scheduler.sync()

    def _update(self, step: dict[str, Any]) -> None:
        self._advance_to(self.clock.ms + 1)
        manifest = step["object"]
        metadata = manifest["metadata"]
        stored = self._stored(manifest["kind"], metadata.get("namespace"), metadata["name"])
        if stored is None:
            return
        new: Any = from_manifest(manifest, strict=False)
        meta = evolve(new.metadata, resource_version="", uid=stored.metadata.uid)
        changes = {"metadata": meta}
        if hasattr(stored, "status"):
            changes["status"] = stored.status
        changed = Pod(meta, new.spec, stored.status) if isinstance(stored, Pod) else evolve(new, **changes)
        self.cluster.update(changed)
        self.scheduler.sync()

    def _delete(self, step: dict[str, Any]) -> None:
        self._advance_to(self.clock.ms + 1)
        stored = self._stored(step["kind"], step.get("namespace"), step["name"])
        if stored is not None:
            self.cluster.delete(stored.KIND, stored.key)
            self.scheduler.sync()

    def _stored(self, kind: str, namespace: str | None, name: str) -> Any:
        cluster_wide = kind in ("Node", "Namespace")
        return self.cluster.get(kind, name if cluster_wide else f"{namespace or 'default'}/{name}")

    def _advance(self, step: dict[str, Any]) -> None:
        self._advance_to(self.clock.ms + step["ms"])

    def _cycle(self, step: dict[str, Any]) -> None:
        # v1.36 pops a rejected member again as soon as nothing is active. Here the group is held, so that
        # the attempt of the step has to be asked for.
        queue = self.scheduler.core.queue
        if isinstance(queue, GroupQueue) and not queue.in_pool(Pool.ACTIVE):
            queue.release_all()
        if queue.in_pool(Pool.ACTIVE) or queue.in_pool(Pool.BACKOFF):
            self._one_cycle()

    def _run(self, step: dict[str, Any]) -> None:
        while self.scheduler.core.queue.in_pool(Pool.ACTIVE):
            self._one_cycle()

    def _one_cycle(self) -> None:
        before, self._popped = len(self.cycles), None
        self.scheduler.schedule_one()
        if self._popped is not None and len(self.cycles) == before:
            # A pod without a group, or a group of which all members were dropped.
            pod = self._popped.pod
            group = group_of(pod) if self.scheduler.groups is not None else ""
            self.cycles.append({"group": group, "members": [], "order": []} if group else {"pod": pod.key})
        self._advance_to(self.clock.ms + SETTLE_MS)

    def _pop(self) -> QueuedPodInfo | None:
        """Pop one pod in a cycle: a pod that is dropped takes the cycle, as in the reference."""
        if self._popped is None:
            self._popped = self._take()
            return self._popped
        return None

    def _advance_to(self, end: int) -> None:
        """Move the clock to *end*, with all that is due until then."""
        self._settle()
        while self.clock.ms < end:
            moments = [
                end,
                (self.clock.ms // SECOND_MS + 1) * SECOND_MS,
                *(each[0] for each in self.executor.work),
            ]
            deadline = self.scheduler.next_deadline()
            if deadline is not None:
                moments.append(round((deadline - START) * 1000))
            self.clock.ms = min(moment for moment in moments if moment > self.clock.ms)
            self._settle()

    def _settle(self) -> None:
        self.scheduler.sync()
        while self.executor.run_due():
            self.scheduler.sync()
        self.scheduler._due.take_in()
        self.scheduler.sync()

    # ---- state -------------------------------------------------------------------------------------------

    def differences(self, expected: dict[str, Any]) -> list[str]:
        """What differs from the recorded state, as far as it is compared."""
        lines = [*differences("now_ms", expected["now_ms"], self.clock.ms)]
        lines += self._cycle_differences(expected.get("cycles", []))
        for variant in expected.get("any_of", [expected]):
            found = [*self._state_differences(variant)]
            if not found:
                return lines
        return lines + found

    def _state_differences(self, expected: dict[str, Any]) -> list[str]:
        shown = {pod.key: self._shown(pod.key) for pod in self.cluster.list("Pod")}
        for key, theirs in expected["pods"].items():
            if key not in shown:
                continue
            for name in ("node", "nominated_node"):
                if theirs.get(name) == "*" and shown[key].get(name, ""):
                    shown[key][name] = "*"
        lines = [*differences("pods", expected["pods"], shown)]
        groups: dict[str, Any] = {}
        for group in self.cluster.list("PodGroup"):
            groups[group.key] = [_condition(each) for each in group.status.conditions]
        return [*lines, *differences("pod_groups", expected["pod_groups"], groups)]

    def _cycle_differences(self, expected: list[dict[str, Any]]) -> list[str]:
        lines = []
        if len(self.cycles) != len(expected):
            lines.append(f"cycles: expected {len(expected)}, got {self.cycles!r}")
        for number, (ours, theirs) in enumerate(zip(self.cycles, expected, strict=False)):
            wanted = {name: value for name, value in theirs.items() if name != "popped" and value is not None}
            found = {name: value for name, value in ours.items() if name in wanted}
            lines += differences(f"cycles[{number}]", wanted, found)
            if "best_placements" in theirs:
                lines += self._misplaced(theirs)
        return lines

    def _misplaced(self, cycle: dict[str, Any]) -> list[str]:
        """Members that are not together in one of the best placements."""
        group = self.cluster.get("PodGroup", cycle["group"])
        key = "" if group is None else group.spec.topology_key
        pods = [self.cluster.get("Pod", member) for member in cycle["members"]]
        nodes = [self.cluster.get("Node", pod.node_name) for pod in pods if pod is not None and pod.node_name]
        domains = {node.labels.get(key, "") for node in nodes if node is not None} if key else set()
        if len(domains) <= 1 and domains <= set(cycle["best_placements"]):
            return []
        return [f"members are in {sorted(domains)}, the best placements are {cycle['best_placements']}"]

    def _shown(self, key: str) -> dict[str, Any]:
        core, pod = self.scheduler.core, self.cluster.get("Pod", key)
        if pod is None:
            return {}
        shown: dict[str, Any] = {}
        info = core.queue.get(key)
        if pod.spec.node_name:
            shown = {"state": "bound", "node": pod.spec.node_name}
            if pod.is_terminating:
                shown["deleting"] = True
            return shown
        if info is not None and info.uid == pod.uid:
            shown = {
                "state": str(info.pool),
                "attempts": info.attempts,
                "unschedulable_count": info.unschedulable_count,
                "error_count": info.error_count,
                "unschedulable_plugins": sorted(info.unschedulable_plugins),
                "pending_plugins": sorted(info.pending_plugins),
                "gating_plugin": info.gating_plugin,
            }
        elif (waiting := core.waiting.get(pod.uid)) is not None:
            shown = {"state": "waiting", "node": waiting.node_name}
        elif pod.spec.scheduler_name not in core.frameworks:
            shown = {"state": "ignored"}
        else:
            shown = {"state": "none"}
        condition = pod.status.condition("PodScheduled")
        shown["condition"] = None
        if condition is not None:
            shown["condition"] = {
                "status": condition.status,
                "reason": condition.reason,
                "message": condition.message,
            }
        shown["nominated_node"] = pod.status.nominated_node_name
        if pod.is_terminating:
            shown["deleting"] = True
        return shown


def _condition(condition: Any) -> dict[str, Any]:
    return {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "observed_generation": condition.observed_generation,
    }
