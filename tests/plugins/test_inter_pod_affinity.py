"""InterPodAffinity: which nodes are out, and which are better, because of the pods that run there."""

from __future__ import annotations

import pytest
from attrs import evolve

from plugins_builtin.inter_pod_affinity.filtering import AFFINITY as ALONE
from plugins_builtin.inter_pod_affinity.filtering import ANTI_AFFINITY as UNWELCOME
from plugins_builtin.inter_pod_affinity.filtering import EXISTING as NOT_WANTED
from plugins_builtin.inter_pod_affinity.filtering import STATUSES
from schedframe.api import (
    Affinity,
    LabelSelector,
    LabelSelectorRequirement,
    PodAffinityTerm,
    PodAntiAffinity,
)
from schedframe.errors import InputError
from schedframe.framework import CycleState, CycleStateError, Status

from .affinity_world import (
    HOST,
    ZONE,
    World,
    everywhere,
    far_from,
    make_pod,
    near,
    rather,
    term,
    wants,
)

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
