"""add_pod and remove_pod keep what pre_filter precomputed in step."""

from __future__ import annotations

from attrs import evolve

from ...api import Pod
from ...framework import CycleState, Status
from ...state import NodeInfo, Rows, substituted_row
from ..worlds.naming import placed
from ..worlds.world import World
from .contract import of_hook
from .form_agreement import shown
from .probe import Probe, Search, rows_of
from .subject import Subject
from .violation import FILTERS, Check, Violation


def add_and_remove(subject: Subject, world: World) -> None:
    """Adding is as if the pod ran there, and removing it again leaves everything as it was."""
    for pod in world.pods[:2]:
        search = Probe(subject, world).search(pod)
        if not search.goes_on:
            continue
        node = world.nodes[world.choice(1) % len(world.nodes)]
        joining = placed(world.pods[world.choice(2) % len(world.pods)], "joined", node.name)
        _add_then_remove(search, joining)
        for other in world.running:
            if search.probe.table.live_row(other.node_name) is not None:
                _remove_then_add(search, other)


def _add_then_remove(search: Search, other: Pod) -> None:
    info, state = _dry_run(search, other)
    info.add_pod(other)
    before = search.by_name(search.probe.table.rows())
    search.probe.status("add_pod", state, search.pod, other, info)
    _untouched(search, before, f"add_pod of pod {other.key}")
    _as_if(search, state, info, evolve(search.probe.world, running=(*search.probe.world.running, other)))
    info.remove_pod(other)
    search.probe.status("remove_pod", state, search.pod, other, info)
    _as_before(search, state, info, f"add_pod and remove_pod of pod {other.key}")


def _remove_then_add(search: Search, other: Pod) -> None:
    info, state = _dry_run(search, other)
    info.remove_pod(other)
    before = search.by_name(search.probe.table.rows())
    search.probe.status("remove_pod", state, search.pod, other, info)
    _untouched(search, before, f"remove_pod of pod {other.key}")
    world = search.probe.world
    rest = tuple(each for each in world.running if each is not other)
    _as_if(search, state, info, evolve(world, running=rest))
    info.add_pod(other)
    search.probe.status("add_pod", state, search.pod, other, info)
    _as_before(search, state, info, f"remove_pod and add_pod of pod {other.key}")


def _untouched(search: Search, before: dict[str, Status], what: str) -> None:
    for name, status in search.by_name(search.probe.table.rows()).items():
        if status != before[name]:
            raise Violation(
                f"pod {search.pod.key} on node {name}: {shown(before[name])}, and {shown(status)} after "
                f"{what} on a clone of the cycle state; give what is written there a clone() method"
            )


def _dry_run(search: Search, other: Pod) -> tuple[NodeInfo, CycleState]:
    table = search.probe.table
    row = table.live_row(other.node_name)
    assert row is not None
    return table.info(row).clone(), search.state.clone()


def _as_if(search: Search, state: CycleState, info: NodeInfo, world: World) -> None:
    """The verdict of the node is the one that a search in the other world finds."""
    probe = Probe(search.probe.subject, world)
    real = probe.search(search.pod)
    if real.outcome != search.outcome:
        return
    row = probe.table.live_row(info.name)
    assert row is not None
    expected = _verdict(real, real.state, probe.table.info(row))
    found = _verdict(search, state, info)
    if found != expected:
        raise Violation(
            f"pod {search.pod.key} on node {info.name} with {len(info.pods)} pods: {shown(found)} by the "
            f"cycle state kept by add_pod and remove_pod, {shown(expected)} by that of another pre_filter"
        )


def _as_before(search: Search, state: CycleState, info: NodeInfo, what: str) -> None:
    table = search.probe.table
    for other in table.rows():
        looked_at = info if other.name == info.name else other
        one, two = _verdict(search, search.state, other), _verdict(search, state, looked_at)
        if one != two:
            raise Violation(
                f"pod {search.pod.key} on node {other.name}: {shown(one)}, and {shown(two)} after {what}"
            )


def _verdict(search: Search, state: CycleState, info: NodeInfo) -> Status:
    """The verdict of one node with pods added or removed; by columns if there is no other form."""
    if "filter" in search.probe.hooks:
        return search.verdict(info, state)
    table = search.probe.table
    trial = Search(search.probe, search.pod, state)
    with substituted_row(table, info) as row:
        rows: Rows = rows_of(table, [row])
        return trial.verdicts(rows)[0]


CHECKS = (
    Check(
        "add_and_remove_pod_are_inverse",
        of_hook("add_pod", "as if *pod_to_add* ran on that node; inverse of remove_pod."),
        add_and_remove,
        lambda subject: "pre_filter" in subject.hooks and not subject.hooks.isdisjoint(FILTERS),
    ),
)
