"""One profile: its compiled plugins, and how each extension point treats their answers."""

from __future__ import annotations

import logging
from collections.abc import Container, Hashable, Mapping, Sequence
from typing import Any

from attrs import field

from .._base.checked import checked
from .._base.plugin_faults import fault_text, plugin_faults
from .._base.value import record
from ..api import ClusterObject, Pod, check_kind
from ..config import EffectiveProfile
from ..errors import PluginError
from ..queue import EventRegistration
from ..state import NodeInfo, Rows
from .binding import Binding, Steps, binding_steps, pre_bind_steps, pre_binders, run
from .cycle_state import CycleState
from .declarations import Depends, declared, depends_on
from .factories import SharedInstance, make_plugin
from .faults import (
    from_exception,
    invalid_answer,
    read_pre_enqueue,
    read_registrations,
    read_status,
)
from .filtering import (
    PreFilterOutcome,
    filter_node,
    filter_rows,
    run_filters,
    run_pod_hook,
    run_pre_filter,
)
from .handle import Handle
from .hook_calls import Guard, closed_on_error
from .nominated import NominatedFilter
from .plan import Plan, compile_plan
from .post_filter_answers import ENDS_POST_FILTER, post_filter_answer
from .ready_plugins import profile_of
from .registry import Registry
from .results import PermitOutcome, PostFilterResult
from .scoring import ScoreTable, run_pre_score, run_scores
from .status import SUCCESS, Code, Status, new_status
from .verdicts import Diagnosis, Verdicts

logger = logging.getLogger("schedframe")


_PERMITTED = PermitOutcome()
_WAIT = frozenset({Code.WAIT})
_ROW_LOCAL_KEY = object()
"""Key of ``row_local_key`` in the memo of a spec."""


