from __future__ import annotations

import pytest

from schedframe.state import Cache, NodeTable, Snapshot

from .build import make_node, make_pod


def table_of(*names: str) -> NodeTable:
    table = NodeTable()
    for name in names:
        table.set_node(make_node(name))
    return table


def test_only_nodes_that_changed_are_copied_again() -> None:
    table = table_of("n0", "n1")
    before = Snapshot.take(table)
    table.add_pod("n1", make_pod("p", "n1", {"cpu": 5}))
    after = Snapshot.take(table, before)
    assert after.get("n0") is before.get("n0")
    assert [pod.name for pod in after.infos["n1"].pods.values()] == ["p"]
    assert not before.infos["n1"].pods
    assert after.generation > before.generation


def test_one_node_for_another_in_the_same_row() -> None:
    table = table_of("n0", "n1")
    before = Snapshot.take(table)
    table.remove_node("n1")
    table.set_node(make_node("n2"))
    after = Snapshot.take(table, before)
    assert set(after.infos) == {"n0", "n2"}
    assert after.get("n1") is None
    assert set(before.infos) == {"n0", "n1"}


def test_nodes_that_are_gone_are_not_shown_even_if_pods_remain() -> None:
    table = table_of("n0", "n1")
    table.add_pod("n0", make_pod("p", "n0"))
    before = Snapshot.take(table)
    table.remove_node("n0")
    assert set(Snapshot.take(table, before).infos) == {"n1"}


def test_a_pod_exchanged_for_an_equivalent_one_is_seen() -> None:
    cache = Cache()
    cache.set_node(make_node("n0"))
    pod = make_pod("p", "n0")
    cache.assume_pod(pod)
    before = cache.snapshot()
    confirmed = pod.with_resource_version("7")
    cache.add_pod(confirmed)
    assert cache.snapshot().infos["n0"].pods[pod.uid] is confirmed
    assert before.infos["n0"].pods[pod.uid] is pod


def test_a_reader_too_late_for_the_log_copies_everything() -> None:
    table = table_of("n0", "n1")
    table.row_log.limit = 1
    before = Snapshot.take(table)
    for i in range(5):
        table.add_pod("n0", make_pod(f"p{i}", "n0"))
    assert len(Snapshot.take(table, before).infos["n0"].pods) == 5


def test_a_snapshot_cannot_be_changed() -> None:
    snapshot = Snapshot.take(table_of("n0"))
    with pytest.raises(TypeError):
        snapshot.infos["n1"] = snapshot.infos["n0"]  # type: ignore[index]  # that is the point
    with pytest.raises(AttributeError):
        snapshot.generation = 5  # type: ignore[misc]  # that is the point


def test_a_snapshot_stands_apart_from_the_table() -> None:
    table = NodeTable()
    table.set_node(make_node("n0", images={"nginx": 1}))
    info = Snapshot.take(table).infos["n0"]
    assert (info.row, info.images) == (-1, None)
