"""InterPodAffinity: filter and score on clusters of four nodes."""

from __future__ import annotations

import pytest
from attrs import evolve

from plugins_builtin.inter_pod_affinity.filtering import (
    AFFINITY,
    ANTI_AFFINITY,
    EXISTING_ANTI_AFFINITY,
    STATUSES,
)
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


def test_without_terms_anywhere_the_plugin_skips() -> None:
    world = World(make_pod("web-0", "a", app="web"))
    state, pod = CycleState(), make_pod("p", app="web")
    assert world.plugin.pre_filter(state, pod) == Status.skip()
    assert world.plugin.pre_score(state, pod) == Status.skip()


def test_affinity_requires_a_matching_pod_in_the_domain() -> None:
    world = World(make_pod("web-0", "a", app="web"))
    assert world.rejected(make_pod("p", affinity=near("web"))) == everywhere(AFFINITY, "a", "b")
    assert world.rejected(make_pod("p", affinity=near("web", key=HOST))) == everywhere(AFFINITY, "a")
    assert STATUSES[AFFINITY - 1].code.name == "UNSCHEDULABLE_AND_UNRESOLVABLE"


def test_without_a_match_a_pod_that_does_not_match_itself_fits_nowhere() -> None:
    assert World().rejected(make_pod("p", affinity=near("web"))) == everywhere(AFFINITY)


def test_the_first_pod_of_a_group_fits_every_node_with_the_label() -> None:
    first = make_pod("p", app="web", affinity=near("web"))
    assert World().rejected(first) == {"d": AFFINITY}
    assert World(make_pod("web-0", "c", app="web")).rejected(first) == everywhere(AFFINITY, "c")
    # A pod on a node without the label does not count.
    assert World(make_pod("web-0", "d", app="web")).rejected(first) == {"d": AFFINITY}


def test_all_terms_must_select_the_same_pod() -> None:
    both = make_pod("p", affinity=near("web", "db"))
    world = World(make_pod("web-0", "a", app="web"), make_pod("db-0", "a", app="db"))
    assert world.rejected(both) == everywhere(AFFINITY)
    by_zone_and_host = make_pod("p", affinity=wants(term("web"), term("web", HOST)))
    assert world.rejected(by_zone_and_host) == everywhere(AFFINITY, "a")


def test_terminating_pods_count() -> None:
    going = make_pod("web-0", "a", app="web")
    going = evolve(going, metadata=evolve(going.metadata, deletion_timestamp=1.0))
    assert World(going).rejected(make_pod("p", affinity=near("web"))) == everywhere(AFFINITY, "a", "b")


def test_pods_on_a_node_that_does_not_exist_do_not_count() -> None:
    world = World(make_pod("web-0", "gone", app="web"))
    assert world.rejected(make_pod("p", affinity=near("web"))) == everywhere(AFFINITY)


# ---- required anti-affinity ------------------------------------------------------------------------------


def test_anti_affinity_rejects_the_domain_of_a_matching_pod() -> None:
    world = World(make_pod("web-0", "a", app="web"))
    assert world.rejected(make_pod("p", affinity=far_from("web"))) == {"a": ANTI_AFFINITY, "b": ANTI_AFFINITY}
    assert world.rejected(make_pod("p", affinity=far_from("web", key=HOST))) == {"a": ANTI_AFFINITY}
    assert STATUSES[ANTI_AFFINITY - 1].code.name == "UNSCHEDULABLE"


def test_each_anti_affinity_term_is_evaluated_on_its_own() -> None:
    world = World(make_pod("web-0", "a", app="web"), make_pod("db-0", "c", app="db"))
    avoids = make_pod("p", affinity=far_from("web", "db", key=HOST))
    assert world.rejected(avoids) == {"a": ANTI_AFFINITY, "c": ANTI_AFFINITY}


def test_a_node_without_the_label_is_in_no_domain() -> None:
    """Also if every other node is a domain of its own."""
    world = World(make_pod("web-0", "a", app="web"), make_pod("web-1", "d", app="web"))
    world.table.remove_node("b")
    assert world.rejected(make_pod("p", affinity=far_from("web"))) == {"a": ANTI_AFFINITY}
    assert world.scores(make_pod("p", affinity=rather({"web": 3}))) == {"a": 3, "c": 0, "d": 0}


