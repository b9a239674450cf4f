"""pre_filter and filter: from all nodes to those on which the pod can run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

from .._base.plugin_faults import plugin_faults
from .._base.value import record
from ..api import Pod
from ..state import NodeInfo, NodeTable, Rows, substituted_row
from ..state.greatest import greatest
from .all_filters import merge_all, merged
from .cycle_state import CycleState
from .faults import REJECTING, as_error, from_exception, invalid_answer, read_status
from .plan import FilterEntry, Plan
from .results import PreFilterResult, RowVerdicts
from .status import Code, Status
from .verdicts import Verdicts


@record(frozen=True)
class PreFilterOutcome:
    """The combined answers of the pre_filter plugins."""

    status: Status | None = None
    """A rejection or an error; ``None`` to go on."""
    node_names: frozenset[str] | None = None
    """The only nodes to look at, ``None`` for all."""
    plugins: frozenset[str] = frozenset()
    """Plugins that named nodes."""

    @property
    def absent_status(self) -> Status | None:
        """The status of the nodes that are left out because of ``node_names``."""
        return self.absent_status_with(())

    def absent_status_with(self, also: Iterable[str]) -> Status | None:
        """Return ``absent_status`` with the plugins *also* in its list."""
        if self.node_names is None:
            return None
        plugins = sorted({*self.plugins, *also})
        return Status.unresolvable(f"node(s) didn't satisfy plugin(s) [{' '.join(plugins)}]")


_ALL_PASS = PreFilterOutcome()
_ANY_CODE = frozenset(Code)
_PRE_FILTER_REJECTIONS = frozenset({Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE})


def run_pre_filter(plan: Plan, state: CycleState, pod: Pod, rows: Rows) -> PreFilterOutcome:
    """Run the pre_filter plugins in order.

    The first error ends the point, and so does the first rejection that no preemption can help. After any
    other rejection the plugins that follow still run, because preemption needs what they precompute (and one
    of them may reject the pod for good); the last such rejection counts.
    """
    names: frozenset[str] | None = None
    plugins: set[str] = set()
    rejection: Status | None = None
    for entry in plan.pre_filter:
        try:
            answer = entry.call(state, pod, rows)
        except plugin_faults() as error:
            return PreFilterOutcome(from_exception(entry.name, "pre_filter", error, pod))
        if answer is None:
            continue
        if isinstance(answer, PreFilterResult):
            plugins.add(entry.name)
            names = answer.node_names if names is None else names & answer.node_names
            if not names:
                return PreFilterOutcome(_nothing_left(plugins), names, frozenset(plugins))
            continue
        if isinstance(answer, Status) and answer.code is Code.SKIP:
            state.skip_filter_plugins.add(entry.name)
            continue
        status = _pre_filter_status(entry.name, answer)
        if status is None:
            continue
        if status.code is not Code.UNSCHEDULABLE:
            return PreFilterOutcome(status)
        rejection = status
    if rejection is None and names is None:
        return _ALL_PASS
    return PreFilterOutcome(rejection, names, frozenset(plugins))


def _pre_filter_status(plugin: str, answer: Any) -> Status | None:
    """Return a rejection, an error or ``None``; PENDING is an error here, as it is in the reference."""
    status = read_status(plugin, "pre_filter", answer, "None, a Status or a PreFilterResult", _ANY_CODE)
    if status is None or status.code in _PRE_FILTER_REJECTIONS:
        return status
    return as_error(plugin, "pre_filter", status)


def _nothing_left(plugins: set[str]) -> Status:
    if len(plugins) == 1:
        return Status.unresolvable(f"node(s) didn't satisfy plugin {next(iter(plugins))}")
    return Status.unresolvable(
        f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(plugins))}] simultaneously"
    )


def run_filters(plan: Plan, state: CycleState, pod: Pod, info: NodeInfo, table: NodeTable) -> Status | None:
    """Run the filter plugins for one node; return the first rejection or error, ``None`` if it passes.

    If the plan runs all filters, return the merged rejections of all.
    """
    skip, rejection = state.skip_filter_plugins, None
    for entry in plan.filter:
        if entry.name in skip:
            continue
        call = entry.filter
        if call is None:
            status = filter_node(entry, state, pod, info, table)
        else:
            # As filter_node, without a call for each plugin and node.
            try:
                answer = call(state, pod, info)
            except plugin_faults() as error:
                return from_exception(entry.name, "filter", error, pod, info.name)
            status = None if answer is None else read_status(entry.name, "filter", answer)
        if status is not None:
            if not plan.runs_all_filters or status.code is Code.ERROR:
                return status
            rejection = status if rejection is None else merged(rejection, status)
    return rejection


def filter_node(
    entry: FilterEntry, state: CycleState, pod: Pod, info: NodeInfo, table: NodeTable
) -> Status | None:
    """Return the rejection or error of one plugin for one node, ``None`` if the node passes.

    The per-node form is called where there is one.
    """
    try:
        if entry.filter is None:
            return _filter_one_row(entry, state, pod, info, table)
        answer = entry.filter(state, pod, info)
    except plugin_faults() as error:
        return from_exception(entry.name, "filter", error, pod, info.name)
    return None if answer is None else read_status(entry.name, "filter", answer)


def rejections(
    entry: FilterEntry, state: CycleState, pod: Pod, table: NodeTable, rows: Sequence[int]
) -> list[tuple[int, Status]]:
    """Return the positions among *rows* that a plugin without columnar form rejects, and why.

    For one row as :func:`filter_node`; apart from the plugin itself a fraction of a microsecond each.
    """
    call, info = entry.for_each_of(len(rows)), table.info
    failures = []
    for position, row in enumerate(rows):
        try:
            answer = call(state, pod, info(row))
        except plugin_faults() as error:
            fault = from_exception(entry.name, "filter", error, pod, info(row).name)
            failures.append((position, fault))
            continue
        if answer is not None:
            status = read_status(entry.name, "filter", answer)
            if status is not None:
                failures.append((position, status))
    return failures


def _filter_one_row(
    entry: FilterEntry, state: CycleState, pod: Pod, info: NodeInfo, table: NodeTable
) -> Status | None:
    with substituted_row(table, info) as row:
        rows = Rows.at(table, np.array([row], np.intp))
        answer = call_columnar(entry, state, pod, rows, info.name)
    code = 0 if answer is None else int(answer.codes[0])
    return answer.statuses[code - 1] if answer is not None and code else None


def filter_rows(plan: Plan, state: CycleState, pod: Pod, rows: Rows) -> Verdicts:
    """Run the filter plugins for many rows, each by its columnar form where it has one.

    A plugin without one is called for exactly the rows that passed all plugins before it, so that first
    rejectors, errors and side effects are those of a node-by-node search. If the plan runs all filters, each
    is called for all rows without an error, and the rejections of a row are merged.
    """
    verdicts = Verdicts.passing_all(rows)
    skip = state.skip_filter_plugins
    if plan.runs_all_filters:
        for entry in plan.filter:
            if entry.name not in skip:
                _merge_all(entry, state, pod, verdicts)
        return verdicts
    for entry in plan.filter:
        if entry.name in skip:
            continue
        if entry.filter_rows is None:
            if not _filter_each(entry, state, pod, verdicts):
                break
            continue
        answer = call_columnar(entry, state, pod, rows)
        if answer is not None:
            verdicts.merge(entry.name, answer)
    return verdicts


def _merge_all(entry: FilterEntry, state: CycleState, pod: Pod, verdicts: Verdicts) -> None:
    """Call one plugin for all rows without an error, and merge its rejections with those before."""
    rows = verdicts.rows
    if entry.filter_rows is not None:
        answer = call_columnar(entry, state, pod, rows)
        if answer is not None:
            merge_all(verdicts, entry.name, answer)
        return
    called = verdicts.without_error()
    for index, status in rejections(entry, state, pod, rows.table, rows.positions[called].tolist()):
        position = int(called[index])
        before = verdicts.status_at(position)
        verdicts.reject(position, status if before is None else merged(before, status))


def _filter_each(entry: FilterEntry, state: CycleState, pod: Pod, verdicts: Verdicts) -> bool:
    """Call a per-node plugin for the rows that pass so far; whether there were any."""
    positions = verdicts.passing()
    table = verdicts.rows.table
    numbers = verdicts.rows.positions[positions].tolist()
    for index, status in rejections(entry, state, pod, table, numbers):
        verdicts.reject(int(positions[index]), status)
    return bool(len(positions))


def call_columnar(
    entry: FilterEntry, state: CycleState, pod: Pod, rows: Rows, node: str = ""
) -> RowVerdicts | None:
    """Call the columnar form of one plugin and return its checked answer; ``None`` if all rows pass.

    Where the plugin fails, or answers what the contract does not allow, the verdicts have errors of the
    plugin. The codes are within the statuses. *node*: the node of the only row.
    """
    assert entry.filter_rows is not None, "only called for plugins with a columnar form"
    try:
        answer: Any = entry.filter_rows(state, pod, rows)
    except plugin_faults() as error:
        return _all_rows(rows, from_exception(entry.name, "filter_rows", error, pod, node))
    return None if answer is None else _checked_verdicts(entry.name, answer, rows)


def _checked_verdicts(plugin: str, answer: Any, rows: Rows) -> RowVerdicts:
    """Return *answer* with errors of *plugin* in place of what the contract does not allow."""
    if not isinstance(answer, RowVerdicts) or not isinstance(answer.codes, np.ndarray):
        return _invalid_verdicts(plugin, answer, "None or RowVerdicts", rows)
    codes = answer.codes
    if codes.shape != (len(rows),) or codes.dtype.kind not in "iu":
        wanted = f"integer codes of shape ({len(rows)},)"
        return _invalid_verdicts(plugin, (codes.dtype, codes.shape), wanted, rows)
    try:
        statuses = tuple(answer.statuses)
    except Exception:  # noqa: BLE001 - what the plugin gave is no sequence, and is reported
        return _invalid_verdicts(plugin, answer.statuses, "RowVerdicts with a sequence of statuses", rows)
    # Seen as unsigned, a negative code is larger than any.
    if len(codes) and greatest(codes.view(f"u{codes.dtype.itemsize}")) > len(statuses):
        wanted = f"codes from 0 to the number of statuses, which is {len(statuses)}"
        return _invalid_verdicts(plugin, sorted(set(codes.tolist())), wanted, rows)
    return RowVerdicts(codes, tuple(_rejecting(plugin, status) for status in statuses))


def _rejecting(plugin: str, status: Any) -> Status:
    rejection = read_status(plugin, "filter_rows", status)
    return rejection or invalid_answer(plugin, "filter_rows", status, REJECTING)


def _invalid_verdicts(plugin: str, given: Any, wanted: str, rows: Rows) -> RowVerdicts:
    return _all_rows(rows, invalid_answer(plugin, "filter_rows", given, wanted))


def _all_rows(rows: Rows, status: Status) -> RowVerdicts:
    return RowVerdicts(np.ones(len(rows), np.int8), (status,))


def run_pod_hook(
    plan: Plan,
    state: CycleState,
    pod: Pod,
    other: Pod,
    info: NodeInfo | None,
    hook: Literal["add_pod", "remove_pod"],
) -> Status | None:
    """Update *state* as if *other* joined or left the node; return an error or ``None``."""
    skip = state.skip_filter_plugins
    for entry in plan.pod_hooks:
        if entry.name in skip:
            continue
        call = entry.add_pod if hook == "add_pod" else entry.remove_pod
        if call is None:
            continue
        try:
            status = call(state, pod, other, info)
        except plugin_faults() as error:
            node = info.name if info is not None else ""
            return from_exception(entry.name, hook, error, pod, node)
        if status is None:
            continue
        problem = read_status(entry.name, hook, status, "None or a Status", _ANY_CODE)
        if problem is not None:
            return as_error(entry.name, hook, problem)
    return None
