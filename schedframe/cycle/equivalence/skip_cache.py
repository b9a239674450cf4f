"""SkipCache: uncached plugins that all answered Skip for a pod, and the versions that keep that true."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import define

from ..._plugin_faults import plugin_faults
from ...api import Pod
from ...framework import CycleState
from .dependencies import Stamp, Versions, dependency_versions
from .equivalence_class import EquivalenceClass


@define(eq=False)
class SkipCache:
    """What the uncached plugins said about pods with one spec, valid while ``skip_reads`` names no change.

    As long as it is valid none of them is called, and the cycle state is a copy of what they left behind.
    """

    eq_class: EquivalenceClass
    all_live_skip: bool = False
    """Whether all skip at scoring, too; where no node is feasible they need not."""
    skips_reserve_and_pre_bind: bool = False
    """Whether plugins at reserve and pre_bind have nothing to do either."""
    _new_state: Callable[[], CycleState] | None = None
    _generation: int = -1
    _kinds: tuple[str, ...] = ()
    _stamp: Stamp = (-1, -1, -1)
    _versions: Versions = ()

    def state(self, objects: Any) -> CycleState | None:
        """Return the state of a cycle in which no uncached plugin is called; ``None`` if they must be called.

        The class must be up to date. O(1) while nothing changes, else O(kinds).
        """
        eq_class = self.eq_class
        if self._new_state is None or self._generation != eq_class.generation:
            return None
        if eq_class.stamp is not self._stamp:
            if self._versions != dependency_versions(self._kinds, eq_class.table, objects):
                self._new_state = None
                return None
            self._stamp = eq_class.stamp
        return self._new_state()

    def record(self, pod: Pod, state: CycleState, objects: Any, *, scores: bool) -> None:
        """Note what the uncached plugins said about *pod*, and the *state* they left.

        *scores*: at pre_score, too. Nothing is noted if one of them did not skip, or cannot say what its Skip
        depends on.
        """
        eq_class = self.eq_class
        plan = eq_class.plan
        filtering, scoring = plan.skipping
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
        self._record_idle(pod, state, kinds)
        self._generation, self._kinds = eq_class.generation, tuple(sorted(kinds))
        self._stamp = eq_class.stamp
        self._versions = dependency_versions(self._kinds, eq_class.table, objects)
        self._new_state = state.template()

    def _record_idle(self, pod: Pod, state: CycleState, kinds: set[str]) -> None:
        plan = self.eq_class.framework.plan
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
