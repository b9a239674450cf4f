"""Plugins of a profile that are cached, per node or per row, and those called for every pod."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

from attrs import evolve

from ..._base.value import record
from ...framework import Depends, Framework, Plan, depends_on
from ...framework.declarations import declared
from ...framework.plan import FilterEntry


@record(frozen=True)
class CacheablePlan:
    """The plan of a profile in two parts: cached plugins, and uncached (live) ones."""

    cached: Plan
    live: Plan
    node_plan: Plan
    """The cached plugins whose answer for a row depends on the Node object alone."""
    pod_plan: Plan
    """The other cached plugins."""
    by_state: frozenset[str]
    """Names of those whose answer for a row depends on its resources alone."""
    order: dict[str, int]
    """Filter plugin → its position in the profile."""
    node_signatures: tuple[Any, ...]
    """pod_signature of the plugins of ``node_plan``."""
    pod_signatures: tuple[Any, ...]
    """pod_signature of those of ``pod_plan``."""
    dependencies: tuple[str, ...]
    """Kinds of objects that cached plugins read beside the row."""
    node_dependencies: tuple[str, ...]
    """Those of ``node_plan``."""
    node_filters: tuple[FilterEntry, ...]
    """Live plugins that have no part in filter and score but a per-node filter: they never skip."""
    skipping: tuple[frozenset[str], frozenset[str]]
    """Names of the other live plugins that filter, and of those that score."""
    skip_reads: tuple[Any, ...] | None
    """``skip_reads`` of the other live plugins at filter and score; ``None`` if one of them has none."""


def partition_plan(framework: Framework) -> CacheablePlan | None:
    """Divide the plan of a framework; ``None`` if no plugin of it can be cached."""
    plan = framework.plan
    signatures = {name: call for name, call in plan.signatures if call is not None}
    depends = {name: depends_on(plan.plugins[name]) for name in signatures}
    local = {name for name, what in depends.items() if what is not Depends.CLUSTER}
    # Scores whose normalisation cannot be maintained row by row are not cached.
    local -= {
        entry.name for entry in plan.score if entry.normalize is not None and entry.normalization is None
    }
    if not local:
        return None

    def reads(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted({kind for name in names for kind in declared(plan.plugins[name], "reads")}))

    node_filters = _node_filters(plan, local)
    nodes = {name for name in local if depends[name] is Depends.NODE_OBJECT}
    return CacheablePlan(
        cached=part_of(plan, local),
        live=part_of(plan, plan.plugins.keys() - local),
        node_plan=part_of(plan, nodes),
        pod_plan=part_of(plan, local - nodes),
        by_state=frozenset(name for name in local if depends[name] is Depends.ROW_RESOURCES),
        order={entry.name: place for place, entry in enumerate(plan.filter)},
        node_signatures=tuple(signatures[name] for name in signatures if name in nodes),
        pod_signatures=tuple(signatures[name] for name in signatures if name in local - nodes),
        dependencies=reads(local),
        node_dependencies=reads(nodes),
        node_filters=node_filters,
        skipping=(
            frozenset(_names(plan, "filter") - local.union(entry.name for entry in node_filters)),
            frozenset(_names(plan, "score") - local),
        ),
        skip_reads=_skip_reads(plan, local.union(entry.name for entry in node_filters)),
    )


def part_of(plan: Plan, names: Container[str]) -> Plan:
    """Return the points of the scheduling cycle with the plugins of these *names* alone."""
    points = ("pre_filter", "pod_hooks", "filter", "pre_score", "score")
    parts: dict[str, Any] = {
        point: tuple(entry for entry in getattr(plan, point) if entry.name in names) for point in points
    }
    return evolve(plan, **parts)


def _names(plan: Plan, *points: str) -> set[str]:
    return {entry.name for point in points for entry in getattr(plan, point)}


def _node_filters(plan: Plan, local: set[str]) -> tuple[FilterEntry, ...]:
    others = local | _names(plan, "pre_filter", "pre_score", "score")
    return tuple(entry for entry in plan.filter if entry.filter_rows is None and entry.name not in others)


def _skip_reads(plan: Plan, others: set[str]) -> tuple[Any, ...] | None:
    live = _names(plan, "pre_filter", "filter", "pre_score", "score") - others
    if any(name not in plan.skip_reads for name in live):
        return None
    return tuple(plan.skip_reads[name] for name in sorted(live))
