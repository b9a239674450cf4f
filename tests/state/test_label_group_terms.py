"""Groups of pods by the terms of their affinity."""

from __future__ import annotations

import pytest

from schedframe.api import Affinity, LabelSelector, PodAffinity, PodAffinityTerm
from schedframe.state import LabelGroup, policy

from .build import make_node
from .pod_counting import place, table_of

# ---- terms of running pods -------------------------------------------------------------------------------


def test_term_classes_come_and_go_with_their_pods() -> None:
    table = table_of(a="east")
    term = PodAffinityTerm(LabelSelector({"app": "db"}), topology_key="zone")
    affinity = Affinity(pod_affinity=PodAffinity(required=(term,)))
    groups = table.label_groups
    for name in ("p1", "p2"):
        place(table, "a", name, app=name, affinity=affinity)
    (kind,) = groups.term_classes()
    assert (kind.affinity, kind.groups, groups.term_classes_version) == (affinity, 2, 1)
    for name in ("p1", "p2"):
        table.remove_pod("a", f"uid-{name}")
    assert (groups.term_classes(), groups.term_classes_version) == ([], 1)


def near(app: str) -> Affinity:
    """Wants to be near pods of that app."""
    return Affinity(
        pod_affinity=PodAffinity(
            required=(PodAffinityTerm(LabelSelector({"app": app}), topology_key="zone"),)
        )
    )


def test_a_column_of_term_classes_weighs_only_their_groups() -> None:
    table = table_of(a="east")
    groups = table.label_groups
    place(table, "a", "p1", app="api", affinity=near("db"))
    (kind,) = groups.term_classes()
    asked: list[str] = []

    def weigh(group: LabelGroup) -> int:
        asked.append(group.sample.name)
        return 3 * (group.term_class is kind)

    column = groups.column("kind", weigh, kind, ("default", ("app", "web")))
    place(table, "a", "p2", app="db", affinity=near("db"))
    place(table, "a", "p3", app="db", affinity=near("web"))
    place(table, "a", "p4", app="web", affinity=near("db"))
    place(table, "a", "p5", app="web")
    assert asked == ["p1", "p2", "p4", "p5"]
    assert column.counts[table.live_row("a")] == 9
    table.label_groups.check_invariants()


def test_a_kind_whose_pods_are_away_in_a_trial_is_the_same_afterwards() -> None:
    table = table_of(a="east")
    groups = table.label_groups
    place(table, "a", "p1", app="api", affinity=near("db"))
    (kind,) = groups.term_classes()
    column = groups.column("kind", lambda group: int(group.term_class is kind), kind)
    mark = table.mark()
    table.remove_pod("a", "uid-p1")
    assert column.counts[table.live_row("a")] == 0
    table.label_groups.check_invariants()
    table.rollback(mark)
    assert column.counts[table.live_row("a")] == 1
    assert (groups.term_classes(), groups.term_classes_version) == ([kind], 1)
    mark = table.mark()
    table.remove_pod("a", "uid-p1")
    place(table, "a", "p2", app="web", affinity=near("web"))
    place(table, "a", "p3", app="api", affinity=near("db"))
    table.rollback(mark)
    assert column.counts[table.live_row("a")] == 1
    assert groups.term_classes() == [kind]
    table.label_groups.check_invariants()


def test_new_term_classes_are_logged_up_to_a_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(policy, "KEPT_CHANGES", 0)
    table = table_of(a="east")
    groups = table.label_groups
    assert groups.term_classes_since(0) == []
    for i in range(3):
        place(table, "a", f"p{i}", affinity=near(f"app-{i}"))
    assert groups.term_classes_since(0) == groups.term_classes()
    assert groups.term_classes_since(2) == groups.term_classes()[2:]
    for i in range(3):
        table.remove_pod("a", f"uid-p{i}")
    place(table, "a", "p3", affinity=near("db"))
    assert groups.term_classes_since(3) is None
    assert groups.term_classes_since(groups.term_classes_version) == []


def test_sums_that_are_not_zero_are_counted() -> None:
    table = table_of(a="east", b="east", c="west")
    column = table.label_groups.column("signed", lambda group: 1 if group.labels.get("app") == "web" else -1)
    assert column.by_domain("zone").nonzero == 0
    place(table, "a", "p1", app="web")
    assert column.by_domain("zone").nonzero == 1
    place(table, "b", "p2", app="db")
    place(table, "c", "p3", app="db")
    assert column.by_domain("zone").nonzero == 1
    table.set_node(make_node("b", labels={"zone": "west"}))
    assert column.by_domain("zone").nonzero == 2
