"""What is known of the next pod because one like it was there before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, field

from ...api import ObjectMeta, Pod
from ...framework import CycleState, Framework
from ...state import ObjectStore
from .cacheability import versions
from .equivalence_class import PodClass


@define(eq=False)
class Known:
    """The class of pods with one spec and equal namespace, labels, annotations and owners, kept on the spec.

    And whether the live plugins stay out: they all answered Skip, and what could change their minds
    (``skip_reads``) is as it was. Then nobody is asked, and the cycle state is a copy of what it was.
    """

    framework: Framework
    _metadata: ObjectMeta
    key: Any
    """Of the class."""
    found: PodClass
    _new_state: Callable[[], CycleState] | None = None
    nominations: Mapping[str, str] = field(init=False)
    """Those of the framework's handle, by uid."""
    scores: bool = False
    """Whether that goes for scoring too; it need not where no node is feasible."""
    idle: bool = False
    """Whether that goes for all plugins of reserve and pre_bind too."""
    _builds: int = -1
    _reads: tuple[str, ...] = ()
    _changes: tuple[int, ...] = ()
    _versions: tuple[int, ...] = ()

    def __attrs_post_init__(self) -> None:
        self.nominations = self.framework.handle.nominator.nominations

    def is_of(self, framework: Framework, pod: Pod) -> bool:
        """Whether *pod*, which has the same spec, is such a pod, and the class is still remembered."""
        one, other = self._metadata, pod.metadata
        if self.framework is not framework or self.found.forgotten:
            return False
        return one is other or (
            one.labels == other.labels
            and one.namespace == other.namespace
            and one.annotations == other.annotations
            and one.owner_references == other.owner_references
        )

    def quiet_state(self, objects: ObjectStore) -> CycleState | None:
        """The state of a cycle in which no live plugin has anything to say, ``None`` if one may have.

        The class must be up to date.
        """
        found = self.found
        if self._new_state is None or self._builds != found.builds:
            return None
        if found.changes is not self._changes:
            if self._versions != versions(self._reads, found.table, objects):
                self._new_state = None
                return None
            self._changes = found.changes
        return self._new_state()

    def note_quiet(self, pod: Pod, state: CycleState, objects: ObjectStore, *, scores: bool) -> None:
        """The live plugins said about *pod* what they said, and left *state* behind; *scores*: at pre_score
        too.
        """
        parts, live = self.found.parts, self.found.parts.live
        if (
            parts.skip_reads is None
            or any(entry.name not in state.skip_filter_plugins for entry in live.filter)
            or (scores and any(entry.name not in state.skip_score_plugins for entry in live.score))
        ):
            return
        self.scores = scores
        reads: set[str] = set()
        for call in parts.skip_reads:
            kinds = _asked(call, pod)
            if kinds is None:
                return
            reads.update(kinds)
        self._note_idle(pod, state, reads)
        table = self.found.table
        self._builds, self._reads = self.found.builds, tuple(sorted(reads))
        self._changes = self.found.changes
        self._versions = versions(self._reads, table, objects)
        self._new_state = state.template()

    def _note_idle(self, pod: Pod, state: CycleState, reads: set[str]) -> None:
        plan = self.framework.plan
        names = {entry.name for entry in (*plan.reserve, *plan.pre_bind)}
        calls = [plan.skip_reads.get(name) for name in names if name in state.skip_filter_plugins]
        kinds = [found for call in calls if call is not None and (found := _asked(call, pod)) is not None]
        self.idle = len(kinds) == len(names)
        if self.idle:
            reads.update(*kinds)


def _asked(call: Any, pod: Pod) -> Any:
    try:
        return call(pod)
    except Exception:  # noqa: BLE001 - then the plugin is asked about every pod, as if it did not have the hook
        return None
