"""InterPodAffinity: dry runs, caching from pod to pod, and explanations of rejections."""

from __future__ import annotations

import pytest

from plugins_builtin.inter_pod_affinity import counters, existing_terms
from plugins_builtin.inter_pod_affinity.filtering import AFFINITY, ANTI_AFFINITY, EXISTING_ANTI_AFFINITY
from schedframe.api import (
    Pod,
)
from schedframe.framework import CycleState
from schedframe.state import LabelGroup, NodeInfo

from .affinity_world import (
    HOST,
    World,
    everywhere,
    far_from,
    make_pod,
    near,
    term,
    wants,
)

# ---- dry runs --------------------------------------------------------------------------------------------


def test_removing_a_victim_removes_its_anti_affinity() -> None:
    avoiding = make_pod("avoiding", "a", affinity=far_from("web"))
    world = World(avoiding, make_pod("web-0", "c", app="web"))
    pod = make_pod("p", app="web", affinity=far_from("web"))
    state = world.before(pod)
    assert world.rejected(pod, state) == {
        "a": EXISTING_ANTI_AFFINITY,
        "b": EXISTING_ANTI_AFFINITY,
        "c": ANTI_AFFINITY,
    }
    trial = state.clone()
    world.plugin.remove_pod(trial, pod, avoiding, world.info("a"))
    assert world.rejected(pod, trial) == {"c": ANTI_AFFINITY}
    assert world.rejected(pod, state) == {
        "a": EXISTING_ANTI_AFFINITY,
        "b": EXISTING_ANTI_AFFINITY,
        "c": ANTI_AFFINITY,
    }
    world.plugin.add_pod(trial, pod, avoiding, world.info("a"))
    assert world.rejected(pod, trial) == world.rejected(pod, state)


def test_removing_the_last_match_makes_the_pod_the_first_of_its_group() -> None:
    other = make_pod("web-0", "a", app="web")
    world, pod = World(other), make_pod("p", app="web", affinity=near("web"))
    state = world.before(pod)
    assert world.rejected(pod, state) == everywhere(AFFINITY, "a", "b")
    world.plugin.remove_pod(state, pod, other, world.info("a"))
    assert world.rejected(pod, state) == {"d": AFFINITY}


def test_an_added_pod_counts_for_every_term() -> None:
    world, pod = World(), make_pod("p", affinity=wants(term("web"), term("web", HOST)))
    state = world.before(pod)
    world.plugin.add_pod(state, pod, make_pod("web-0", app="web"), world.info("a"))
    assert world.rejected(pod, state) == everywhere(AFFINITY, "a")


def test_nodes_that_do_not_exist_change_nothing() -> None:
    world, pod = World(), make_pod("p", affinity=far_from("web"))
    state = world.before(pod)
    world.plugin.add_pod(state, pod, make_pod("web-0", app="web"), NodeInfo("gone"))
    assert world.rejected(pod, state) == {}
    assert world.plugin.filter(state, NodeInfo("gone")) is None


# ---- caching -------------------------------------------------------------------------------------------


