"""Pods counted by what selectors see of them: per row, and per topology domain."""

from __future__ import annotations

import pytest

from schedframe.api import Pod
from schedframe.errors import InvariantError
from schedframe.state import LabelGroup, NodeSubset, NodeTable, policy

from .build import make_node, make_pod, overwrite
from .pod_counting import FAST, counts, place, sums, table_of, web_column, webs

# ---- per row ---------------------------------------------------------------------------------------------


def test_a_column_counts_the_pods_that_are_there_and_those_that_come_later() -> None:
    table = table_of(a="east", b="west")
    place(table, "a", "p1")
    column = web_column(table)
    assert counts(table, column) == {"a": 1}
    place(table, "a", "p2")
    place(table, "b", "p3")
    place(table, "b", "p4", app="db")
    assert counts(table, column) == {"a": 2, "b": 1}
    table.remove_pod("a", "uid-p1")
    assert counts(table, web_column(table)) == {"a": 1, "b": 1}
    assert web_column(table) is column


def test_a_group_has_the_weight_that_the_column_gives_it() -> None:
    table = table_of(a="east")
    column = table.label_groups.column("weighed", lambda group: 10 if group.labels["app"] == "web" else -1)
    for i in range(3):
        place(table, "a", f"w{i}")
    place(table, "a", "d", app="db")
    assert counts(table, column) == {"a": 29}


def test_a_terminating_pod_is_of_another_group() -> None:
    table = table_of(a="east")
    place(table, "a", "p1")
    place(table, "a", "p2", deletion_timestamp=1.0)
    assert counts(table, web_column(table)) == {"a": 1}
    assert len(table.label_groups.groups()) == 2


def test_pods_with_a_common_spec_may_differ_in_labels() -> None:
    table = table_of(a="east")
    table.label_groups.groups()
    first = place(table, "a", "p1")
    other = Pod(make_pod("p2", labels={"app": "db"}).metadata, first.spec)
    table.add_pod("a", other)
    assert {group.labels["app"]: group.pods for group in table.label_groups.groups()} == {"web": 1, "db": 1}
    table.remove_pod("a", "uid-p1")
    assert [group.labels["app"] for group in table.label_groups.groups()] == ["db"]


def test_columns_follow_trials_back() -> None:
    table = table_of(a="east", b="west")
    place(table, "a", "p1")
    column = web_column(table)
    before = sums(column)
    mark = table.mark()
    table.remove_pod("a", "uid-p1")
    place(table, "b", "p2")
    assert sums(column) == {"east": 0, "west": 1}
    table.rollback(mark)
    assert sums(column) == before == {"east": 1, "west": 0}
    table.label_groups.check_invariants()


def test_more_rows_than_there_was_room_for() -> None:
    table = table_of(a="east")
    column = web_column(table)
    assert sums(column) == {"east": 0}
    for i in range(table.capacity + 1):
        table.set_node(make_node(f"n{i}", labels={"zone": "west"}))
        place(table, f"n{i}", f"p{i}")
    assert sums(column) == {"east": 0, "west": 65}
    assert len(column.counts) == table.capacity
    table.label_groups.check_invariants()


# ---- per domain ------------------------------------------------------------------------------------------


def test_sums_follow_pods_and_nodes() -> None:
    table = table_of(a="east", b="east", c="west")
    column = web_column(table)
    for node in "abc":
        place(table, node, f"p-{node}")
    assert sums(column) == {"east": 2, "west": 1}
    table.set_node(make_node("b", labels={"zone": "west"}))
    assert sums(column) == {"east": 1, "west": 2}
    table.set_node(make_node("c"))
    assert sums(column) == {"east": 1, "west": 1}
    table.remove_node("a")
    assert sums(column) == {"west": 1}
    table.set_node(make_node("a", labels={"zone": "north"}))
    assert sums(column) == {"west": 1, "north": 1}


def test_a_pod_may_be_there_before_its_node() -> None:
    table = table_of(a="east")
    column = web_column(table)
    assert sums(column) == {"east": 0}
    place(table, "late", "p1")
    place(table, "late", "p2")
    assert sums(column) == {"east": 0}
    table.set_node(make_node("late", labels={"zone": "east"}))
    assert sums(column) == {"east": 2}


def test_only_the_nodes_of_a_subset_count() -> None:
    table = NodeTable()
    for name, zone, disk in (("a", "east", "fast"), ("b", "east", "slow"), ("c", "west", "slow")):
        table.set_node(make_node(name, labels={"zone": zone, "disk": disk}))
        place(table, name, f"p-{name}")
    column = web_column(table)
    assert sums(column, subset=FAST) == {"east": 1}
    assert column.by_domain("zone", FAST).domains.total == 1
    table.set_node(make_node("c", labels={"zone": "west", "disk": "fast"}))
    assert sums(column, subset=FAST) == {"east": 1, "west": 1}
    assert sums(column) == {"east": 2, "west": 1}
    table.remove_node("c")
    assert sums(column, subset=FAST) == {"east": 1}
    table.label_groups.check_invariants()