def test_anti_affinity_of_existing_pods_rejects() -> None:
    avoiding = make_pod("avoiding", "a", app="db", affinity=far_from("web"))
    world = World(avoiding)
    assert world.rejected(make_pod("p", app="web")) == {
        "a": EXISTING_ANTI_AFFINITY,
        "b": EXISTING_ANTI_AFFINITY,
    }
    assert world.rejected(make_pod("p", app="api")) == {}
    assert STATUSES[EXISTING_ANTI_AFFINITY - 1].code.name == "UNSCHEDULABLE"


def test_of_several_broken_rules_affinity_is_reported_first_and_existing_pods_last() -> None:
    avoiding = make_pod("avoiding", "a", app="web", affinity=far_from("web"))
    world = World(avoiding)
    avoids = make_pod("p", app="web", affinity=far_from("web"))
    assert world.rejected(avoids) == {"a": ANTI_AFFINITY, "b": ANTI_AFFINITY}
    both = Affinity(pod_affinity=near("db").pod_affinity, pod_anti_affinity=far_from("web").pod_anti_affinity)
    assert world.rejected(make_pod("p", app="web", affinity=both)) == everywhere(AFFINITY)


def test_anti_affinity_by_host_places_one_pod_per_host() -> None:
    world = World()
    for i, left in enumerate(("bcd", "cd", "d", "")):
        pod = make_pod(f"web-{i}", "abcd"[i], app="web", affinity=far_from("web", key=HOST))
        world.table.add_pod(pod.node_name, pod)
        rejected = world.rejected(make_pod("p", app="web", affinity=far_from("web", key=HOST)))
        assert set("abcd") - rejected.keys() == set(left)


# ---- namespaces ------------------------------------------------------------------------------------------


def test_a_term_without_namespaces_selects_in_that_of_its_pod() -> None:
    world = World(make_pod("web-0", "a", app="web", namespace="shop"))
    assert world.rejected(make_pod("p", affinity=far_from("web"))) == {}
    assert set(world.rejected(make_pod("p", namespace="shop", affinity=far_from("web")))) == {"a", "b"}


def test_named_namespaces_replace_the_own_one() -> None:
    world = World(make_pod("web-0", "a", app="web", namespace="shop"), make_pod("web-1", "c", app="web"))
    there = make_pod("p", affinity=wants(term("web", namespaces=("shop",))))
    assert world.rejected(there) == everywhere(AFFINITY, "a", "b")


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        (LabelSelector({"team": "red"}), "ab"),
        (LabelSelector({"team": "blue"}), ""),
        (LabelSelector(), "abc"),
        # The empty set of labels satisfies it, so it selects pods of every namespace, as in the reference.
        (LabelSelector({}, (LabelSelectorRequirement("team", "NotIn", ("red",)),)), "abc"),
    ],
)
def test_namespaces_can_be_selected_by_label(selector: LabelSelector, found: str) -> None:
    shop = make_pod("web-0", "a", app="web", namespace="shop")
    world = World(shop, make_pod("web-1", "c", app="web", namespace="unknown"))
    world.add_namespace("shop", team="red")
    pod = make_pod("p", affinity=wants(term("web", namespace_selector=selector)))
    assert world.rejected(pod) == everywhere(AFFINITY, *found)


def test_existing_pods_select_the_namespace_of_the_pod_by_its_labels() -> None:
    selecting = term("web", namespace_selector=LabelSelector({"team": "red"}))
    avoiding = make_pod("h", "a", affinity=Affinity(pod_anti_affinity=PodAntiAffinity((selecting,))))
    world = World(avoiding)
    pod = make_pod("p", app="web", namespace="shop")
    assert world.rejected(pod) == {}
    world.add_namespace("shop", team="red")
    assert world.rejected(pod) == {"a": EXISTING_ANTI_AFFINITY, "b": EXISTING_ANTI_AFFINITY}
    world.add_namespace("shop", team="blue")
    assert world.rejected(pod) == {}


# ---- selectors -------------------------------------------------------------------------------------------