def test_a_pod_like_an_earlier_one_evaluates_no_group_and_no_term_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Independent of the number of classes of terms."""
    apps = [f"app-{i}" for i in range(50)]
    world = World(
        *(make_pod(app, "a", app=app, affinity=far_from(app, key=HOST)) for app in apps),
    )
    pod = make_pod("p", app="app-7", affinity=far_from("app-7", key=HOST))
    assert world.rejected(pod) == {"a": ANTI_AFFINITY}

    def fail(*_: object) -> int:
        raise AssertionError("evaluated again")

    monkeypatch.setattr(existing_terms, "terms_of_class", fail)
    monkeypatch.setattr(counters.TermCounter, "weigh", fail)
    again = make_pod("q", app="app-7", affinity=far_from("app-7", key=HOST), extra="label")
    assert world.rejected(again) == {"a": ANTI_AFFINITY}
    assert world.scores(again) is None


def test_only_new_classes_of_terms_are_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(make_pod("x", "a", app="x", affinity=far_from("x")))
    pod = make_pod("p", app="web")
    assert world.rejected(pod) == {}
    seen: list[str] = []

    real = existing_terms.terms_of_class
    monkeypatch.setattr(
        existing_terms, "terms_of_class", lambda each: seen.append(each.labels["app"]) or real(each)
    )
    world.table.add_pod("c", make_pod("y", "c", app="y", affinity=far_from("web", key=HOST)))
    assert world.rejected(pod) == {"c": EXISTING_ANTI_AFFINITY}
    assert set(seen) == {"y"}
    world.table.add_pod("a", make_pod("z", "a", app="z", affinity=far_from("db", key=HOST)))
    seen.clear()
    for _ in range(2):
        assert world.rejected(make_pod("q", app="web")) == {"c": EXISTING_ANTI_AFFINITY}
    assert seen == ["z"] * len(seen)
    seen.clear()
    assert world.rejected(make_pod("r", app="web")) == {"c": EXISTING_ANTI_AFFINITY}
    assert not seen


def test_a_new_group_is_weighed_by_the_counters_in_whose_scope_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    weighed: list[LabelGroup] = []
    real = counters.TermCounter.weigh

    def weigh(self: counters.TermCounter, group: LabelGroup) -> int:
        weighed.append(group)
        return real(self, group)

    monkeypatch.setattr(counters.TermCounter, "weigh", weigh)
    world = World(make_pod("x", "a", app="x", affinity=far_from("x")))
    for i in range(20):
        assert world.rejected(make_pod("p", affinity=near(f"app-{i}"))) == everywhere(AFFINITY)
    weighed.clear()
    world.table.add_pod("a", make_pod("new", "a", app="app-7"))
    assert [group.sample.name for group in weighed] == ["new"]
    assert world.rejected(make_pod("p", affinity=near("app-7"))) == everywhere(AFFINITY, "a", "b")


# ---- explanations ----------------------------------------------------------------------------------------


def explained(world: World, pod: Pod) -> dict[str, str]:
    """Node → explanation of its rejection."""
    state = world.before(pod)
    lines = {info.name: world.plugin.explain(state, pod, info) for info in world.table.rows()}
    return {name: line for name, line in lines.items() if line is not None}


def test_explanations_name_the_pod_and_the_term() -> None:
    world = World(make_pod("web-0", "a", app="web"))
    line = "zone z1 has default/web-0 on a, a pod with app=web in namespace default"
    assert explained(world, make_pod("p", affinity=far_from("web"))) == {"a": line, "b": line}
    assert explained(world, make_pod("p", affinity=near("db"))) == {
        **{
            name: f"zone {zone} has no pod with app=db in namespace default"
            for name, zone in (("a", "z1"), ("b", "z1"), ("c", "z2"))
        },
        "d": "no label zone",
    }


def test_explanations_name_the_owner_of_the_term() -> None:
    world = World(make_pod("avoiding", "c", affinity=far_from("web", key=HOST)))
    assert explained(world, make_pod("p", app="web")) == {
        "c": "default/avoiding on c keeps pods with app=web out of host c"
    }


def test_a_skipped_filter_has_no_explanation() -> None:
    world = World()
    assert world.plugin.explain(CycleState(), make_pod("p"), world.info("a")) is None


def test_the_cache_of_counters_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pods of one class may have any number of different terms in the course of time."""
    monkeypatch.setattr(existing_terms, "MAX_COMPILED_COUNTERS", 5, raising=False)
    world = World(*(make_pod(f"app-{i}", "abc"[i % 3], app=f"app-{i}") for i in range(20)))
    for i in range(20):
        pod = make_pod("p", affinity=far_from(f"app-{i}", key=HOST))
        assert world.rejected(pod) == {"abc"[i % 3]: ANTI_AFFINITY}
    cached = world.plugin._existing._matches.values()
    assert 0 < sum(len(matching.compiled) for matching in cached) <= 5