@record(eq=False)
class Framework:
    """The plugins of one profile and the rules of each extension point.

    Used by the scheduling cycle, and by plugins through ``handle.runner``. All methods belong to the core's
    thread.
    """

    profile: EffectiveProfile
    plan: Plan
    handle: Handle
    nominated: NominatedFilter = field(init=False)
    _signatures: dict[str, Any] = field(init=False)
    _row_local: frozenset[str] = field(init=False)
    """Plugins whose answers about a row do not depend on other rows."""

    def __attrs_post_init__(self) -> None:
        self._signatures = {name: call for name, call in self.plan.signatures if call is not None}
        plugins = self.plan.plugins.items()
        self._row_local = frozenset(n for n, each in plugins if depends_on(each) is not Depends.CLUSTER)
        self.nominated = NominatedFilter(self.plan, self.handle)

    @classmethod
    def build(
        cls,
        profile: EffectiveProfile,
        registry: Registry,
        handle: Handle,
        guards: Sequence[Guard] = (),
    ) -> Framework:
        """Make the profile's plugins and compile them.

        Plugins of the catalogue that are not installed are left out. Raises :class:`PluginError` for a
        plugin that breaks the contract or cannot be made, with the plugin's own error as cause.
        """
        names = dict.fromkeys(name for entries in profile.plugins.values() for name, _ in entries)
        plugins: dict[str, Any] = {}
        own: dict[str, Any] = {}  # without instances, which the program made and may go on to use
        with closed_on_error(own):
            for name in filter(registry.takes_part, names):
                factory = registry.factory(name)
                plugins[name] = make_plugin(name, factory, profile.plugin_args.get(name), handle)
                if not isinstance(factory, SharedInstance):
                    own[name] = plugins[name]
            all_filters = profile.run_all_filters
            plan = compile_plan(plugins, profile.plugins, guards, all_filters=all_filters)
            return cls(profile, plan, handle)

    @classmethod
    @checked
    def of(
        cls, plugins: Mapping[str, Any], handle: Handle, *, weights: Mapping[str, int] | None = None
    ) -> Framework:
        """Compile *plugins* (name → instance), each at all its extension points, in this order.

        *weights*: plugin → weight of its scores, 1 by default. Pods are sorted by priority unless one sorts.
        """
        ready, profile = profile_of(plugins, weights or {}, handle.profile_name)
        return cls(profile, compile_plan(ready, profile.plugins), handle)

    @property
    def profile_name(self) -> str:
        """The profile's scheduler name."""
        return self.profile.scheduler_name

    def plugin(self, name: str) -> Any | None:
        """Return the plugin of that name, if the profile has it."""
        return self.plan.plugins.get(name)

    # ---- queue -------------------------------------------------------------------------------------------

    def run_pre_enqueue(self, pod: Pod) -> Status | None:
        """Return the first rejection or error, ``None`` if the pod may enter the queue."""
        for entry in self.plan.pre_enqueue:
            try:
                answer = entry.call(pod)
            except plugin_faults() as error:
                return from_exception(entry.name, "pre_enqueue", error, pod)
            status = read_pre_enqueue(entry.name, answer)
            if status is not None:
                return status
        return None

    def events(self) -> dict[str, tuple[EventRegistration, ...] | None]:
        """Return plugin → registrations; ``None`` for a plugin without the hook: all events."""
        registrations: dict[str, tuple[EventRegistration, ...] | None] = {}
        for name, call in self.plan.events:
            if call is None:
                registrations[name] = None
                continue
            try:
                answer = call()
            except plugin_faults() as error:
                text = f"plugin {name} failed in events_to_register: {fault_text(error)}"
                raise PluginError(text) from error
            registrations[name] = read_registrations(name, answer)
        return registrations

    def kinds(self) -> dict[str, type[ClusterObject]]:
        """Return the kinds of their own that the plugins declare (attribute ``kinds``): ``KIND`` → class."""
        kinds: dict[str, type[ClusterObject]] = {}
        for name, plugin in self.plan.plugins.items():
            for cls in declared(plugin, "kinds"):
                try:
                    kinds[check_kind(cls).KIND] = cls
                except PluginError as error:
                    raise PluginError(f"plugin {name}: {error}") from error
        return kinds

    def rejecting_plugins(self) -> frozenset[str]:
        """Return the plugins that can reject a pod, whose events may therefore make it schedulable."""
        points = ("preEnqueue", "preFilter", "filter", "postFilter", "reserve", "permit", "preBind", "bind")
        enabled = {name for point in points for name, _ in self.profile.plugins.get(point, ())}
        return frozenset(enabled & self.plan.plugins.keys())

    # ---- scheduling cycle --------------------------------------------------------------------------------

    def run_pre_filter(self, state: CycleState, pod: Pod, nodes: Rows | None = None) -> PreFilterOutcome:
        """pre_filter of all plugins."""
        return run_pre_filter(self.plan, state, pod, self.handle.table.rows() if nodes is None else nodes)

    def run_add_pod(self, state: CycleState, pod: Pod, other: Pod, info: NodeInfo) -> Status | None:
        """Update *state* as if *other* joined the node; return an error or ``None``."""
        return run_pod_hook(self.plan, state, pod, other, info, "add_pod")

    def run_remove_pod(self, state: CycleState, pod: Pod, other: Pod, info: NodeInfo) -> Status | None:
        """Update *state* as if *other* left the node; return an error or ``None``."""
        return run_pod_hook(self.plan, state, pod, other, info, "remove_pod")

    def run_filters(self, state: CycleState, pod: Pod, info: NodeInfo) -> Status | None:
        """Run all filters for one node; return the first rejection, ``None`` if it passes."""
        return run_filters(self.plan, state, pod, info, self.handle.table)

    def run_all_filters(self, state: CycleState, pod: Pod, info: NodeInfo) -> dict[str, Status]:
        """Run every filter for one node, also after a rejection; return plugin → status, passes too."""
        table = self.handle.table
        return {
            entry.name: filter_node(entry, state, pod, info, table) or SUCCESS
            for entry in self.plan.filter
            if entry.name not in state.skip_filter_plugins
        }

    def run_filters_with_nominated_pods(self, state: CycleState, pod: Pod, info: NodeInfo) -> Status | None:
        """Run all filters with and without the pods nominated to the node; ``None`` if it passes both."""
        return self.nominated.run(state, pod, info)

    def filter_nominated(self, state: CycleState, pod: Pod, info: NodeInfo) -> Status | None:
        """As :meth:`run_filters_with_nominated_pods`, for the only node of a run of the extension point."""
        return self.nominated.run(state, pod, info)

    def filter_in_order(self, state: CycleState, pod: Pod, rows: Rows, wanted: int) -> tuple[Verdicts, int]:
        """As :meth:`NominatedFilter.in_order`, nominated pods considered."""
        return self.nominated.in_order(state, pod, rows, wanted)

    def row_local_key(self, state: CycleState, pod: Pod) -> Hashable | None:
        """Return what the filters read of *pod* if none of them reads other rows; else ``None``.

        On a row that did not change, pods with equal keys get the same verdicts. Kept on the spec, for pods
        that agree in all that a plugin may read besides it.
        """
        metadata = pod.metadata
        inputs = (
            self,
            metadata.namespace,
            metadata.labels,
            metadata.annotations,
            metadata.owner_references,
            self.handle.objects.changes,
            state.skip_filter_plugins,
        )
        memo: Any = pod.spec.memo.get(_ROW_LOCAL_KEY)
        if memo is not None and memo[0] == inputs:
            known: Hashable | None = memo[1]
            return known
        key = self._row_local_key(state, pod)
        pod.spec.memo[_ROW_LOCAL_KEY] = (*inputs[:-1], frozenset(state.skip_filter_plugins)), key
        return key

    def _row_local_key(self, state: CycleState, pod: Pod) -> Hashable | None:
        key: list[Hashable] = []
        for entry in self.plan.filter:
            if entry.name not in self._row_local:
                if entry.name not in state.skip_filter_plugins:
                    return None
                continue
            signed, signature = None, self._signatures.get(entry.name)
            if signature is not None:
                try:
                    signed = signature(pod)
                    hash(signed)
                except plugin_faults() as error:
                    logger.warning("plugin %s failed in pod_signature: %s", entry.name, fault_text(error))
                    return None
            if signed is None:
                return None
            key.append(signed)
        return tuple(key)

    def filter_rows(self, state: CycleState, pod: Pod, rows: Rows) -> Verdicts:
        """Run all filters for many rows, nominated pods considered."""
        verdicts = filter_rows(self.plan, state, pod, rows)
        nominated = self.nominated.nodes_for(pod)
        if nominated:
            self.nominated.overlay(state, pod, verdicts, nominated)
        return verdicts

    def run_pre_score(self, state: CycleState, pod: Pod, rows: Rows) -> Status | None:
        """pre_score of all plugins; an error or ``None``."""
        return run_pre_score(self.plan, state, pod, rows)

    def run_scores(self, state: CycleState, pod: Pod, rows: Rows) -> ScoreTable | Status:
        """Scores of the rows, or the error of a plugin."""
        return run_scores(self.plan, state, pod, rows)

    def run_post_filter(
        self, state: CycleState, pod: Pod, diagnosis: Diagnosis
    ) -> tuple[PostFilterResult | None, Status]:
        """Run the post_filter plugins in order until one made room, failed or answers that nothing helps."""
        result: PostFilterResult | None = None
        reasons: list[str] = []
        rejector = ""
        for entry in self.plan.post_filter:
            try:
                answer = entry.call(state, pod, diagnosis)
            except plugin_faults() as error:
                return None, from_exception(entry.name, "post_filter", error, pod)
            found, status = post_filter_answer(entry.name, answer)
            if status.code in ENDS_POST_FILTER:
                return None if status.code is Code.ERROR else found, status
            if found is not None and found.nominates:
                result = found
            reasons += status.reasons
            rejector = rejector or entry.name
        return result, new_status(Code.UNSCHEDULABLE, tuple(reasons), rejector)

    def run_reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Reserve with every plugin; return the first rejection or error. The caller calls run_unreserve."""
        for entry in self.plan.reserve:
            try:
                answer = entry.call(state, pod, node_name)
            except plugin_faults() as error:
                return from_exception(entry.name, "reserve", error, pod, node_name)
            status = read_status(entry.name, "reserve", answer, "None, a rejection or an error")
            if status is not None:
                return status
        return None

    def run_unreserve(self, state: CycleState, pod: Pod, node_name: str) -> list[Status]:
        """Undo reserve with every plugin, last first, also after faults, which are returned.

        So are interruptions, such as Ctrl-C in a plugin: see ``error`` of the status.
        """
        faults = []
        for entry in self.plan.unreserve:
            try:
                entry.call(state, pod, node_name)
            except BaseException as error:  # noqa: BLE001 - the others must give back what they hold, too
                faults.append(from_exception(entry.name, "unreserve", error, pod, node_name))
        return faults

    def run_permit(self, state: CycleState, pod: Pod, node_name: str) -> PermitOutcome:
        """Run every permit plugin; return the first rejection or error, else all timeouts."""
        if not self.plan.permit:
            return _PERMITTED
        waits, reasons = dict[str, float](), tuple[str, ...]()
        for entry in self.plan.permit:
            try:
                status = entry.call(state, pod, node_name)
            except plugin_faults() as error:
                return PermitOutcome(from_exception(entry.name, "permit", error, pod, node_name))
            wanted = "None, a rejection or Status.wait(seconds)"
            problem = read_status(entry.name, "permit", status, wanted, _WAIT)
            if problem is None:
                continue
            if problem.code is not Code.WAIT:
                return PermitOutcome(problem)
            if problem.timeout is None:
                return PermitOutcome(invalid_answer(entry.name, "permit", status, wanted))
            waits[entry.name], reasons = problem.timeout, (*reasons, *problem.reasons)
        return PermitOutcome(None, waits, reasons) if waits else _PERMITTED

    # ---- binding cycle -----------------------------------------------------------------------------------

    def pre_binders(self, state: CycleState, pod: Pod, node_name: str) -> tuple[str, ...] | Status:
        """Return the plugins whose pre_bind has something to do for the pod, or the error of one."""
        return pre_binders(self.plan, state, pod, node_name)

    def binding_steps(self, binding: Binding) -> Steps:
        """Return what is left of pre_bind, and bind, as steps for a driver of :mod:`.binding`."""
        return binding_steps(self.plan, binding)

    def run_pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """pre_bind of the plugins that have something to do; return the first answer that is no success.

        As :meth:`run_bind`, it runs in this thread, also what is ``async``.
        """
        names = self.pre_binders(state, pod, node_name)
        if isinstance(names, Status):
            return names
        return run(pre_bind_steps(self.plan, Binding(state, pod, node_name, names)))

    def run_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Bind by the first plugin that takes the pod; ``None`` if it is bound, else why not."""
        return run(binding_steps(self.plan, Binding(state, pod, node_name)))

    def run_post_bind(self, state: CycleState, pod: Pod, node_name: str) -> list[Status]:
        """Run every post_bind plugin; return their faults, and interruptions as :meth:`run_unreserve`."""
        faults = []
        for entry in self.plan.post_bind:
            try:
                entry.call(state, pod, node_name)
            except BaseException as error:  # noqa: BLE001 - the pod is bound, whatever happens
                faults.append(from_exception(entry.name, "post_bind", error, pod, node_name))
        return faults

    def close(self, left: Container[int] = ()) -> list[Status]:
        """Close every plugin but those whose ``id()`` is in *left*; return their faults."""
        faults = []
        for entry in self.plan.close:
            if id(self.plan.plugins[entry.name]) in left:
                continue
            try:
                entry.call()
            except plugin_faults() as error:
                faults.append(from_exception(entry.name, "close", error))
        return faults
