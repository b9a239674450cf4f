"""Comparison of the forms of a plugin, and a handle to call one without a scheduler."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from attrs import define, field

from schedframe.api import Pod
from schedframe.framework import CycleState, RowVerdicts, Status
from schedframe.state import NodeTable, ObjectStore, Rows

OPEN = Status()
"""Stands for a feasible row."""


@define(eq=False)
class StandInHandle:
    """The part of a Handle that the builtin plugins use."""

    table: NodeTable = field(factory=NodeTable)
    objects: ObjectStore = field(factory=ObjectStore)
    profile_name: str = "default-scheduler"

    def reporter(self, name: str, receive: Callable[[Any, Any], object]) -> Callable[[Any, Any, Any], object]:
        """Return a function that calls *receive* at once."""
        return lambda state, pod, value: receive(state, value)


def call(plugin: Any, hook: str, **offered: Any) -> Any:
    """Call *hook* with the *offered* arguments that it names; ``None`` if the plugin lacks it."""
    method = getattr(plugin, hook, None)
    if method is None:
        return None
    return method(**{name: offered[name] for name in inspect.signature(method).parameters})


def per_node_statuses(plugin: Any, state: CycleState, pod: Pod, rows: Rows) -> list[Status]:
    """Return the status of each row by the per-node form."""
    return [call(plugin, "filter", state=state, pod=pod, node_info=info) or OPEN for info in rows]


def columnar_statuses(plugin: Any, state: CycleState, pod: Pod, rows: Rows) -> list[Status]:
    """Return the status of each row by the columnar form."""
    verdicts = call(plugin, "filter_rows", state=state, pod=pod, rows=rows)
    if verdicts is None:
        return [OPEN] * len(rows)
    assert isinstance(verdicts, RowVerdicts)
    assert verdicts.codes.shape == (len(rows),)
    return [verdicts.statuses[code - 1] if code else OPEN for code in verdicts.codes.tolist()]


def per_node_scores(plugin: Any, state: CycleState, pod: Pod, rows: Rows) -> list[int]:
    """Return the raw score of each row by the per-node form."""
    return [call(plugin, "score", state=state, pod=pod, node_info=info) for info in rows]


def columnar_scores(plugin: Any, state: CycleState, pod: Pod, rows: Rows) -> list[int]:
    """Return the raw score of each row by the columnar form."""
    scores = call(plugin, "score_rows", state=state, pod=pod, rows=rows)
    assert isinstance(scores, np.ndarray)
    assert scores.shape == (len(rows),)
    assert scores.dtype == np.int64
    assert not any(np.shares_memory(scores, column) for column in _columns(rows.table))
    listed: list[int] = scores.tolist()
    return listed


def parts_of(rows: Rows) -> list[Rows]:
    """Return all rows, all but the first in reverse, and each row alone."""
    positions = rows.positions
    backwards = Rows.at(rows.table, positions[:0:-1])
    return [rows, backwards, *(Rows.at(rows.table, positions[i : i + 1]) for i in range(len(rows)))]


def check_filter_agreement(plugin: Any, table: NodeTable, pod: Pod) -> None:
    """Assert that all forms of filter agree on every row, after pre_filter."""
    state = CycleState()
    rows = table.rows()
    before = call(plugin, "pre_filter", state=state, pod=pod, nodes=rows)
    if isinstance(before, Status) and not before.is_success:
        return
    for part in parts_of(rows):
        expected = per_node_statuses(plugin, state, pod, part)
        assert columnar_statuses(plugin, state, pod, part) == expected
        assert grouped_verdicts(plugin, state, pod, part) in (None, [status == OPEN for status in expected])


def check_score_agreement(plugin: Any, table: NodeTable, pod: Pod) -> None:
    """Assert that all forms of score agree on every row, after pre_score."""
    state = CycleState()
    rows = table.rows()
    before = call(plugin, "pre_score", state=state, pod=pod, nodes=rows)
    if isinstance(before, Status) and not before.is_success:
        return
    for part in parts_of(rows):
        expected = per_node_scores(plugin, state, pod, part)
        assert columnar_scores(plugin, state, pod, part) == expected
        check_groups(plugin, state, pod, part)


def check_pods_agreement(plugin: Any, table: NodeTable, pods: list[Pod]) -> None:
    """Assert that the batched forms for *pods* agree with the per-node forms for each pod."""
    rows = table.rows()
    asking = []
    for pod in pods:
        state = CycleState()
        asked = [call(plugin, hook, state=state, pod=pod, nodes=rows) for hook in ("pre_filter", "pre_score")]
        if not any(isinstance(answer, Status) and not answer.is_success for answer in asked):
            asking.append((state, pod))
    offered = {"states": [state for state, _ in asking], "pods": [pod for _, pod in asking], "table": table}
    prepared_filter, prepared_score = (
        call(plugin, hook, **offered) if asking else None for hook in ("prepare_filter", "prepare_score")
    )
    for row in rows.positions.tolist():
        info = table.info(row)
        if prepared_filter is not None:
            verdicts = [call(plugin, "filter", state=s, pod=p, node_info=info) or OPEN for s, p in asking]
            answers = prepared_filter(row)
            if isinstance(answers, RowVerdicts):
                answers = [answers.statuses[code - 1] if code else None for code in answers.codes.tolist()]
            assert (
                [OPEN] * len(asking) if answers is None else [each or OPEN for each in answers]
            ) == verdicts
            if hasattr(prepared_filter, "rejects"):
                rejected = prepared_filter.rejects(row)
                wanted = [each is not OPEN for each in verdicts]
                assert ([False] * len(asking) if rejected is None else rejected.tolist()) == wanted
        if prepared_score is not None:
            scores = [call(plugin, "score", state=s, pod=p, node_info=info) for s, p in asking]
            assert list(prepared_score(row)) == scores


def grouped_verdicts(plugin: Any, state: CycleState, pod: Pod, rows: Rows) -> list[bool] | None:
    """Return whether each row passes, by group; ``None`` if the plugin has no groups."""
    answer = call(plugin, "filter_groups", state=state, pod=pod, table=rows.table)
    if answer is None:
        return None
    keys = list(zip(*(rows.take(column).tolist() for column in answer.columns), strict=True))
    different = list(dict.fromkeys(keys))
    by_key = dict(zip(different, answer.passes(different), strict=True))
    return [by_key[key] for key in keys]


def check_groups(plugin: Any, state: CycleState, pod: Pod, rows: Rows) -> None:
    """Assert that scores by group, if any, equal the normalized scores of each row."""
    answer = call(plugin, "score_groups", state=state, pod=pod, table=rows.table)
    if answer is None or not len(rows):
        return
    scores = np.array(columnar_scores(plugin, state, pod, rows), np.int64)
    changed = call(plugin, "normalize_scores", state=state, pod=pod, scores=scores, nodes=rows)
    keys = list(zip(*(rows.take(column).tolist() for column in answer.columns), strict=True))
    different = list(dict.fromkeys(keys))
    found = answer.scores(different)
    assert set(map(type, found)) == {int}
    by_key = dict(zip(different, found, strict=True))
    assert [by_key[key] for key in keys] == (scores if changed is None else changed).tolist()


def _columns(table: NodeTable) -> list[Any]:
    names = table.resources()
    columns: list[Any] = [table.pod_count, table.allowed_pods]
    columns += [table.allocatable(name) for name in names] + [table.requested(name) for name in names]
    return columns + [table.non_zero_requested(name) for name in ("cpu", "memory")]
