"""Which part of a profile's plan can be remembered for pods alike, and which is asked for every pod."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

from attrs import evolve, frozen

from ...framework import Depends, Framework, Plan, depends_on
from ...state import NodeTable, ObjectStore


@frozen
class SplitPlan:
    """A profile's plan in two parts: what can be remembered, and what is asked for every pod."""

    remembered: Plan
    live: Plan
    node_plan: Plan
    """Of what is remembered, the plugins whose answer for a row depends on the node object alone."""
    pod_plan: Plan
    """Of what is remembered, the others."""
    amounts_only: frozenset[str]
    """Names of those whose answer for a row depends on its amounts alone."""
    order: dict[str, int]
    """Filter plugin → its place in the profile."""
    node_signatures: tuple[Any, ...]
    """pod_signature of the plugins of ``node_plan``."""
    pod_signatures: tuple[Any, ...]
    """pod_signature of those of ``pod_plan``."""
    reads: tuple[str, ...]
    """Kinds that remembered plugins read beyond the row."""
    node_reads: tuple[str, ...]
    """Those of ``node_plan``."""
    skip_reads: tuple[Any, ...] | None
    """``skip_reads`` of the live plugins at filter and score; ``None`` if one of them has none."""


def split(framework: Framework) -> SplitPlan | None:
    """Divide the plan of a framework; ``None`` if nothing of it can be remembered."""
    plan = framework.plan
    signatures = {name: call for name, call in plan.signatures if call is not None}
    depends = {name: depends_on(plan.plugins[name]) for name in signatures}
    local = {name for name, what in depends.items() if what is not Depends.CLUSTER}
    # A normalisation that the framework cannot follow row by row makes the scores of a plugin live.
    local -= {
        entry.name for entry in plan.score if entry.normalize is not None and entry.normalization is None
    }
    if not local:
        return None

    def part(names: Container[str]) -> Plan:
        def only(entries: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple(entry for entry in entries if entry.name in names)

        return evolve(
            plan,
            pre_filter=only(plan.pre_filter),
            pod_hooks=only(plan.pod_hooks),
            filter=only(plan.filter),
            pre_score=only(plan.pre_score),
            score=only(plan.score),
        )

    def reads(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted({kind for name in names for kind in getattr(plan.plugins[name], "reads", ())}))

    nodes = {name for name in local if depends[name] is Depends.NODE_OBJECT}
    return SplitPlan(
        remembered=part(local),
        live=part(plan.plugins.keys() - local),
        node_plan=part(nodes),
        pod_plan=part(local - nodes),
        amounts_only=frozenset(name for name in local if depends[name] is Depends.ROW_RESOURCES),
        order={entry.name: place for place, entry in enumerate(plan.filter)},
        node_signatures=tuple(signatures[name] for name in signatures if name in nodes),
        pod_signatures=tuple(signatures[name] for name in signatures if name in local - nodes),
        reads=reads(local),
        node_reads=reads(nodes),
        skip_reads=_skip_reads(plan, local),
    )


def _skip_reads(plan: Plan, local: set[str]) -> tuple[Any, ...] | None:
    points: tuple[tuple[Any, ...], ...] = (plan.pre_filter, plan.filter, plan.pre_score, plan.score)
    live = {entry.name for point in points for entry in point} - local
    if any(name not in plan.skip_reads for name in live):
        return None
    return tuple(plan.skip_reads[name] for name in sorted(live))


def all_changes(table: NodeTable, objects: ObjectStore) -> tuple[int, int, int]:
    """As long as this is the same, so are the :func:`versions` of anything."""
    return objects.changes, table.node_log.version, table.affinity_changes


def versions(reads: tuple[str, ...], table: NodeTable, objects: ObjectStore) -> tuple[int, ...]:
    """A value that differs as soon as something of *reads* does.

    "Node" is what nodes have in common, "Image" which of them have which images and, if any has one, how many
    nodes there are, "PodAffinity" the pods with terms about other pods and, if there are any, the nodes.
    """
    found: list[int] = []
    for kind in reads:
        if kind == "Node":
            found += (table.num_nodes, table.images.version)
        elif kind == "Image":
            found += (table.images.version, table.num_nodes if len(table.images) else 0)
        elif kind == "PodAffinity":
            found += (table.affinity_changes, table.node_log.version if table.pods_with_affinity else 0)
        else:
            found.append(objects.version(kind))
    return tuple(found)
