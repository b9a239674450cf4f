"""InterPodAffinity: dry runs, what is kept from pod to pod, and what is told of rejections."""

from __future__ import annotations

import pytest

from plugins_builtin.inter_pod_affinity import existing, questions
from plugins_builtin.inter_pod_affinity.filtering import AFFINITY as ALONE
from plugins_builtin.inter_pod_affinity.filtering import ANTI_AFFINITY as UNWELCOME
from plugins_builtin.inter_pod_affinity.filtering import EXISTING as NOT_WANTED
from schedframe.api import (
    Pod,
)
from schedframe.framework import CycleState
from schedframe.state import NodeInfo, PodGroup

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


def test_a_victim_that_goes_takes_its_demands_along() -> None:
    hermit = make_pod("hermit", "a", affinity=far_from("web"))
    world = World(hermit, make_pod("web-0", "c", app="web"))
    pod = make_pod("p", app="web", affinity=far_from("web"))
    state = world.before(pod)
    assert world.rejected(pod, state) == {"a": NOT_WANTED, "b": NOT_WANTED, "c": UNWELCOME}
    trial = state.clone()
    world.plugin.remove_pod(trial, pod, hermit, world.info("a"))
    assert world.rejected(pod, trial) == {"c": UNWELCOME}
    assert world.rejected(pod, state) == {"a": NOT_WANTED, "b": NOT_WANTED, "c": UNWELCOME}
    world.plugin.add_pod(trial, pod, hermit, world.info("a"))
    assert world.rejected(pod, trial) == world.rejected(pod, state)


def test_the_last_company_that_goes_makes_the_pod_the_first_of_its_kind() -> None:
    company = make_pod("web-0", "a", app="web")
    world, pod = World(company), make_pod("p", app="web", affinity=near("web"))
    state = world.before(pod)
    assert world.rejected(pod, state) == everywhere(ALONE, "a", "b")
    world.plugin.remove_pod(state, pod, company, world.info("a"))
    assert world.rejected(pod, state) == {"d": ALONE}


def test_company_that_comes_counts_for_every_term() -> None:
    world, pod = World(), make_pod("p", affinity=wants(term("web"), term("web", HOST)))
    state = world.before(pod)
    world.plugin.add_pod(state, pod, make_pod("web-0", app="web"), world.info("a"))
    assert world.rejected(pod, state) == everywhere(ALONE, "a")


def test_nodes_that_are_not_there_change_nothing() -> None:
    world, pod = World(), make_pod("p", affinity=far_from("web"))
    state = world.before(pod)
    world.plugin.add_pod(state, pod, make_pod("web-0", app="web"), NodeInfo("gone"))
    assert world.rejected(pod, state) == {}
    assert world.plugin.filter(state, NodeInfo("gone")) is None


# ---- what is kept ----------------------------------------------------------------------------------------


def test_a_pod_like_an_earlier_one_asks_no_group_and_no_kind_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many kinds of terms there are."""
    apps = [f"app-{i}" for i in range(50)]
    world = World(
        *(make_pod(app, "a", app=app, affinity=far_from(app, key=HOST)) for app in apps),
    )
    pod = make_pod("p", app="app-7", affinity=far_from("app-7", key=HOST))
    assert world.rejected(pod) == {"a": UNWELCOME}

    def fail(*_: object) -> int:
        raise AssertionError("asked again")

    monkeypatch.setattr(existing, "terms_of_kind", fail)
    monkeypatch.setattr(questions.Question, "weigh", fail)
    again = make_pod("q", app="app-7", affinity=far_from("app-7", key=HOST), extra="label")
    assert world.rejected(again) == {"a": UNWELCOME}
    assert world.scores(again) is None


def test_only_kinds_that_are_new_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(make_pod("x", "a", app="x", affinity=far_from("x")))
    pod = make_pod("p", app="web")
    assert world.rejected(pod) == {}
    seen: list[str] = []

    real = existing.terms_of_kind
    monkeypatch.setattr(existing, "terms_of_kind", lambda kind: seen.append(kind.labels["app"]) or real(kind))
    world.table.add_pod("c", make_pod("y", "c", app="y", affinity=far_from("web", key=HOST)))
    assert world.rejected(pod) == {"c": NOT_WANTED}
    assert set(seen) == {"y"}
    world.table.add_pod("a", make_pod("z", "a", app="z", affinity=far_from("db", key=HOST)))
    seen.clear()
    for _ in range(2):
        assert world.rejected(make_pod("q", app="web")) == {"c": NOT_WANTED}
    assert seen == ["z"] * len(seen)
    seen.clear()
    assert world.rejected(make_pod("r", app="web")) == {"c": NOT_WANTED}
    assert not seen


def test_a_new_group_is_weighed_for_the_questions_that_may_mean_it(monkeypatch: pytest.MonkeyPatch) -> None:
    weighed: list[PodGroup] = []
    real = questions.Question.weigh

    def weigh(self: questions.Question, group: PodGroup) -> int:
        weighed.append(group)
        return real(self, group)

    monkeypatch.setattr(questions.Question, "weigh", weigh)
    world = World(make_pod("x", "a", app="x", affinity=far_from("x")))
    for i in range(20):
        assert world.rejected(make_pod("p", affinity=near(f"app-{i}"))) == everywhere(ALONE)
    weighed.clear()
    world.table.add_pod("a", make_pod("new", "a", app="app-7"))
    assert [group.sample.name for group in weighed] == ["new"]
    assert world.rejected(make_pod("p", affinity=near("app-7"))) == everywhere(ALONE, "a", "b")


# ---- explanations ----------------------------------------------------------------------------------------


def explained(world: World, pod: Pod) -> dict[str, str]:
    """Node → what stands behind its rejection."""
    state = world.before(pod)
    lines = {info.name: world.plugin.explain(state, pod, info) for info in world.table.rows()}
    return {name: line for name, line in lines.items() if line is not None}


def test_the_pod_and_the_term_that_are_in_the_way_are_named() -> None:
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


def test_whose_term_it_is_is_told() -> None:
    world = World(make_pod("hermit", "c", affinity=far_from("web", key=HOST)))
    assert explained(world, make_pod("p", app="web")) == {
        "c": "default/hermit on c keeps pods with app=web out of host c"
    }


def test_nothing_is_explained_that_was_skipped() -> None:
    world = World()
    assert world.plugin.explain(CycleState(), make_pod("p"), world.info("a")) is None
