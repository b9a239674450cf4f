"""Readers that keep something of their own about every row."""

from __future__ import annotations

from schedframe import Node, NodeTable, ObjectMeta, Pod
from schedframe.state import RowChangeReader


def pod(name: str) -> Pod:
    return Pod(ObjectMeta(name=name, uid=name))


def test_a_follower_is_told_of_each_changed_row_once() -> None:
    table = NodeTable()
    for name in ("n1", "n2", "n3"):
        table.set_node(Node(ObjectMeta(name=name)))
    first, second = RowChangeReader(table), RowChangeReader(table)
    assert list(first.changed()) == [0, 1, 2]
    assert list(first.changed()) == []
    table.add_pod("n3", pod("a"))
    table.add_pod("n3", pod("b"))
    assert list(first.changed()) == [2]
    assert list(second.changed()) == [0, 1, 2]


def test_a_row_that_is_given_back_is_told_and_empty() -> None:
    table = NodeTable()
    table.set_node(Node(ObjectMeta(name="n1")))
    table.add_pod("n1", pod("a"))
    follower = RowChangeReader(table)
    follower.changed()
    table.remove_pod("n1", "a")
    table.remove_node("n1")
    assert list(follower.changed()) == [0]
    assert (table.node_at(0), table.pods_at(0)) == (None, {})


def test_all_rows_are_told_when_the_log_does_not_reach_back() -> None:
    table = NodeTable()
    for name in ("n1", "n2"):
        table.set_node(Node(ObjectMeta(name=name)))
    follower = RowChangeReader(table)
    follower.changed()
    table.row_log.forget()
    assert list(follower.changed()) == [0, 1]


def test_another_version_of_a_pod_is_a_change() -> None:
    table = NodeTable()
    table.set_node(Node(ObjectMeta(name="n1")))
    table.add_pod("n1", pod("a"))
    follower = RowChangeReader(table)
    follower.changed()
    table.replace_pod("n1", pod("a"))
    assert list(follower.changed()) == [0]
    assert list(follower.changed()) == []
