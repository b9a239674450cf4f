"""An evaluation apart from its cluster, for pickle and copy: names in the place of rows of a live table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

import numpy as np
from attrs import evolve

from .._base.value import record
from ..api import Pod
from ..cluster import InMemoryCluster
from ..cycle import Decision
from ..fork.dry_run import DryRunCluster
from ..framework import RECORDED, CycleState, PostFilterResult, Status
from ..state import NodeTable, Rows
from .record import PostFilterReport

_PLAIN: Final = (
    *("node_name", "error", "pre_filter", "scored", "pre_score_error"),
    *("evaluated", "idle", "shortcut"),
)
"""Attributes of a decision that are kept as they are."""
_REQUESTS: Final = ("bound", "evicted", "written", "patched")
"""Requests that a dry run has recorded."""


@record(frozen=True)
class NodeNames:
    """The part of the table that remains: the names of some rows, numbered from 0."""

    names: Sequence[str]
    num_nodes: int

    def names_of(self, rows: Sequence[int]) -> list[str]:
        """Return the names of *rows*."""
        return [self.names[row] for row in rows]


@record(frozen=True)
class ExtenderName:
    """The part of an extender that remains."""

    name: str


@record(frozen=True)
class Recorded:
    """A value that a plugin has recorded for the nodes that were feasible."""

    value: Any

    def __call__(self, feasible: Sequence[str]) -> Any:
        """Return the value."""
        return self.value


@record(eq=False)
class SavedDecision:
    """A decision without the table, the entries of plugins, and extenders."""

    pod: Pod
    attributes: dict[str, Any]
    skipped: tuple[set[str], set[str]]
    """Plugins whose filter, and whose score, was left out."""
    recorded: Mapping[str, Callable[[Sequence[str]], Any]]

    @classmethod
    def of(cls, decision: Decision) -> SavedDecision:
        """Return what an evaluation reads of *decision*; O(nodes)."""
        state, feasible = decision.state, decision.feasible
        attributes = {name: getattr(decision, name) for name in _PLAIN}
        attributes |= {"named": dict(decision.named), "named_by": dict(decision.named_by)}
        attributes["extenders"] = tuple(ExtenderName(each.name) for each in decision.extenders)
        for name in ("verdicts", "scores"):
            part = getattr(decision, name)
            attributes[name] = None if part is None else evolve(part, rows=named_rows(part.rows))
        if (diagnosis := decision.diagnosis) is not None:
            verdicts = evolve(diagnosis.verdicts, rows=named_rows(diagnosis.verdicts.rows))
            attributes["diagnosis"] = evolve(diagnosis, verdicts=verdicts)
        names: list[str] = []
        if feasible is not None:
            attributes["feasible"], names = named_rows(feasible), sorted(feasible.names())
        entries = state.get(RECORDED) or {}
        recorded = {name: Recorded(value_of(names)) for name, value_of in entries.items()}
        skipped = set(state.skip_filter_plugins), set(state.skip_score_plugins)
        return cls(decision.pod, attributes, skipped, recorded)

    def restored(self) -> Decision:
        """Return the decision."""
        state = CycleState()
        state.skip_filter_plugins, state.skip_score_plugins = self.skipped
        state.write(RECORDED, self.recorded)
        decision = Decision(self.pod, state)
        for name, value in self.attributes.items():
            setattr(decision, name, value)
        return decision


def named_rows(rows: Rows) -> Rows:
    """Return *rows* apart from their table: they have names, and no columns."""
    names = NodeNames(tuple(rows.names()), rows.table.num_nodes)
    return Rows.at(cast("NodeTable", names), np.arange(len(rows), dtype=np.intp))


@record(frozen=True)
class SavedReport:
    """Result of post_filter, without the cluster that would have had its requests."""

    result: PostFilterResult | None
    status: Status
    requests: Mapping[str, list[Any]]

    @classmethod
    def of(cls, report: PostFilterReport) -> SavedReport:
        """Return what is kept of *report*."""
        requests = {name: list(getattr(report.writes, name)) for name in _REQUESTS}
        result = report.result
        if result is not None:
            result = evolve(result, unless_row=None)  # a question to the table
        return cls(result, report.status, requests)

    def restored(self) -> PostFilterReport:
        """Return the report, over an empty cluster."""
        return PostFilterReport(self.result, self.status, DryRunCluster(InMemoryCluster(), **self.requests))
