"""Members on trial count with those of their affinity terms that v1.36 sees: see ListedTerms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from schedframe.api import Pod, from_manifest
from schedframe.cycle.pod_groups.listed_terms import ListedTerms
from schedframe.state import NodeTable

from .helpers import ZONE, group, nodes_of, pod, scheduler_of, zoned


def away_from(app: str) -> dict[str, Any]:
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_term(app)]}}


def near(app: str) -> dict[str, Any]:
    weighted = [{"weight": 9, "podAffinityTerm": _term(app)}]
    return {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": weighted}}


def _term(app: str) -> dict[str, Any]:
    return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": ZONE}


def labelled(name: str, app: str, group_name: str = "g", **spec: Any) -> dict[str, Any]:
    made = pod(name, group_name, **spec)
    made["metadata"] |= {"labels": {"app": app}, "uid": name}
    return made


def made(name: str, app: str, affinity: dict[str, Any]) -> Pod:
    found = from_manifest(labelled(name, app, affinity=affinity))
    assert isinstance(found, Pod)
    return found


@pytest.fixture
def table() -> Iterator[NodeTable]:
    table = NodeTable()
    for name in "nm":
        table.set_node(from_manifest(zoned(name, "a")))
    yield table
    table.check_invariants()


def affinities(table: NodeTable, node_name: str) -> list[tuple[bool, bool]]:
    """Whether each pod there counts with its affinity, and with its required anti-affinity."""
    row = table.live_row(node_name)
    assert row is not None
    specs = [each.spec.affinity for each in table.pods_at(row).values()]
    return [
        (bool(a and a.pod_affinity), bool(a and a.pod_anti_affinity and a.pod_anti_affinity.required))
        for a in specs
    ]


@pytest.mark.parametrize(("listed", "placed"), [(None, True), (near("z"), True), (away_from("z"), False)])
def test_required_anti_affinity_of_a_member_counts_on_listed_nodes_only(
    listed: dict[str, Any] | None, placed: bool
) -> None:
    affinity = {} if listed is None else {"affinity": listed}
    running = labelled("r", "y", group_name="", nodeName="n", **affinity)
    cluster, scheduler, _ = scheduler_of(zoned("n", "a"), group("g", 1), running)
    for member in (labelled("first", "a", priority=10, affinity=away_from("b")), labelled("second", "b")):
        cluster.create(member)
    scheduler.run_until_idle()
    assert set(nodes_of(cluster)) == {"r", "first", *(["second"] if placed else [])}
    scheduler.core.cache.check_invariants()


def test_a_member_on_an_unlisted_node_counts_with_its_preferences_for_a_pod_with_preferences(
    table: NodeTable,
) -> None:
    terms, mark = ListedTerms(table), table.mark()
    terms.add("n", made("p", "a", {**near("b"), **away_from("b")}))
    assert affinities(table, "n") == [(True, False)]
    terms.prepare(made("q", "b", {}))
    assert affinities(table, "n") == [(False, False)]
    terms.prepare(made("r", "b", near("z")))
    assert affinities(table, "n") == [(True, False)]
    table.rollback(mark)
    assert affinities(table, "n") == []
    terms.end()


def test_a_member_counts_whole_beside_a_pod_with_required_anti_affinity(table: NodeTable) -> None:
    table.add_pod("n", made("old", "z", away_from("y")))
    terms, mark = ListedTerms(table), table.mark()
    for name in "pq":
        terms.add("n", made(name, "a", {**near("b"), **away_from("b")}))
    terms.prepare(made("r", "b", {}))
    assert affinities(table, "n") == [(False, True), (True, True), (True, True)]
    table.rollback(mark)
    terms.end()


def test_nodes_are_listed_with_the_pods_that_are_evicted_on_trial(table: NodeTable) -> None:
    table.add_pod("n", made("old", "z", away_from("y")))
    terms, mark = ListedTerms(table), table.mark()
    terms.remember()
    table.remove_pod("n", "old")
    for node_name in "nm":
        terms.add(node_name, made(f"on-{node_name}", "a", away_from("b")))
    assert affinities(table, "n") == [(False, True)]
    assert affinities(table, "m") == [(False, False)]
    table.rollback(mark)
    terms.end()
