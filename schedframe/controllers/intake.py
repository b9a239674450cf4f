"""The way of manifests into a cluster: workloads make pods, and admission completes what people left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from attrs import field

from .._base.value import record
from ..api import (
    ADMISSION_KINDS,
    ClusterObject,
    DaemonSet,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PriorityClass,
    ResourceQuota,
    StorageClass,
)
from ..cluster import ClusterPort
from ..errors import InputError, Problems
from .admission import Admission
from .switches import DAEMONS, chosen, of_admission
from .workloads import Expander, MadePods, Workloads

ADMISSION_READS: Final = (
    PriorityClass.KIND,
    StorageClass.KIND,
    *(cls.KIND for cls in ADMISSION_KINDS),
)
"""Kinds that decide what admission does."""
MOST_SHOWN: Final = 5
"""Workloads that the note about made pods names."""


def is_served(obj: Any) -> bool:
    """Return whether *obj* comes from a cluster, which has completed it.

    It has a uid, or is a volume with a phase, which people do not write.
    """
    return bool(obj.uid or (isinstance(obj, PersistentVolume) and obj.status.phase))


def served(objects: Iterable[ClusterObject]) -> set[tuple[str, str]]:
    """Return kind and key of those of *objects* that come from a cluster."""
    return {(obj.KIND, obj.key) for obj in objects if is_served(obj)}


@record(eq=False)
class Intake:
    """Takes objects into a cluster one by one, knowing all that is there or on its way."""

    expander: Expander
    admission: Admission
    without: frozenset[str] = field(factory=frozenset)
    given: dict[tuple[str, str], ClusterObject] = field(factory=dict, init=False)
    """Kind and key → the object as it was given, of those that were completed."""
    refusals: list[str] = field(factory=list, init=False)
    """What a cluster would refuse that is there now, such as what a quota does not allow."""

    @classmethod
    def among(
        cls, objects: Iterable[Any], workloads: Workloads | str = Workloads.AUTO, without: Any = ()
    ) -> Intake:
        """Return an intake for a cluster of *objects*; O(objects)."""
        every = list(objects)
        off = chosen(without)
        admission = Admission.of(every, without=of_admission(off), keep_priorities=True)
        return cls(Expander.among(every, workloads), admission, off)

    @staticmethod
    def kinds_for(values: Sequence[Any], cluster: ClusterPort) -> Collection[str]:
        """Return the kinds of *cluster* that decide what becomes of *values*."""
        kinds: dict[str, None] = dict.fromkeys(ADMISSION_READS)
        if cluster.list(ResourceQuota.KIND):
            kinds |= dict.fromkeys((Pod.KIND, PersistentVolumeClaim.KIND))  # what is used of it
        if any(Expander.handles(value) or isinstance(value, Node) for value in values):
            kinds |= dict.fromkeys(Expander.READS)
        return kinds

    def take(self, obj: Any) -> list[Any]:
        """Return what is stored for *obj*: itself, completed, and what follows from it.

        Raises :class:`InputError` for a workload that the API server refuses.
        """
        made = [self._admitted(each) for each in self.expander.expand(obj)]
        if made and made[0] is not obj and obj.name:
            self.given[obj.KIND, obj.key] = obj
        return made

    def take_all(self, values: Iterable[Any], cluster: ClusterPort) -> list[Any]:
        """Return what is stored in *cluster* for *values*, daemon pods for its new nodes included.

        Raises :class:`InputErrors` for all that is refused.
        """
        taken, nodes, problems = [], [], Problems()
        for value in values:
            with problems.collecting():
                taken += self.take(value)
            if isinstance(value, Node) and cluster.get(Node.KIND, value.name) is None:
                nodes.append(value)
        problems.raise_any()
        if nodes:
            taken += self.daemon_pods(cluster.list(DaemonSet.KIND), nodes)
        return taken

    def _admitted(self, obj: Any) -> Any:
        if is_served(obj):
            return obj
        try:
            admitted = self.admission.admit(obj)
        except InputError as error:
            raise error.in_location(f"{obj.KIND} {obj.name}") from None
        self.refusals += admitted.notes
        return admitted.object

    def daemon_pods(self, daemon_sets: Iterable[DaemonSet], nodes: Sequence[Node]) -> list[Any]:
        """Return the pods of *daemon_sets*, which are there, for *nodes*, which are added now."""
        if DAEMONS in self.without:
            return []
        return [self._admitted(pod) for pod in self.expander.for_new_nodes(daemon_sets, nodes)]

    @property
    def left_alone(self) -> Counter[str]:
        """Kind → number of workloads of which nothing was made because their pods are there."""
        return self.expander.left_alone

    def notes(self) -> list[str]:
        """Return what was done, one line for each kind of change."""
        made = made_note(self.expander.made)
        return [*([made] if made else []), *self.admission.lines()]


def made_note(made: Iterable[MadePods]) -> str:
    """Return one line: how many pods, and of which workloads the first few; empty without workloads."""
    # replica sets of earlier revisions want no pods and would fill the line
    expanded = [each for each in made if each.pods or each.kind != "ReplicaSet"]
    if not expanded:
        return ""
    shown = [f"{each.kind} {each.key} ({each.pods})" for each in expanded[:MOST_SHOWN]]
    if len(expanded) > MOST_SHOWN:
        shown.append(f"{len(expanded) - MOST_SHOWN} more")
    return f"pods made of workloads: {sum(each.pods for each in expanded)}, of {', '.join(shown)}"
