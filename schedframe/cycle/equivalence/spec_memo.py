"""SpecMemo: what is known of pods that share a spec: their class, and which uncached plugins skip."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from attrs import field

from ..._base.plugin_faults import plugin_faults
from ..._base.value import record
from ...api import ObjectMeta, Pod
from ...framework import CycleState, Framework, PreFilterOutcome
from ..search.decision import Decision
from .class_key import ClassKey
from .dependencies import Stamp, Versions, dependency_versions
from .equivalence_class import EquivalenceClass

NOTHING_SAID: Final = PreFilterOutcome()
"""Of a cycle in which no plugin restricts the nodes."""


@record(eq=False)
class SpecMemo:
    """Kept on a spec; valid for pods with equal namespace, labels, annotations and owner references.

    The skip cache is a part of it: as long as ``skip_reads`` names no change, none of the uncached plugins
    that skipped is called, and the cycle state is a copy of what they left behind.
    """

    framework: Framework
    metadata: ObjectMeta
    key: ClassKey
    eq_class: EquivalenceClass
    nominations: Mapping[str, str] = field(init=False)
    """All nominated nodes, by uid of the pod."""
    probed: int = -1
    """Generation of the class in which a search was made to learn what uncached plugins say."""
    all_live_skip: bool = False
    """Whether all skip at scoring, too; where no node is feasible they need not."""
    skips_reserve_and_pre_bind: bool = False
    """Whether plugins at reserve and pre_bind have nothing to do either."""
    _new_state: Callable[[], CycleState] | None = None
    _generation: int = -1
    _kinds: tuple[str, ...] = ()
    _stamp: Stamp = (-1, -1, -1)
    _versions: Versions = ()

    def __attrs_post_init__(self) -> None:
        self.nominations = self.framework.handle.nominator.nominations

    def is_of(self, framework: Framework, pod: Pod) -> bool:
        """Return whether this holds for *pod*, which has the same spec, and the class was not evicted."""
        # Names, uids and times are not compared: no cached plugin may read them.
        one, other = self.metadata, pod.metadata
        if self.framework is not framework or self.eq_class.evicted:
            return False
        return one is other or (
            one.labels == other.labels
            and one.namespace == other.namespace
            and one.annotations == other.annotations
            and one.owner_references == other.owner_references
        )

    # ---- the skip cache ----------------------------------------------------------------------------------

    def all_skip(self, pod: Pod, objects: Any) -> Decision | None:
        """Begin a cycle in which no uncached plugin is called; ``None`` if they must be called.

        The class must be up to date. O(1) while nothing changes, else O(kinds).
        """
        eq_class = self.eq_class
        if self._new_state is None or self._generation != eq_class.generation:
            return None
        # The class takes a new stamp when anything may have changed; versions are compared only then.
        if eq_class.stamp is not self._stamp:
            if self._versions != dependency_versions(self._kinds, eq_class.table, objects):
                self._new_state = None
                return None
            self._stamp = eq_class.stamp
        decision = Decision(pod, self._new_state())
        decision.pre_filter, decision.evaluated = NOTHING_SAID, eq_class.table.num_nodes
        decision.idle = self.skips_reserve_and_pre_bind
        return decision

    def record_skips(self, pod: Pod, state: CycleState, objects: Any, *, scores: bool) -> None:
        """Note what the uncached plugins said about *pod*, and the *state* they left.

        *scores*: at pre_score, too. Nothing is noted if one of them did not skip, or cannot say what its Skip
        depends on.
        """
        eq_class = self.eq_class
        plan = eq_class.plan
        filtering, scoring = plan.skipping
        # One plugin that does not skip has to be called for each pod, and then so are all of them.
        if plan.skip_reads is None or not filtering <= state.skip_filter_plugins:
            return
        if scores and not scoring <= state.skip_score_plugins:
            return
        self.all_live_skip = scores
        kinds: set[str] = set()
        for hook in plan.skip_reads:
            read = _kinds(hook, pod)
            if read is None:
                return
            kinds.update(read)
        # Before the versions are noted: it adds kinds that must be among them.
        self._record_idle(pod, state, kinds)
        self._generation, self._kinds = eq_class.generation, tuple(sorted(kinds))
        self._stamp = eq_class.stamp
        self._versions = dependency_versions(self._kinds, eq_class.table, objects)
        self._new_state = state.template()

    def _record_idle(self, pod: Pod, state: CycleState, kinds: set[str]) -> None:
        plan = self.framework.plan
        names = {entry.name for entry in (*plan.reserve, *plan.pre_bind)}
        hooks = [plan.skip_reads.get(name) for name in names if name in state.skip_filter_plugins]
        read = [found for hook in hooks if hook is not None and (found := _kinds(hook, pod)) is not None]
        self.skips_reserve_and_pre_bind = len(read) == len(names)
        if self.skips_reserve_and_pre_bind:
            kinds.update(*read)


def _kinds(hook: Any, pod: Pod) -> Any:
    try:
        return hook(pod)
    except plugin_faults():  # the plugin is called for every pod then, as without the hook
        return None
