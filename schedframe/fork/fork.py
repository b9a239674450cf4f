"""Fork: a copy of a scheduler and its cluster to try things out in. See docs/explanation/what-if.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, Self, Unpack

from attrs import evolve
from typing_extensions import override

from .._base.brief import brief_of
from .._base.checked import checked, checked_except
from .._base.undo import UndoDict
from .._base.validators import collection, number
from ..api import AnyObject, AnyPod, ClusterObject, Node, Pod
from ..cluster import NotFound, WatchEvent
from ..config import ConfigSource
from ..controllers import Workloads
from ..controllers.intake import is_served, served
from ..cycle import Decision, Scheduler
from ..cycle.runtime.interrupts import Hold
from ..errors import InputError
from ..framework import Status
from .advancing import Course
from .calendar import Calendar
from .cluster import ForkCluster
from .copying import parts_of_scheduler
from .decoding import as_object, as_pod
from .diff import Diff, ObjectChange, diff_of
from .dry_run import dry_run
from .evicting import is_made_again, is_of_its_node, made_again
from .fit import Fit
from .offline import OfflineCluster
from .parts import ForkOptions, ForkParts, parts_of_objects
from .placements import Placements
from .scaling import maker_of, scaled, surplus, workload_named
from .scheduler import ForkScheduler, SavingRandom
from .sources import ForkSource, is_cluster, objects_in, objects_of
from .trial import Trial

Leaving = Literal["reschedule", "delete"]


class Fork(OfflineCluster):
    """A copy to try things out in: a scheduler of its own over objects of its own.

    :meth:`of` makes one of a scheduler, a simulation, or objects and manifests. Everything that is asked is
    decided by the scheduler itself. :meth:`trial` takes back what was tried. A ``with`` block closes the fork
    at its end. For one thread at a time.
    """

    _NAME = "fork"

    def __init__(self, parts: ForkParts) -> None:
        self.cluster: ForkCluster = parts.cluster
        self.scheduler: ForkScheduler = parts.scheduler
        self.clock = parts.clock
        self.strict, self.without = parts.strict, parts.without
        self._calendar: Calendar | None = None
        self._is_advancing = False
        """Whether the queue is that of an :meth:`advance`, with the pods that wait and their backoffs."""
        self._before: UndoDict[tuple[str, str], ClusterObject | None] = UndoDict(parts.cluster.undo)
        self._begin(parts.objects, parts.workloads)
        self.given = dict(parts.given) | self.given
        self.cluster.is_known = True
        self.cluster.watch(self._note)

    @classmethod
    def of(cls, source: ForkSource = (), config: ConfigSource = None, **options: Unpack[ForkOptions]) -> Self:
        """Return a fork of *source*.

        Of a :class:`Scheduler`, a :class:`Simulation` or another fork it is a copy with equal plugins; from
        any thread, and the thread of the scheduler only copies columns. What attempts under way have reserved
        counts as done. With another *config* or *options*, and of a cluster, a :class:`Snapshot` or a
        collection of API values and manifests, it is made of the objects; *config* and *options* are those of
        :class:`Simulation`.

        Raises :class:`ConfigError`, :class:`InputError`, and :class:`PluginError` for a plugin that a fork
        cannot have: an instance that the program passed, or one that says ``keeps_own_state``.
        """
        if isinstance(source, Scheduler | OfflineCluster):
            if config is None and not options:
                return cls(parts_of_scheduler(source))
            core = (source if isinstance(source, Scheduler) else source.scheduler).core
            return cls(parts_of_objects(objects_of(core), config, options, Workloads.IGNORE))
        workloads = Workloads.IGNORE if is_cluster(source) else Workloads.AUTO
        return cls(parts_of_objects(objects_in(source), config, options, workloads))

    def fork(self) -> Fork:
        """Return a fork of this fork, which stays as it is."""
        return Fork.of(self)

    # ---- changes -----------------------------------------------------------------------------------------

    def update(self, *objects: AnyObject) -> None:
        """Replace objects that are there by other versions. Raises :class:`NotFound` for one that is not."""
        kinds = self._kinds()
        for value in [as_object(obj, kinds, strict=self.strict) for obj in objects]:
            if self.cluster.get(value.KIND, value.key) is None:
                raise NotFound(f"{value.KIND} {value.key} is not there; add it")
            self.add(value)

    @checked
    def remove(self, kind: str, key: str) -> None:
        """Remove an object, such as ``remove("Pod", "shop/web-1")``. Raises :class:`NotFound`.

        A pod is gone at once, whatever finalizers it has. A node takes no pods with it: see
        :meth:`remove_node`.
        """
        with Hold():
            self._delete(kind, key)
            self.scheduler.sync()

    @checked
    def remove_node(self, name: str, pods: Leaving = "reschedule") -> tuple[Pod, ...]:
        """Remove a node; return its pods that wait again. Raises :class:`NotFound`.

        ``"reschedule"``: pods that a controller makes again wait under the same name; all others go with the
        node, as the pods of daemon sets do. ``"delete"``: all of its pods go. :meth:`schedule` places those
        that wait.
        """
        with Hold(), self._controllers.gathering():
            self.cluster.delete(Node.KIND, name)
            made = self._take_off(self.pods_on(name), again=pods == "reschedule")
        self.scheduler.sync()
        return made

    @checked
    def cordon(self, name: str, on: bool = True) -> None:
        """Make a node unschedulable, or schedulable again with ``on=False``. Raises :class:`NotFound`."""
        node = self._node(name)
        with Hold():
            self.cluster.apply(evolve(node, spec=evolve(node.spec, unschedulable=on)))
            self.scheduler.sync()

    @checked
    def drain(self, name: str) -> tuple[Pod, ...]:
        """Cordon a node and evict its pods; return those that wait again. Raises :class:`NotFound`.

        The pods of daemon sets stay. Nothing blocks it: what would do so in a cluster (budgets, pods without
        a controller) is for the caller to look at before.
        """
        self.cordon(name)
        with Hold(), self._controllers.gathering():
            made = self._take_off([pod for pod in self.pods_on(name) if not is_of_its_node(pod)], again=True)
        self.scheduler.sync()
        return made

    @checked
    def evict(self, key: str) -> Pod | None:
        """Evict a pod; return the one that is made in its place and waits, ``None`` if nothing makes one.

        Raises :class:`NotFound` for a pod that is not there, or has no node.
        """
        pod = self.cluster.get(Pod.KIND, key)
        if pod is None or not pod.node_name:
            raise NotFound(f"Pod {key} is not on a node")
        with Hold(), self._controllers.gathering():
            made = self._take_off([pod], again=True)
        self.scheduler.sync()
        return made[0] if made else None

    @checked
    def scale(self, workload: str, replicas: int) -> None:
        """Give a workload that many pods, such as ``scale("deployment/web", 20)``.

        Missing pods wait for :meth:`schedule`; of too many those go that the controller would remove. Raises
        :class:`InputError` for a workload that is not there.
        """
        number("replicas", replicas, "give a number from 0", whole=True, least=0)
        owner = workload_named(self.cluster, workload)
        maker = maker_of(self.cluster, owner)
        with Hold(), self._controllers.gathering():
            self.cluster.apply(scaled(owner, replicas))
            for pod in surplus(self.cluster.list(Pod.KIND), maker, replicas):
                self._delete(Pod.KIND, pod.key)
        self.add(scaled(maker, replicas), workloads=Workloads.EXPAND)

    def _kinds(self) -> list[type[ClusterObject]]:
        return [cls for framework in self._core.frameworks.values() for cls in framework.kinds().values()]

    def pods_on(self, node_name: str) -> list[Pod]:
        """Return the pods of a node, in the order in which they were placed; O(pods of the node)."""
        row = self._core.cache.table.row_of(node_name)
        return [] if row is None else list(self._core.cache.table.pods_at(row).values())

    def _node(self, name: str) -> Node:
        node: Node | None = self.cluster.get(Node.KIND, name)
        if node is None:
            raise NotFound(f"Node {name} is not there")
        return node

    def _delete(self, kind: str, key: str) -> None:
        """Delete an object at once, whatever finalizers it has."""
        obj = self.cluster.get(kind, key)
        if obj is not None and obj.metadata.finalizers:
            self.cluster.apply(evolve(obj, metadata=obj.metadata.with_finalizers(())))
            if obj.metadata.deletion_timestamp is not None:
                return  # it only waited for that
        self.cluster.delete(kind, key)

    def _take_off(self, pods: Iterable[Pod], *, again: bool) -> tuple[Pod, ...]:
        """Take *pods* off their nodes; return those that are made *again*."""
        made = []
        for pod in pods:
            self._delete(Pod.KIND, pod.key)
            if again and self._is_made_again(pod):
                made.append(self.cluster.create(made_again(pod)))
        return tuple(made)

    def _is_made_again(self, pod: Pod) -> bool:
        return is_made_again(pod)

    # ---- questions ---------------------------------------------------------------------------------------

    def admit(self, pod: AnyPod) -> Pod:
        """Return *pod* as admission completes it, with a uid; *pod* itself if it is complete.

        Questions about one pod are quicker with the result of this than with the manifest.
        """
        value = as_pod(pod, strict=self.strict)
        if value.uid:
            return value
        (value,) = self._intake((value,)).take(value)
        stored = self.cluster.get(Pod.KIND, value.key)
        uid = value.key if stored is None else stored.uid
        admitted: Pod = evolve(value, metadata=evolve(value.metadata, uid=uid))
        return admitted

    def would_fit(self, pod: AnyPod) -> Fit:
        """Return where the scheduler would place *pod* now, or why nowhere; true if there is a node.

        Changes nothing. Preemption is left out, and so is the group of the pod: :meth:`schedule` it within a
        :meth:`trial` to see what these give.
        """
        value, core = self.admit(pod), self._core
        framework = core.frameworks.get(value.spec.scheduler_name)
        if framework is None:
            return Fit(value, None, self._no_profile(value))
        sampling, state = core.search.sampling, self._rng.saved()
        start = 0 if sampling is None else sampling.next_start
        with Hold():
            if framework.plan.pre_enqueue:
                with dry_run(core):
                    gate = framework.run_pre_enqueue(value)
                if gate is not None:
                    return Fit(value, None, gate.message)
            decision = core.search.decide(framework, value)
        self._rng.set_back(state)
        if sampling is not None:
            sampling.next_start = start
        return Fit(value, decision.node_name, _why_not(decision))

    @checked_except("pods")
    def schedule(self, pods: Iterable[AnyPod] | None = None) -> Placements:
        """Place pods that wait, and return the result of each in order.

        *pods*: pods to create, or pods that wait already; these alone are tried. ``None``: all that wait.
        Each is tried again as long as another placement may help it; backoffs do not pass. Raises
        :class:`InputError` for a pod that cannot be used; none is created then.
        """
        with Hold():
            self._is_advancing = False
            if pods is None:
                asked = [*self._core.pending.values()]
                self.scheduler.ask_about(asked)
            else:
                asked = self._created(collection("pods", pods, "give a list of pods"))
            while self.scheduler.schedule_one() is not None:
                pass
        return Placements(self._placement(pod) for pod in asked)

    def _created(self, pods: Iterable[AnyPod]) -> list[Pod]:
        """Create those of *pods* that are not there, and let the queue hold all of them and no others."""
        values: list[Any] = [as_pod(pod, strict=self.strict) for pod in pods]
        is_empty = not len(self._core.queue)
        if not all(is_served(value) for value in values):
            values = self._taken_in(values, Workloads.AUTO)
        present = [self._waiting(value) for value in values]
        new = [value for value, known in zip(values, present, strict=True) if known is None]
        self._check_uids(new)
        with self._controllers.gathering(served(new)):
            created = iter([self._apply(value) for value in new])
        asked = [next(created) if known is None else known for known in present]
        if len(new) < len(asked) or not is_empty or len(self._core.pending) > 0:
            self.scheduler.sync()
            self.scheduler.ask_about(self._core.pending.get(pod.key, pod) for pod in asked)
        return asked

    def _waiting(self, value: ClusterObject) -> Pod | None:
        """Return the pod that waits already and is *value*; ``None`` if it is a new one."""
        known = self._core.pending.get(value.key)
        return known if known is not None and value.uid == known.uid else None

    def trial(self) -> Trial:
        """Return a trial: a ``with`` block at whose end everything is as it was. Trials may be nested."""
        return Trial(self)

    def diff(self) -> Diff:
        """Return what is not as it was when the fork was made, and which pods are pending and why."""
        changes = {}
        for (kind, key), before in self._before.items():
            now = self.cluster.get(kind, key)
            if now is not before:
                changes[kind, key] = ObjectChange(before, now)
        return diff_of(changes, [self._placement(pod) for pod in self._core.pending.values()])

    # ---- time ------------------------------------------------------------------------------------------

    @property
    def calendar(self) -> Calendar:
        """The calendar of pods' ends; made at first use, which is O(pods)."""
        if self._calendar is None:
            self._calendar = Calendar(self.cluster.undo)
            self._calendar.begin(state.pod for state in self._core.cache.pods())
        return self._calendar

    @property
    def ends(self) -> dict[str, float]:
        """Uid of a pod → when it ends, in seconds of the clock; to be changed at will."""
        return self.calendar.ends

    @property
    def durations(self) -> dict[str, float]:
        """Uid of a pod without a node → how many seconds it will run from its placement on."""
        return self.calendar.durations

    def advance(
        self, to: float | None = None, *, until: Callable[[Fork], bool] | None = None
    ) -> float | None:
        """Let time pass: free what ends, and place what waits, at each moment at which anything is due.

        *to*: seconds of the clock. *until*: a condition that is looked at whenever nothing more can be placed
        at a moment; without *to*, time ends with the last end that is known. Pods that end are removed, those
        of one moment together. Backoffs and timeouts of permit pass as in a scheduler, from the first of
        several calls in a row on. Return the moment that was reached; ``None`` if *until* did not come true.
        """
        if to is None and until is None:
            raise InputError("to", "neither a moment nor a condition is given", "give one of them, or both")
        if not self._is_advancing:
            self.scheduler.ask_about([*self._core.pending.values()])
            self._is_advancing = True
        course = Course(self.scheduler, self.clock, self.calendar, self._end_due)
        return course.advance(to, None if until is None else lambda: until(self))

    def _end_due(self) -> None:
        """Remove the pods whose end has come."""
        with self._controllers.gathering():
            for uid in self.calendar.due(self.clock.now):
                pod = self._core.cache.get_pod(uid)
                if pod is not None and self.cluster.get(Pod.KIND, pod.key) is not None:
                    self._delete(Pod.KIND, pod.key)
        self.scheduler.sync()

    @override
    def own_state(self) -> tuple[Any, ...]:
        """See :class:`OfflineCluster`."""
        return (*OfflineCluster.own_state(self), self._calendar)

    @override
    def set_own_state(self, state: tuple[Any, ...]) -> None:
        """See :class:`OfflineCluster`."""
        OfflineCluster.set_own_state(self, state[:-1])
        self._calendar, self._is_advancing = state[-1], False

    # ---- what a trial sets back --------------------------------------------------------------------------

    @property
    def _rng(self) -> SavingRandom:
        rng = self._core.rng
        assert isinstance(rng, SavingRandom)
        return rng

    def _note(self, event: WatchEvent) -> None:
        obj: Any = event.new if event.new is not None else event.old
        key = (event.kind, obj.key)
        if key not in self._before:
            self._before[key] = event.old
        if self._calendar is not None and event.kind == Pod.KIND:
            self._calendar.note(event, self.clock.now)

    def __repr__(self) -> str:
        return brief_of(self, cluster=self.cluster)


def _why_not(decision: Decision) -> str:
    if decision.node_name is not None:
        return ""
    if decision.diagnosis is not None:
        return decision.diagnosis.message()
    assert isinstance(decision.error, Status)
    return decision.error.message
