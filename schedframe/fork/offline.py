"""A cluster in memory with all that plays in it: a scheduler, the controllers, and admission."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Self

from ..api import AnyObject, ClusterObject, Pod, Strict
from ..cluster import InMemoryCluster
from ..controllers import ControllerManager, Workloads
from ..controllers.intake import Intake, served
from ..cycle import Scheduler, VirtualClock
from ..cycle.binding.progress import progress_of
from ..cycle.core import Core
from ..cycle.runtime.interrupts import Hold
from .bindings import GivenPlacements
from .decoding import as_objects, skipped_note
from .dry_run import dry_run
from .placements import Placement, reasons_alike


class OfflineCluster:
    """Nodes, pods and other objects, and a scheduler for them: the base of simulations and of forks.

    ``scheduler``, ``cluster`` and ``clock`` are its parts, to be used as those of any scheduler.
    """

    scheduler: Scheduler
    cluster: InMemoryCluster
    clock: VirtualClock
    strict: Strict
    without: frozenset[str]
    _core: Core
    _NAME = "simulation"
    _is_closed = False
    _lines: list[str]
    given: dict[tuple[str, str], ClusterObject]
    """Kind and key → the object as it was given, of those that were completed."""
    _refused: list[str]
    skipped: Counter[str]
    """Kinds that scheduling does not read, with the number of their objects that were given."""

    def _begin(self, objects: Iterable[AnyObject], workloads: Workloads = Workloads.AUTO) -> None:
        """Play the controllers, and add *objects*; what was made is closed if that fails."""
        self._lines, self._refused, self.skipped, self.given = [], [], Counter(), {}
        self._controllers = ControllerManager(self.cluster, without=self.without)
        self._core = self.scheduler.core
        try:
            self.add(*objects, workloads=workloads)
        except BaseException:
            self.close()  # the caller has no object to close
            raise

    def close(self) -> None:
        """Close the scheduler and its plugins; safe to call twice. A ``with`` block does it at its end."""
        self.scheduler.close()
        self._is_closed = True

    def close_controllers(self) -> None:
        """Play no controller any more: objects change only as the caller and the scheduler change them."""
        self._controllers.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def controllers(self) -> tuple[Any, ...]:
        """Return the controllers that are played."""
        return self._controllers.played

    def own_state(self) -> tuple[Any, ...]:
        """Return what it keeps besides scheduler, cluster and controllers, for :meth:`set_own_state`."""
        return self.given, self.skipped.copy(), len(self._lines), len(self._refused)

    def set_own_state(self, state: tuple[Any, ...]) -> None:
        """Keep what it kept when *state* was taken."""
        self.given, self.skipped, lines, refused = state
        del self._lines[lines:], self._refused[refused:]

    # ---- the cluster -------------------------------------------------------------------------------------

    def add(self, *objects: AnyObject, workloads: Workloads | str = Workloads.AUTO) -> None:
        """Create objects, or replace those of the same kind and name.

        Lists count as their items, and objects of other clients are taken if they have ``to_dict``. Kinds
        that scheduling does not read are counted in :attr:`skipped`. Manifests may be of the kinds that
        plugins declare. Workloads (Deployment, StatefulSet, Job, …) become
        pods: by default where the cluster and *objects* have no pods of them (``"auto"``); ``"expand"`` also
        makes the missing ones of others, ``"ignore"`` makes none. A DaemonSet gets pods for the nodes that
        are there, among *objects*, or added later. Bindings, and what ``schedule -o json`` has written, put
        pods that are there or among *objects* on their nodes.

        Objects without a uid are completed as an API server and its controllers do it: requests from limits,
        priorities of classes, claims of templates, volumes of claims; see :meth:`notes`. Objects with a uid
        come from a cluster that has done so.

        Raises :class:`InputError` for a manifest that cannot be used, :class:`InputErrors` for several
        problems; nothing is added then.
        """
        workloads = Workloads.of(workloads)
        kinds = [cls for framework in self._core.frameworks.values() for cls in framework.kinds().values()]
        given, skipped = GivenPlacements(), Counter[str]()
        values = as_objects(objects, kinds, given, skipped, strict=self.strict)
        values = self._taken_in(values, workloads)
        self._check_uids(values)
        self.skipped += skipped
        with Hold():
            if given.any:
                values = given.applied_in(self.cluster, values)
            with self._controllers.gathering(served(values)):
                for value in values:
                    self._apply(value)
            self.scheduler.sync()

    def _taken_in(self, values: list[Any], workloads: Workloads) -> list[ClusterObject]:
        """Return *values* with what follows from them before they are stored."""
        intake = self._intake(values, workloads)
        taken = intake.take_all(values, self.cluster)
        if intake.given:
            self.given = {**self.given, **intake.given}  # a new one: trials keep the one of their beginning
        self._lines += intake.notes()
        self._refused += intake.refusals
        return taken

    def _intake(self, values: Sequence[Any], workloads: Workloads = Workloads.AUTO) -> Intake:
        present = [obj for kind in Intake.kinds_for(values, self.cluster) for obj in self.cluster.list(kind)]
        return Intake.among((*present, *values), workloads, self.without)

    def notes(self) -> list[str]:
        """Return what was done with objects besides storing them, one line for each kind of change."""
        return [*self._lines, *self._controllers.notes(), *filter(None, [skipped_note(self.skipped)])]

    @property
    def refused(self) -> list[str]:
        """Return what a cluster would refuse of the objects that are there, one line each."""
        return [*self._refused, *self._controllers.refused]

    def _check_uids(self, values: Sequence[ClusterObject]) -> None:
        """Raise :class:`InputError` if the uid of one of *values* is another object's."""
        self.cluster.uids.check(values)

    def _apply(self, value: ClusterObject) -> Any:
        """Store *value*."""
        return self.cluster.apply(value)

    def pending(self) -> list[Pod]:
        """Return the pods that have no node and have not ended, in order of creation."""
        return [pod for pod in self.cluster.list("Pod") if not pod.spec.node_name and not pod.is_terminated]

    def _placement(self, pod: Pod) -> Placement:
        now = self.cluster.get("Pod", pod.key)
        if now is None:
            return Placement(pod, None, "the pod is gone")
        if now.spec.node_name:
            return Placement(now, now.spec.node_name, "")
        return Placement(now, None, *self._why(now))

    def _why(self, pod: Pod) -> tuple[str, str]:
        """Return why *pod* is pending, and the same without the names in it."""
        progress = progress_of(self._core, pod.uid)
        if progress is not None:
            return f"the pod {progress.message}", f"the pod {progress.alike}"
        if self._is_closed:
            return (f"the {self._NAME} is closed and schedules nothing",) * 2
        conditions = [c for c in pod.status.conditions if c.type == "PodScheduled" and c.status == "False"]
        if conditions:
            return (conditions[0].message,) * 2
        framework = self._core.frameworks.get(pod.spec.scheduler_name)
        if framework is None:
            return (self._no_profile(pod),) * 2
        with dry_run(self._core):
            gate = framework.run_pre_enqueue(pod)
        if gate is not None:
            return gate.message, ", ".join(reasons_alike(gate))
        return ("the pod is being deleted" if pod.is_terminating else "the pod waits for its turn",) * 2

    def _no_profile(self, pod: Pod) -> str:
        names = ", ".join(sorted(self._core.frameworks))
        return f"no profile is named {pod.spec.scheduler_name}; the profiles are {names}"