def test_a_missing_selector_matches_no_pod_and_an_empty_one_all() -> None:
    world = World(make_pod("web-0", "a", app="web"))
    assert world.rejected(make_pod("p", affinity=wants(term(None)))) == everywhere(AFFINITY)
    assert world.rejected(make_pod("p", affinity=wants(term("")))) == everywhere(AFFINITY, "a", "b")


def test_match_label_keys_narrow_the_selector() -> None:
    blue, green = (make_pod(f"web-{c}", n, app="web", colour=c) for c, n in (("blue", "a"), ("green", "c")))
    world = World(blue, green)

    def with_keys(**keys: tuple[str, ...]) -> dict[str, int]:
        return world.rejected(make_pod("p", colour="blue", affinity=wants(term("web", **keys))))

    assert with_keys(match_label_keys=("colour",)) == everywhere(AFFINITY, "a", "b")
    assert with_keys(mismatch_label_keys=("colour",)) == everywhere(AFFINITY, "c")
    assert with_keys(match_label_keys=("absent",)) == everywhere(AFFINITY, "a", "b", "c")


def test_pods_with_equal_terms_and_different_labels_are_distinguished() -> None:
    affinity = wants(term("web", match_label_keys=("colour",)))
    world = World(
        make_pod("web-0", "a", app="web", colour="blue"), make_pod("web-1", "c", app="web", colour="red")
    )
    assert world.rejected(make_pod("p", colour="blue", affinity=affinity)) == everywhere(AFFINITY, "a", "b")
    assert world.rejected(make_pod("p", colour="red", affinity=affinity)) == everywhere(AFFINITY, "c")


def test_a_selector_that_cannot_be_parsed_is_an_error() -> None:
    wrong = LabelSelector({}, (LabelSelectorRequirement("app", "Near", ("web",)),))
    pod = make_pod("p", affinity=wants(PodAffinityTerm(wrong, topology_key=ZONE)))
    with pytest.raises(InputError, match="operator"):
        World().plugin.pre_filter(CycleState(), pod)


# ---- scores ----------------------------------------------------------------------------------------------


def test_each_pod_that_a_preferred_term_selects_adds_its_weight() -> None:
    world = World(*(make_pod(f"web-{i}", n, app="web") for i, n in enumerate("abc")))
    pod = make_pod("p", affinity=rather({"web": 5}))
    assert world.scores(pod) == {"a": 10, "b": 10, "c": 5, "d": 0}
    pod = make_pod("p", affinity=rather({"web": 5}, {"web": 2}, key=HOST))
    assert world.scores(pod) == {"a": 3, "b": 3, "c": 3, "d": 0}


def test_preferred_terms_of_existing_pods_score() -> None:
    preferring = make_pod("r", "a", affinity=rather({"web": 7}, {"db": 3}))
    requiring = make_pod("n", "c", affinity=near("web"))
    assert World(preferring, requiring).scores(make_pod("p", app="web")) == {"a": 7, "b": 7, "c": 1, "d": 0}
    assert World(preferring, requiring).scores(make_pod("p", app="db")) == {"a": -3, "b": -3, "c": 0, "d": 0}
    assert World(preferring, requiring, hard=0).scores(make_pod("p", app="web")) == {
        "a": 7,
        "b": 7,
        "c": 0,
        "d": 0,
    }


def test_preferred_terms_of_existing_pods_can_be_ignored() -> None:
    preferring = make_pod("r", "a", affinity=rather({"web": 7}))
    world = World(preferring, ignore=True)
    assert world.scores(make_pod("p", app="web")) is None
    own = make_pod("p", app="web", affinity=rather({"db": 1}))
    assert world.scores(own) == {"a": 7, "b": 7, "c": 0, "d": 0}


def test_weights_that_cancel_out_do_not_skip() -> None:
    world = World(make_pod("web-0", "a", app="web"))
    assert world.scores(make_pod("p", affinity=rather({"web": 5}, {"web": 5}))) == dict.fromkeys("abcd", 0)
    assert world.scores(make_pod("p", affinity=rather({"db": 5}))) is None


def test_filters_without_pre_filter_and_scores_without_pre_score_are_errors() -> None:
    world = World()
    with pytest.raises(CycleStateError):
        world.plugin.filter(CycleState(), world.info("a"))
    with pytest.raises(CycleStateError):
        world.plugin.score(CycleState(), world.info("a"))