def test_one_changed_node_among_many_is_looked_at_by_itself() -> None:
    table = table_of(**{f"n{i}": "east" for i in range(80)})
    asked: list[str] = []
    subset = NodeSubset(
        "watched",
        lambda node: bool(asked.append(node.name)) or node.name != "n3",
        lambda rows: rows.table.label("zone").codes[rows.index] >= 0,
    )
    domains = table.label_groups.domains("zone", subset)
    assert (domains.count, domains.total, asked) == (1, 80, [])
    table.set_node(make_node("n3", labels={"zone": "west"}))
    assert table.label_groups.domains("zone", subset) is domains
    assert (domains.count, domains.total, asked) == (1, 79, ["n3"])


def test_domains_follow_when_codes_of_a_label_are_assigned_again() -> None:
    """As happens when most values have no node any more."""
    table = table_of(**{f"n{i}": "home" for i in range(20)})
    column = web_column(table)
    place(table, "n0", "p0")
    place(table, "n1", "p1")
    epochs = set()
    for i in range(1100):
        table.set_node(make_node("n0", labels={"zone": f"z{i}"}))
        found = column.by_domain("zone")
        epochs.add(found.domains.epoch)
        codes = found.labels.code_of(f"z{i}"), found.labels.code_of("home")
        assert [int(found.sums[code]) for code in codes] == [1, 1]
        assert found.domains.count == 2
    assert len(epochs) > 1
    table.label_groups.check_invariants()


def test_domains_count_nodes_and_values() -> None:
    table = table_of(a="east", b="east", c="west")
    domains = table.label_groups.domains("zone")
    assert (domains.count, domains.total) == (2, 3)
    table.set_node(make_node("c", labels={"zone": "east"}))
    assert (domains.sync().count, domains.total) == (1, 3)
    assert domains.nodes[domains.labels.code_of("west")] == 0


# ---- who is asked, and what is kept ----------------------------------------------------------------------


def test_a_scope_spares_groups_that_cannot_count() -> None:
    table = table_of(a="east")
    asked: list[str] = []

    def weigh(group: LabelGroup) -> int:
        asked.append(group.labels["app"])
        return 1

    place(table, "a", "p1")
    place(table, "a", "p2", app="db")
    table.label_groups.column("scoped", weigh, ("default", ("app", "web")))
    table.label_groups.column("elsewhere", weigh, ("other", None))
    assert asked == ["web"]
    place(table, "a", "p3", app="cache")
    assert asked == ["web"]
    table.label_groups.column("namespace", weigh, ("default", None))
    assert sorted(asked) == ["cache", "db", "web", "web"]
    place(table, "a", "p4", app="web", deletion_timestamp=1.0)
    assert sorted(asked) == ["cache", "db", "web", "web", "web", "web"]


def test_the_least_recently_used_columns_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "COUNT_BYTES", 0)
    monkeypatch.setattr(policy, "KEPT_COLUMNS", 2)
    table = table_of(a="east")
    place(table, "a", "p1")
    groups = table.label_groups
    one, two = (groups.column(key, webs) for key in "12")
    assert groups.column("1", webs) is one
    three = groups.column("3", webs)
    assert [column.dropped for column in (one, two, three)] == [False, True, False]
    place(table, "a", "p2")
    assert [int(column.counts[0]) for column in (one, two, three)] == [2, 1, 2]
    again = groups.column("2", webs)
    assert again is not two
    assert sums(again) == {"east": 2}
    groups.check_invariants()


def test_sums_outlive_the_domains_that_are_kept_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "COUNT_BYTES", 0)
    monkeypatch.setattr(policy, "KEPT_COLUMNS", 1)
    table = table_of(a="east")
    column = web_column(table)
    place(table, "a", "p1")
    assert sums(column) == {"east": 1}
    table.label_groups.domains("disk")
    table.set_node(make_node("b", labels={"zone": "west"}))
    place(table, "b", "p2")
    assert sums(column) == {"east": 1, "west": 1}


def test_a_column_keeps_the_sums_that_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "KEPT_COLUMNS", 16)
    table = table_of(a="east")
    column = web_column(table)
    place(table, "a", "p1")
    for i in range(40):
        column.by_domain(f"key-{i}")
        assert sums(column) == {"east": 1}
    kept = [each.domains.topology_key for each in column.all_sums()]
    assert "zone" in kept
    assert len(kept) < 20


# ---- self-check ------------------------------------------------------------------------------------------


def test_the_self_check_notices_what_is_wrong() -> None:
    table = table_of(a="east")
    place(table, "a", "p1")
    column = web_column(table)
    sums(column)
    groups = table.label_groups
    groups.check_invariants()
    overwrite(column.counts, 0, column.counts[0] + 1)
    with pytest.raises(InvariantError, match="column 'web'"):
        groups.check_invariants()
    overwrite(column.counts, 0, column.counts[0] - 1)
    overwrite(column.by_domain("zone").sums, 0, 2)
    with pytest.raises(InvariantError, match="sums by zone"):
        groups.check_invariants()
    overwrite(column.by_domain("zone").sums, 0, 1)
    overwrite(groups.domains("zone").nodes, 0, 2)
    with pytest.raises(InvariantError, match="domains of zone"):
        groups.check_invariants()
    overwrite(groups.domains("zone").nodes, 0, 1)
    groups.check_invariants()
    del table.label_groups.groups()[0].rows[0]
    with pytest.raises(InvariantError, match="label groups"):
        groups.check_invariants()
