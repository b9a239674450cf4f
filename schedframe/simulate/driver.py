"""The driver of simulated time: plays a trace in a cluster, one instant after another.

The order inside an instant is that of docs/explanation/simulated-time.md: nodes are lost, pods end, nodes
join, pods arrive, the scheduler decides; and again, if decisions caused events of the same instant. Times are
whole microseconds from the epoch; the clock shows the nearest number of seconds, which is another one for
each microsecond.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .._base.undo import UndoLog
from ..api import DaemonSet, Node, Pod
from ..cluster import WatchEvent
from ..cycle import Decision
from ..cycle.runtime.interrupts import Hold
from ..fork.calendar import Calendar
from ..queue import QueueOptions
from ..runs import Run, RunEvent, RunRecorder
from ..traces import FOREVER, NodeEvent, Trace
from .timed import TimedCluster, template_of

MICROS: Final = 1_000_000
_LOSSES: Final = {NodeEvent.FAIL: RunEvent.NODE_FAILED, NodeEvent.DRAIN: RunEvent.NODE_DRAINED}
_WHY: Final = {NodeEvent.FAIL: RunEvent.LOST, NodeEvent.DRAIN: RunEvent.DRAINED}
_JOINS: Final = {NodeEvent.JOIN: RunEvent.NODE_JOINED, NodeEvent.REPAIRED: RunEvent.NODE_REPAIRED}


class Driver:
    """Plays *trace* in *world*, which nothing else changes. For one run."""

    def __init__(self, trace: Trace, world: TimedCluster, epoch: int, *, drops: bool) -> None:
        self._trace, self._world, self._epoch, self._drops = trace, world, epoch, drops
        self._recorder = RunRecorder(trace)
        self._calendar = Calendar(UndoLog())
        self._now = self._changed = 0
        self._submit: list[int] = trace.pods["submit"].tolist()
        self._run: list[int] = trace.pods["run"].tolist()
        self._group: list[int] = trace.pods["group"].tolist()
        self._template: list[int] = trace.pods["template"].tolist()
        self._arrived = 0
        """Pods of the trace that have arrived."""
        events = trace.node_events
        self._events: list[tuple[int, int, int]] = list(
            zip(*(events[name].tolist() for name in ("time", "node", "event")), strict=True)
        )
        self._played = 0
        """Events of nodes that have happened."""
        self._live: dict[str, tuple[int, str]] = {}
        """Uid → number and key, of the pods of the trace that wait or run."""
        self._attempts: dict[int, int] = {}
        """Number of a pod → how often it was evicted."""
        self._again: list[int] = []
        """Pods that were evicted in this round, and arrive in the next one."""
        self._tried: list[int] = []
        """Pods whose last attempt in this round failed, if those are dropped."""
        self._groups: set[tuple[int, str]] = set()
        self._rejecting: dict[int, str] = {}
        """Template → plugins that rejected a pod of it last."""
        self._nodes = {name.decode(): index for index, name in enumerate(trace.nodes["name"].tolist())}
        self._patience = _patience(world.scheduler.config.pod_max_backoff_seconds)
        self._waiting = 0
        """Pods of the trace that have no node."""
        self._is_alone = not (world.pending() or world.cluster.list(DaemonSet.KIND))
        """Whether only pods of the trace are ever to be placed."""
        if self._is_alone and all(each.pod is None for each in trace.templates):
            world.close_controllers()  # pods without claims and volumes need none; 5 us of each

    def run(self, until: int | None) -> Run:
        """Play the trace until nothing more can happen, or to a time; return what happened."""
        world = self._world
        for node in world.cluster.list("Node"):
            number = self._recorder.new_node(node.name, template_of(node))
            self._nodes[node.name] = number
            self._recorder.node(0, number, RunEvent.NODE_JOINED)
        subscription = world.cluster.watch(self._note, ("Pod",))
        try:
            with Hold() as hold:
                while (moment := self._next()) is not None and (until is None or moment <= until):
                    self._play(moment)
                    if hold.arrived:
                        hold.check()
        finally:
            subscription.close()
        running = world.scheduler.core.cache.states
        for uid, (number, _) in self._live.items():
            if uid not in running:
                self._waited(number)
        return self._recorder.finish(self._changed if until is None else until)

    # ---- what comes next ---------------------------------------------------------------------------------

    def _next(self) -> int | None:
        """Return the next instant at which anything may happen, ``None`` at the end of the run.

        Without known events the run goes on while pods wait that were not attempted since the last change: as
        long as a back-off and the time after which a pod is tried without any event take.
        """
        known = self._next_known()
        if self._is_idle or (deadline := self._world.scheduler.next_deadline()) is None:
            return known
        due = max(self._micros(deadline), self._now)
        if known is not None:
            return min(known, due)
        return due if due <= self._changed + self._patience else None

    def _next_known(self) -> int | None:
        """Return the time of the next event of the trace, or end of a pod."""
        first = self._submit[self._arrived] if self._arrived < len(self._submit) else None
        if self._played < len(self._events):
            time = self._events[self._played][0]
            first = time if first is None or time < first else first
        if (end := self._calendar.next_end()) is not None:
            time = self._micros(end)
            first = time if first is None or time < first else first
        return first

    @property
    def _is_idle(self) -> bool:
        """Return whether no pod waits, so that the scheduler has nothing to do and no deadline."""
        return not self._waiting and self._is_alone

    def _seconds(self, time: int) -> float:
        """Return what the clock shows at a time. Other times have other ones."""
        return self._epoch + time / MICROS

    def _micros(self, moment: float) -> int:
        """Return the first time at which the clock shows *moment* or more."""
        time = round((moment - self._epoch) * MICROS)
        while self._seconds(time) < moment:
            time += 1
        return time

    # ---- one instant -------------------------------------------------------------------------------------

    def _play(self, moment: int) -> None:
        """Play an instant: rounds of events and decisions, until there are no more events of it."""
        self._now = moment
        self._world.clock.now = self._seconds(moment)
        while True:
            events = list(self._node_events())
            for node, event in events:
                if event in _LOSSES:
                    self._lose(node, event)
            self._end_pods()
            self._join([(node, event) for node, event in events if event in _JOINS])
            self._arrive()
            self._decide()
            if not self._again and self._next_known() != moment:
                return

    def _node_events(self) -> Iterator[tuple[int, NodeEvent]]:
        while self._played < len(self._events) and self._events[self._played][0] == self._now:
            _, node, event = self._events[self._played]
            self._played += 1
            yield node, NodeEvent(event)

    def _lose(self, node: int, event: NodeEvent) -> None:
        """Take a node away, with the pods on it."""
        name = self._trace.nodes["name"][node].decode()
        cluster = self._world.cluster
        if cluster.get(Node.KIND, name) is None:
            return  # it is down already
        cache = self._world.scheduler.core.cache
        self._world.scheduler.sync()
        row = cache.table.row_of(name)
        for pod in [] if row is None else list(cache.table.pods_at(row).values()):
            self._evict(pod, _WHY[event])
        cluster.delete(Node.KIND, name)
        self._recorder.node(self._now, node, _LOSSES[event])
        self._changed = self._now

    def _evict(self, pod: Pod, why: RunEvent) -> None:
        if pod.uid in self._live:
            self._take_off(pod.uid, why)
        self._world.cluster.delete(Pod.KIND, pod.key)

    def _take_off(self, uid: str, why: RunEvent) -> None:
        """Note that a pod lost its node; it arrives again in the next round."""
        number, _ = self._live.pop(uid)
        self._calendar.ends.pop(uid, None)
        self._recorder.evicted(self._now, number, why)
        self._attempts[number] = self._attempts.get(number, 0) + 1
        self._again.append(number)
        self._changed = self._now

    def _end_pods(self) -> None:
        for uid in self._calendar.due(self._world.clock.now):
            number, key = self._live.pop(uid)
            self._recorder.ended(self._now, number)
            self._changed = self._now
            self._world.cluster.delete(Pod.KIND, key)

    def _join(self, events: list[tuple[int, NodeEvent]]) -> None:
        """Add nodes, with the pods that daemon sets make for them."""
        nodes = {}
        for number, event in events:
            node = self._trace.node(number)
            if node.name not in nodes and self._world.cluster.get(Node.KIND, node.name) is None:
                nodes[node.name] = node
                self._recorder.node(self._now, number, _JOINS[event])
        if nodes:
            self._world.add(*nodes.values())
            self._changed = self._now

    def _arrive(self) -> None:
        """Let the pods of this instant arrive, then those that were evicted in it."""
        submit, now = self._submit, self._now
        while self._arrived < len(submit) and submit[self._arrived] == now:
            self._recorder.submitted(now, self._arrived)
            self._create(self._arrived)
            self._arrived += 1
        again, self._again = self._again, []
        for number in again:
            self._create(number)

    def _create(self, number: int) -> None:
        pod = self._trace.pod(number, self._attempts.get(number, 0))
        self._live[pod.uid] = (number, pod.key)
        self._changed = self._now
        self._waiting += 1
        group = (self._group[number], pod.namespace)
        if group[0] >= 0 and group not in self._groups:
            self._groups.add(group)
            self._world.cluster.create(self._trace.pod_group(*group))
        self._world.cluster.create(pod)

    def _decide(self) -> None:
        """Schedule until no pod is ready; drop those that fit nowhere, if that is wanted."""
        schedule_one = self._world.scheduler.schedule_one
        while not self._is_idle and (decision := schedule_one()) is not None:
            if decision.node_name is None:
                self._rejected(decision)
        if self._drops:
            self._drop()

    def _rejected(self, decision: Decision) -> None:
        known = self._live.get(decision.pod.uid)
        if known is None:
            return
        diagnosis = decision.diagnosis
        if diagnosis is not None:
            plugins = diagnosis.unschedulable_plugins | diagnosis.pending_plugins
            self._rejecting[self._template[known[0]]] = ", ".join(sorted(plugins))
        if self._drops:
            self._tried.append(known[0])

    def _drop(self) -> None:
        """Remove pods whose attempt failed, but for those for which room is being made."""
        tried, self._tried = self._tried, []
        nominator = self._world.scheduler.core.queue.nominator
        for number in tried:
            pod = self._trace.pod(number, self._attempts.get(number, 0))
            current = self._world.cluster.get(Pod.KIND, pod.key)
            if current is None or current.node_name or nominator.node_of(current) is not None:
                continue
            del self._live[current.uid]
            self._waiting -= 1
            self._recorder.rejected(self._now, number)
            self._changed = self._now
            self._world.cluster.delete(Pod.KIND, pod.key)

    # ---- what the scheduler does -------------------------------------------------------------------------

    def _note(self, event: WatchEvent) -> None:
        """Take in that a pod got a node, or was preempted."""
        old, new = event.old, event.new
        if new is None:
            if old is not None and old.uid in self._live and old.node_name:
                self._take_off(old.uid, RunEvent.PREEMPTED)
            return
        if not new.node_name or (old is not None and old.node_name):
            return
        known = self._live.get(new.uid)
        if known is not None:
            self._started(known[0], new)

    def _started(self, number: int, pod: Pod) -> None:
        now = self._now
        self._recorder.started(now, number, self._nodes[pod.node_name])
        self._waiting -= 1
        self._changed = now
        if self._submit[number] < now:
            self._waited(number)
        run = self._run[number]
        if run != FOREVER:
            self._calendar.ends[pod.uid] = self._seconds(now + run)

    def _waited(self, number: int) -> None:
        """Note the plugins that rejected pods like this one last, if it waited for its first start."""
        plugins = self._rejecting.get(self._template[number])
        if plugins and number not in self._attempts:
            self._recorder.waited_for(number, plugins)


def _patience(max_backoff: float) -> int:
    """Return for how long a pod may wait without an attempt, in µs; back-offs end on whole seconds."""
    return round((QueueOptions().max_in_unschedulable + max_backoff + 1) * MICROS)
