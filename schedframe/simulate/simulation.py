"""A cluster in memory with a scheduler that runs only when it is called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, Literal, Unpack

from attrs import evolve
from typing_extensions import override

from .._base.brief import brief_of
from .._base.checked import checked, checked_except
from .._base.options import completed
from .._base.validators import collection
from .._base.wording import described
from ..api import AnyObject, AnyPod, ClusterObject, Pod, Strict
from ..cluster import Conflict, InMemoryCluster
from ..cluster.uids import uid_taken
from ..config import ConfigSource
from ..controllers import Without, Workloads
from ..controllers.intake import served
from ..controllers.switches import chosen
from ..cycle import Scheduler, VirtualClock
from ..cycle.options import SHARED, SharedOptions
from ..cycle.runtime.interrupts import Hold
from ..errors import InputError
from ..fork import Diff, Fork
from ..fork.decoding import as_pod
from ..fork.offline import OfflineCluster
from ..fork.placements import Placements
from ..runs import Run
from ..traces import Trace
from ..traces.times import Span, micros
from .cycle_report import CycleReport, report_of
from .driver import Driver
from .evaluation import Evaluation
from .evaluator import Evaluator
from .timed import EPOCH, TimedCluster


class Simulation(OfflineCluster):
    """Nodes, pods and other objects, and a scheduler for them.

    ``objects`` are API values or manifests; ``strict`` is the treatment of manifests that Kubernetes would
    refuse, as for :func:`from_manifest`; ``config`` and ``options`` are those of :class:`Scheduler`, see
    :class:`SharedOptions`.
    ``scheduler``, ``cluster`` and ``clock`` are its parts, to be used as those of any scheduler.
    Time stands still, and ties are broken by ``seed``. ``without`` names parts of a cluster that are not
    played, or is ``"all"``; see :meth:`add`. Raises :class:`ConfigError` and :class:`InputError`.
    """

    _assumed: dict[str, str]
    """Uids of the pods that were assumed, by key."""
    evaluator: Evaluator
    """Evaluates a pod on all nodes; changes nothing."""

    @checked_except("config", "options")
    def __init__(
        self,
        objects: Iterable[AnyObject] = (),
        config: ConfigSource = None,
        *,
        strict: Strict = True,
        without: Without = (),
        **options: Unpack[SharedOptions],
    ) -> None:
        objects = collection("objects", objects, "give a list of API values or manifests")
        seed: SharedOptions = {"seed": 0}
        options = completed(SHARED, "Simulation", seed | options)
        # Reports show the attempts of each pod, and why each one failed.
        options["tuning"] = evolve(options["tuning"], wait_together=False)
        self.clock = VirtualClock()
        self.strict, self.without = strict, chosen(without)
        self.cluster = InMemoryCluster(clock=self.clock, strict=strict)
        self.scheduler = Scheduler(self.cluster, config, clock=self.clock, **options)
        self._assumed, self.evaluator = {}, Evaluator(self.scheduler.core)
        self._begin(objects)

    # ---- time --------------------------------------------------------------------------------------------

    @checked
    def run(
        self, trace: Trace, *, until: Span | None = None, on_reject: Literal["wait", "drop"] = "wait"
    ) -> Run:
        """Play *trace* in a copy of this simulation, and return what happened.

        The copy has the objects, the configuration and the seed; its time passes from the epoch of the trace
        on, to *until* or until nothing more can happen. ``"drop"`` removes pods that fit nowhere at their
        first attempt. Pods of groups need the feature gates ``GenericWorkload`` and ``GangScheduling``. See
        the page *Simulated time* for the order of events. Raises :class:`InputError`, and
        :class:`PluginError` for a plugin that cannot be made a second time.
        """
        end = None if until is None else micros(until, "until")
        if len(trace.min_count) and not self._core.feature_gates.enabled("GangScheduling"):
            gates = "{'GenericWorkload': True, 'GangScheduling': True}"
            fix = f"give the simulation feature_gates={gates}, or run trace.without_groups()"
            raise InputError("trace", "it has pods that start together", fix)
        epoch = trace.epoch or EPOCH
        with TimedCluster(self, epoch) as world:
            return Driver(trace, world, epoch, drops=on_reject == "drop").run(end)

    # ---- the cluster -------------------------------------------------------------------------------------

    @override
    def _check_uids(self, values: Sequence[ClusterObject]) -> None:
        """As :class:`OfflineCluster` does, also for the uids of pods that were assumed."""
        OfflineCluster._check_uids(self, values)
        for key, uid in self._assumed.items():
            for value in values:
                if isinstance(value, Pod) and value.uid == uid and value.key != key:
                    raise uid_taken(value, f"Pod {key}, which was assumed")

    @override
    def _apply(self, value: ClusterObject) -> Any:
        """Store *value*. A pod that was assumed counts as the one that is stored, and not twice."""
        assumed = self._assumed.pop(value.key, None) if isinstance(value, Pod) else None
        if assumed is not None:
            self._core.cache.remove_pod(assumed)
        return self.cluster.apply(value)

    @checked
    def remove_node(self, name: str) -> None:
        """Delete a node. Its pods stay under its name. Raises :class:`NotFound`."""
        with Hold():
            self.cluster.delete("Node", name)
            self.scheduler.sync()

    def remove_pod(self, key: str) -> bool:
        """Delete the placed pod of that key or name, and return whether there was one.

        Raises :class:`InputError` if pods of several namespaces have that name.
        """
        if not isinstance(key, str):
            raise InputError(
                "key", f"{described(key)} is not a key", "give the name or namespace/name of a pod"
            )
        placed = [state.pod for state in self._core.cache.pods() if key in (state.pod.key, state.pod.name)]
        pod = _only(placed, key)
        if pod is None:
            return False
        with Hold():
            if self.cluster.get("Pod", pod.key) is not None:
                self.cluster.delete("Pod", pod.key)
                self.scheduler.sync()
            else:
                self._core.cache.remove_pod(pod.uid)
            self._assumed.pop(pod.key, None)
        return True

    # ---- questions ---------------------------------------------------------------------------------------

    def _candidate(self, pod: AnyPod) -> Pod:
        """Return *pod* with a uid: its own, that of the pod of its key in the cluster, or its key.

        Raises :class:`InputError` if its uid is that of another pod of the cluster.
        """
        value = as_pod(pod, strict=self.strict)
        if not value.uid:
            (value,) = self._intake((value,)).take(value)
            stored = self.cluster.get("Pod", value.key)
            uid = self._assumed.get(value.key, value.key) if stored is None else stored.uid
            value = evolve(value, metadata=evolve(value.metadata, uid=uid))
        self._check_uids((value,))
        return value

    def evaluate(self, pod: AnyPod | str) -> Evaluation:
        """Return what would happen to *pod* in the cluster as it is. Changes nothing.

        *pod* is a pod, a manifest, or the key or name of a pod of the cluster. All nodes are evaluated:
        neither sampling nor the shortcuts for a nominated or a single node apply. Raises :class:`InputError`
        for a name that no pod has, or several pods have.
        """
        if isinstance(pod, str):
            found = _only([each for each in self.cluster.list("Pod") if pod in (each.key, each.name)], pod)
            if found is None:
                raise InputError("pod", f"no pod is named {pod}", "write its name or namespace/name")
            pod = found
        with Hold():
            return self.evaluator.evaluate(self._candidate(pod))

    def assume(self, pod: AnyPod, node_name: str) -> None:
        """Count *pod* as running on the node from now on, without any other effect.

        Raises :class:`InputError` for a node that is not there, and for a pod that counts already.
        """
        cache, value = self._core.cache, self._candidate(pod)
        table = cache.table
        if not isinstance(node_name, str):
            raise InputError("node_name", f"{described(node_name)} is not a name", "give the name of a node")
        if table.live_row(node_name) is None:
            close = get_close_matches(node_name, table.rows().names(), n=1)
            fix = f"did you mean {close[0]}?" if close else "add the node first"
            raise InputError("node_name", f'there is no node "{node_name}"', fix)
        if value.uid in cache:
            raise InputError("pod", f"{value.key} has a node already", "give another pod, or remove it first")
        with Hold():
            cache.assume_pod(value.with_node_name(node_name))
            self._assumed[value.key] = value.uid

    def cycle(self, pod: AnyPod) -> CycleReport:
        """Search for a node for *pod*, with sampling if it is on. The pod is not placed.

        Raises :class:`InputError` if no profile has the scheduler name of the pod.
        """
        value = self._candidate(pod)
        sampling = self._core.search.sampling
        start = sampling.next_start if sampling is not None else 0
        framework = self.evaluator.framework_of(value)
        if framework is None:
            raise InputError("pod", self._no_profile(value), "set spec.schedulerName")
        with Hold():
            decision = self._core.search.decide(framework, value)
        order = self._core.cache.order.names() if sampling is not None else sorted(self._nodes())
        return report_of(decision, list(order), start, sampling.next_start if sampling is not None else 0)

    @checked_except("pods")
    def schedule(self, pods: Iterable[AnyPod] = ()) -> Placements:
        """Create *pods*, run full cycles until no pod is ready, and return the result of each in that order.

        Pods that were pending before take part; without *pods*, their results are returned. Raises
        :class:`InputError` for a pod that cannot be used; none is created then.
        """
        pods = collection("pods", pods, "give a list of pods; schedule() places those that are pending")
        decoded = [as_pod(pod, strict=self.strict) for pod in pods]  # all, before the first is created
        taken: list[Any] = self._taken_in(decoded, Workloads.AUTO) if decoded else []
        self._check_uids(taken)
        with Hold(), self._controllers.gathering(served(taken)):
            values = [self._apply(pod) for pod in taken]
        values = values or self.pending()
        self.scheduler.run_until_idle()
        return Placements(self._placement(pod) for pod in values)

    # ---- what if -----------------------------------------------------------------------------------------

    def fork(self) -> Fork:
        """Return a copy to try things out in, which this simulation knows nothing of; see :class:`Fork`.

        Raises :class:`PluginError` for a plugin that a fork cannot have.
        """
        return Fork.of(self)

    @checked
    def take(self, diff: Diff) -> None:
        """Let everything be as in the fork of this simulation that *diff* is of.

        Raises :class:`Conflict`, and changes nothing, if one of these objects has changed here since.
        """
        for (kind, key), change in diff.objects.items():
            if self.cluster.get(kind, key) is not change.before:
                raise Conflict(f"{kind} {key} has changed since the fork was made; make another fork")
        with Hold(), self._controllers.gathering(set(diff.objects)):
            for (kind, key), change in diff.objects.items():
                if change.now is not None:
                    self.cluster.apply(change.now)
                elif change.before is not None:
                    self.cluster.delete(kind, key)
            self.scheduler.sync()

    def _nodes(self) -> list[str]:
        return self._core.cache.table.rows().names()

    def __repr__(self) -> str:
        return brief_of(self, cluster=self.cluster)


@checked_except("config", "plugins", "pod")
def evaluate(
    objects: Iterable[AnyObject],
    pod: AnyPod | str,
    config: ConfigSource = None,
    *,
    strict: Strict = True,
    **options: Unpack[SharedOptions],
) -> Evaluation:
    """Return what the scheduler would do with *pod* in a cluster of *objects*, and why. Changes nothing.

    Everything may be API values or plain manifests, and *pod* the key or name of a pod among *objects*;
    *options* as for :class:`Simulation`, *strict* as for :func:`from_manifest`. Raises :class:`ConfigError`
    for a configuration that is refused, :class:`InputError` for a manifest that cannot be used.
    """
    with Simulation(objects, config, strict=strict, **options) as simulation:
        return simulation.evaluate(pod)


def _only(pods: Sequence[Pod], name: str) -> Pod | None:
    """Return the only one of *pods*, which are named so, ``None`` without any; an error for several."""
    if len(pods) > 1:
        keys = ", ".join(sorted(pod.key for pod in pods))
        raise InputError("pod", f"{len(pods)} pods are named {name}", f"say which: {keys}")
    return pods[0] if pods else None
