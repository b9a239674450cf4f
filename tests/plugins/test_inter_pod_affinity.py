"""InterPodAffinity: which nodes are out, and which are better, because of the pods that run there."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from plugins_builtin.args import InterPodAffinityArgs
from plugins_builtin.inter_pod_affinity import InterPodAffinity, existing, questions
from plugins_builtin.inter_pod_affinity.filtering import AFFINITY as ALONE
from plugins_builtin.inter_pod_affinity.filtering import ANTI_AFFINITY as UNWELCOME
from plugins_builtin.inter_pod_affinity.filtering import EXISTING as NOT_WANTED
from plugins_builtin.inter_pod_affinity.filtering import STATUSES
from schedframe.api import (
    Affinity,
    LabelSelector,
    LabelSelectorRequirement,
    Namespace,
    Node,
    ObjectMeta,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    PodSpec,
    PodStatus,
    WeightedPodAffinityTerm,
)
from schedframe.errors import InputError
from schedframe.framework import CycleState, CycleStateError, Status
from schedframe.state import NodeInfo, NodeTable, ObjectStore, PodGroup

from .agreement import StandInHandle, columnar_scores, columnar_statuses, per_node_scores, per_node_statuses

ZONE, HOST = "zone", "host"


# ---- building --------------------------------------------------------------------------------------------


def make_node(name: str, **labels: str) -> Node:
    """A node that is a host of its own."""
    return Node(ObjectMeta(name=name, uid=name, labels={HOST: name, **labels}))


def make_pod(
    name: str,
    node_name: str = "",
    *,
    namespace: str = "default",
    affinity: Affinity | None = None,
    **labels: str,
) -> Pod:
    """A pod with these labels."""
    metadata = ObjectMeta(name=name, namespace=namespace, uid=name, labels=labels)
    return Pod(metadata, PodSpec(affinity=affinity, node_name=node_name))


def nominated(pod: Pod, node_name: str) -> Pod:
    """The same pod, expected on a node."""
    return evolve(pod, status=PodStatus(nominated_node_name=node_name))


def term(app: str | None, key: str = ZONE, **more: Any) -> PodAffinityTerm:
    """Pods of that app; ``None``: a term without selector."""
    selector = None if app is None else LabelSelector({"app": app} if app else {})
    return PodAffinityTerm(selector, topology_key=key, **more)


def near(*apps: str, key: str = ZONE) -> Affinity:
    """Wants to be with pods of these apps, by one term each."""
    return Affinity(pod_affinity=PodAffinity(tuple(term(app, key) for app in apps)))


def far_from(*apps: str, key: str = ZONE) -> Affinity:
    """Must not be with pods of these apps."""
    return Affinity(pod_anti_affinity=PodAntiAffinity(tuple(term(app, key) for app in apps)))


def wants(*terms: PodAffinityTerm) -> Affinity:
    """Required affinity."""
    return Affinity(pod_affinity=PodAffinity(terms))


def rather(
    near: dict[str, int] | None = None, far: dict[str, int] | None = None, key: str = ZONE
) -> Affinity:
    """Would rather be with, or away from, pods of these apps: app → weight."""

    def weighted(apps: dict[str, int]) -> tuple[WeightedPodAffinityTerm, ...]:
        return tuple(WeightedPodAffinityTerm(weight, term(app, key)) for app, weight in apps.items())

    return Affinity(
        pod_affinity=PodAffinity(preferred=weighted(near or {})),
        pod_anti_affinity=PodAntiAffinity(preferred=weighted(far or {})),
    )


class World:
    """Two zones: ``a`` and ``b`` in z1, ``c`` in z2, and ``d`` without a zone."""

    def __init__(self, *pods: Pod, hard: int = 1, ignore: bool = False) -> None:
        self.table, self.objects = NodeTable(), ObjectStore()
        for name, zone in (("a", "z1"), ("b", "z1"), ("c", "z2")):
            self.table.set_node(make_node(name, zone=zone))
        self.table.set_node(make_node("d"))
        for pod in pods:
            self.table.add_pod(pod.node_name, pod)
        args = InterPodAffinityArgs(
            hard_pod_affinity_weight=hard, ignore_preferred_terms_of_existing_pods=ignore
        )
        self.plugin = InterPodAffinity(args, StandInHandle(table=self.table, objects=self.objects))

    def add_namespace(self, name: str, **labels: str) -> None:
        """A namespace that exists."""
        self.objects.set(Namespace(ObjectMeta(name=name, labels=labels)))

    def info(self, name: str) -> NodeInfo:
        """A node of the table."""
        row = self.table.live_row(name)
        assert row is not None
        return self.table.info(row)

    def before(self, pod: Pod) -> CycleState:
        """The state after a pre_filter that does not skip."""
        state = CycleState()
        assert self.plugin.pre_filter(state, pod) is None
        return state

    def rejected(self, pod: Pod, state: CycleState | None = None) -> dict[str, int]:
        """Node → rule that the pod would break there, by both forms."""
        if state is None:
            state = CycleState()
            if self.plugin.pre_filter(state, pod) is not None:
                return {}
        rows = self.table.rows()
        found = per_node_statuses(self.plugin, state, pod, rows)
        assert columnar_statuses(self.plugin, state, pod, rows) == found
        codes = {status: code for code, status in enumerate(STATUSES, 1)}
        return {
            name: codes[status]
            for name, status in zip(rows.names(), found, strict=True)
            if not status.is_success
        }

    def scores(self, pod: Pod) -> dict[str, int] | None:
        """Node → raw score by both forms; ``None`` if scoring is skipped."""
        state, rows = CycleState(), self.table.rows()
        if self.plugin.pre_score(state, pod) is not None:
            return None
        found = per_node_scores(self.plugin, state, pod, rows)
        assert columnar_scores(self.plugin, state, pod, rows) == found
        return dict(zip(rows.names(), found, strict=True))


def everywhere(code: int, *but: str) -> dict[str, int]:
    """That rule on all four nodes but these."""
    return {name: code for name in "abcd" if name not in but}


# ---- required affinity -----------------------------------------------------------------------------------


def test_nobody_with_terms_means_skip() -> None:
    world = World(make_pod("web-0", "a", app="web"))
    state, pod = CycleState(), make_pod("p", app="web")
    assert world.plugin.pre_filter(state, pod) == Status.skip()
    assert world.plugin.pre_score(state, pod) == Status.skip()


def test_a_pod_goes_where_the_company_is() -> None:
    world = World(make_pod("web-0", "a", app="web"))
    assert world.rejected(make_pod("p", affinity=near("web"))) == everywhere(ALONE, "a", "b")
    assert world.rejected(make_pod("p", affinity=near("web", key=HOST))) == everywhere(ALONE, "a")
    assert STATUSES[ALONE - 1].code.name == "UNSCHEDULABLE_AND_UNRESOLVABLE"


def test_without_company_a_pod_that_is_not_meant_goes_nowhere() -> None:
    assert World().rejected(make_pod("p", affinity=near("web"))) == everywhere(ALONE)


def test_the_first_of_its_kind_goes_anywhere_but_to_nodes_without_the_label() -> None:
    first = make_pod("p", app="web", affinity=near("web"))
    assert World().rejected(first) == {"d": ALONE}
    assert World(make_pod("web-0", "c", app="web")).rejected(first) == everywhere(ALONE, "c")
    # One where no domain is does not count, and it is the first.
    assert World(make_pod("web-0", "d", app="web")).rejected(first) == {"d": ALONE}


def test_all_terms_must_mean_the_same_pod() -> None:
    both = make_pod("p", affinity=near("web", "db"))
    world = World(make_pod("web-0", "a", app="web"), make_pod("db-0", "a", app="db"))
    assert world.rejected(both) == everywhere(ALONE)
    by_zone_and_host = make_pod("p", affinity=wants(term("web"), term("web", HOST)))
    assert world.rejected(by_zone_and_host) == everywhere(ALONE, "a")


def test_terminating_pods_are_company_too() -> None:
    going = make_pod("web-0", "a", app="web")
    going = evolve(going, metadata=evolve(going.metadata, deletion_timestamp=1.0))
    assert World(going).rejected(make_pod("p", affinity=near("web"))) == everywhere(ALONE, "a", "b")


def test_pods_on_a_node_that_is_not_there_count_nowhere() -> None:
    world = World(make_pod("web-0", "gone", app="web"))
    assert world.rejected(make_pod("p", affinity=near("web"))) == everywhere(ALONE)


# ---- required anti-affinity ------------------------------------------------------------------------------


def test_a_pod_keeps_away_from_whom_it_avoids() -> None:
    world = World(make_pod("web-0", "a", app="web"))
    assert world.rejected(make_pod("p", affinity=far_from("web"))) == {"a": UNWELCOME, "b": UNWELCOME}
    assert world.rejected(make_pod("p", affinity=far_from("web", key=HOST))) == {"a": UNWELCOME}
    assert STATUSES[UNWELCOME - 1].code.name == "UNSCHEDULABLE"


def test_each_term_of_anti_affinity_counts_by_itself() -> None:
    world = World(make_pod("web-0", "a", app="web"), make_pod("db-0", "c", app="db"))
    avoids = make_pod("p", affinity=far_from("web", "db", key=HOST))
    assert world.rejected(avoids) == {"a": UNWELCOME, "c": UNWELCOME}


def test_a_node_without_the_label_is_in_nobodys_domain() -> None:
    """Also where every other node is a domain of its own."""
    world = World(make_pod("web-0", "a", app="web"), make_pod("web-1", "d", app="web"))
    world.table.remove_node("b")
    assert world.rejected(make_pod("p", affinity=far_from("web"))) == {"a": UNWELCOME}
    assert world.scores(make_pod("p", affinity=rather({"web": 3}))) == {"a": 3, "c": 0, "d": 0}


def test_existing_pods_keep_others_away() -> None:
    hermit = make_pod("hermit", "a", app="db", affinity=far_from("web"))
    world = World(hermit)
    assert world.rejected(make_pod("p", app="web")) == {"a": NOT_WANTED, "b": NOT_WANTED}
    assert world.rejected(make_pod("p", app="api")) == {}
    assert STATUSES[NOT_WANTED - 1].code.name == "UNSCHEDULABLE"


def test_of_several_rules_affinity_is_told_first_and_existing_pods_last() -> None:
    hermit = make_pod("hermit", "a", app="web", affinity=far_from("web"))
    world = World(hermit)
    avoids = make_pod("p", app="web", affinity=far_from("web"))
    assert world.rejected(avoids) == {"a": UNWELCOME, "b": UNWELCOME}
    both = Affinity(pod_affinity=near("db").pod_affinity, pod_anti_affinity=far_from("web").pod_anti_affinity)
    assert world.rejected(make_pod("p", app="web", affinity=both)) == everywhere(ALONE)


def test_spreading_one_by_one_over_hosts() -> None:
    world = World()
    for i, left in enumerate(("bcd", "cd", "d", "")):
        pod = make_pod(f"web-{i}", "abcd"[i], app="web", affinity=far_from("web", key=HOST))
        world.table.add_pod(pod.node_name, pod)
        rejected = world.rejected(make_pod("p", app="web", affinity=far_from("web", key=HOST)))
        assert set("abcd") - rejected.keys() == set(left)


# ---- namespaces ------------------------------------------------------------------------------------------


def test_a_term_without_namespaces_means_that_of_its_pod() -> None:
    world = World(make_pod("web-0", "a", app="web", namespace="shop"))
    assert world.rejected(make_pod("p", affinity=far_from("web"))) == {}
    assert set(world.rejected(make_pod("p", namespace="shop", affinity=far_from("web")))) == {"a", "b"}


def test_named_namespaces_are_instead_of_the_own() -> None:
    world = World(make_pod("web-0", "a", app="web", namespace="shop"), make_pod("web-1", "c", app="web"))
    there = make_pod("p", affinity=wants(term("web", namespaces=("shop",))))
    assert world.rejected(there) == everywhere(ALONE, "a", "b")


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        (LabelSelector({"team": "red"}), "ab"),
        (LabelSelector({"team": "blue"}), ""),
        (LabelSelector(), "abc"),
        # Not what one would think: no labels at all satisfy it, and that is asked too.
        (LabelSelector({}, (LabelSelectorRequirement("team", "NotIn", ("red",)),)), "abc"),
    ],
)
def test_namespaces_may_be_selected(selector: LabelSelector, found: str) -> None:
    shop = make_pod("web-0", "a", app="web", namespace="shop")
    world = World(shop, make_pod("web-1", "c", app="web", namespace="unknown"))
    world.add_namespace("shop", team="red")
    pod = make_pod("p", affinity=wants(term("web", namespace_selector=selector)))
    assert world.rejected(pod) == everywhere(ALONE, *found)


def test_existing_pods_select_the_namespace_of_the_pod_by_its_labels() -> None:
    selecting = term("web", namespace_selector=LabelSelector({"team": "red"}))
    hermit = make_pod("h", "a", affinity=Affinity(pod_anti_affinity=PodAntiAffinity((selecting,))))
    world = World(hermit)
    pod = make_pod("p", app="web", namespace="shop")
    assert world.rejected(pod) == {}
    world.add_namespace("shop", team="red")
    assert world.rejected(pod) == {"a": NOT_WANTED, "b": NOT_WANTED}
    world.add_namespace("shop", team="blue")
    assert world.rejected(pod) == {}


# ---- selectors -------------------------------------------------------------------------------------------


def test_a_term_without_selector_means_nobody_and_an_empty_one_everybody() -> None:
    world = World(make_pod("web-0", "a", app="web"))
    assert world.rejected(make_pod("p", affinity=wants(term(None)))) == everywhere(ALONE)
    assert world.rejected(make_pod("p", affinity=wants(term("")))) == everywhere(ALONE, "a", "b")


def test_match_label_keys_narrow_the_selector() -> None:
    blue, green = (make_pod(f"web-{c}", n, app="web", colour=c) for c, n in (("blue", "a"), ("green", "c")))
    world = World(blue, green)

    def with_keys(**keys: tuple[str, ...]) -> dict[str, int]:
        return world.rejected(make_pod("p", colour="blue", affinity=wants(term("web", **keys))))

    assert with_keys(match_label_keys=("colour",)) == everywhere(ALONE, "a", "b")
    assert with_keys(mismatch_label_keys=("colour",)) == everywhere(ALONE, "c")
    assert with_keys(match_label_keys=("absent",)) == everywhere(ALONE, "a", "b", "c")


def test_pods_with_equal_terms_and_other_labels_are_told_apart() -> None:
    affinity = wants(term("web", match_label_keys=("colour",)))
    world = World(
        make_pod("web-0", "a", app="web", colour="blue"), make_pod("web-1", "c", app="web", colour="red")
    )
    assert world.rejected(make_pod("p", colour="blue", affinity=affinity)) == everywhere(ALONE, "a", "b")
    assert world.rejected(make_pod("p", colour="red", affinity=affinity)) == everywhere(ALONE, "c")


def test_a_selector_that_cannot_be_parsed_is_an_error() -> None:
    wrong = LabelSelector({}, (LabelSelectorRequirement("app", "Near", ("web",)),))
    pod = make_pod("p", affinity=wants(PodAffinityTerm(wrong, topology_key=ZONE)))
    with pytest.raises(InputError, match="operator"):
        World().plugin.pre_filter(CycleState(), pod)


# ---- scores ----------------------------------------------------------------------------------------------


def test_preferred_terms_weigh_each_pod_that_they_mean() -> None:
    world = World(*(make_pod(f"web-{i}", n, app="web") for i, n in enumerate("abc")))
    pod = make_pod("p", affinity=rather({"web": 5}))
    assert world.scores(pod) == {"a": 10, "b": 10, "c": 5, "d": 0}
    pod = make_pod("p", affinity=rather({"web": 5}, {"web": 2}, key=HOST))
    assert world.scores(pod) == {"a": 3, "b": 3, "c": 3, "d": 0}


def test_existing_pods_have_a_say() -> None:
    wishes = make_pod("r", "a", affinity=rather({"web": 7}, {"db": 3}))
    needs = make_pod("n", "c", affinity=near("web"))
    assert World(wishes, needs).scores(make_pod("p", app="web")) == {"a": 7, "b": 7, "c": 1, "d": 0}
    assert World(wishes, needs).scores(make_pod("p", app="db")) == {"a": -3, "b": -3, "c": 0, "d": 0}
    assert World(wishes, needs, hard=0).scores(make_pod("p", app="web")) == {"a": 7, "b": 7, "c": 0, "d": 0}


def test_a_pod_without_wishes_may_ignore_those_of_others() -> None:
    wishes = make_pod("r", "a", affinity=rather({"web": 7}))
    world = World(wishes, ignore=True)
    assert world.scores(make_pod("p", app="web")) is None
    own = make_pod("p", app="web", affinity=rather({"db": 1}))
    assert world.scores(own) == {"a": 7, "b": 7, "c": 0, "d": 0}


def test_weights_that_cancel_out_are_not_nothing() -> None:
    world = World(make_pod("web-0", "a", app="web"))
    assert world.scores(make_pod("p", affinity=rather({"web": 5}, {"web": 5}))) == dict.fromkeys("abcd", 0)
    assert world.scores(make_pod("p", affinity=rather({"db": 5}))) is None


def test_filters_without_pre_filter_and_scores_without_pre_score_are_errors() -> None:
    world = World()
    with pytest.raises(CycleStateError):
        world.plugin.filter(CycleState(), world.info("a"))
    with pytest.raises(CycleStateError):
        world.plugin.score(CycleState(), world.info("a"))


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
