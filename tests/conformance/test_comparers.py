"""The comparer of scheduling cycles itself: what conforms gives no line, and any change gives one."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from schedframe.errors import ConfigError

from . import families, scheduling_case
from .corpus import Case, Corpus
from .mutation import Path, mutations, shows
from .plan import Plan
from .scheduling_case import POST_FILTER_PLUGINS, Reduced, evaluation_differences, reduce_expectation
from .undelivered import UNDELIVERED

CYCLES = [family for family, comparer in families.FAMILIES.items() if comparer == "scheduling_case"]
NOTHING: frozenset[str] = frozenset()
WRONG_POST_FILTERS: list[dict[str, Any]] = [
    {"victims": []},
    {"evicted": ["default/other"]},
    {"nominated_node": "nowhere"},
]
SOME = frozenset({"DefaultPreemption", "DynamicResources", "PodTopologySpread"})


def evaluated(corpus: Corpus, family: str, count: int | None = None) -> list[Case]:
    """Cases of *family* with an evaluation (not a refused configuration), spread over the file."""
    cases = [case for case in corpus.cases(family) if "config_error" not in case["expect"]]
    return cases if count is None else cases[:: max(1, len(cases) // count)]


@pytest.mark.parametrize("family", CYCLES)
@pytest.mark.parametrize("undelivered", [NOTHING, SOME, UNDELIVERED], ids=["all", "some", "now"])
def test_what_was_measured_conforms_whatever_is_left_out(
    bundled: Corpus, family: str, undelivered: frozenset[str]
) -> None:
    for case in evaluated(bundled, family):
        reduced = reduce_expectation(case["expect"], undelivered)
        without = {"post_filter": None, **reduced.expect}
        assert evaluation_differences(reduced, without) == [], case["name"]


def is_free(path: Path, expect: dict[str, Any]) -> bool:
    """Where an implementation is free: words of errors, fields of its own, what tells equal candidates."""
    match path:
        case ["error" | "scoring_error" as field]:
            return expect[field] is not None
        case ["filter", node, "reasons", *_]:
            return bool(expect["filter"][node]["code"] == "Error")
        case ["post_filter", "reasons", *_]:
            return bool(expect["post_filter"]["code"] == "Error")
        case ["?"] | ["post_filter", "?"] | ["post_filter", "nominated_nodes_tied", *_]:
            return True
    return False


@pytest.mark.parametrize("family", CYCLES)
def test_every_change_of_an_evaluation_shows(bundled: Corpus, family: str) -> None:
    checked = 0
    for case in evaluated(bundled, family, count=6):
        expect = case["expect"]
        if not expect.get("skipped"):
            for path, changed in mutations(expect):
                if not is_free(path, expect):
                    checked += 1
                    assert shows(partial(evaluation_differences, Reduced(expect), changed)), (
                        case["name"],
                        path,
                    )
    assert checked > 100


@pytest.mark.parametrize("family", ["profiles", "dra_more", "scheduling_gates_and_misc"])
def test_an_error_must_be_there_and_name_its_plugin(bundled: Corpus, family: str) -> None:
    failing = [case["expect"] for case in evaluated(bundled, family) if case["expect"]["error"]]
    assert failing
    for expect in failing:
        assert evaluation_differences(Reduced(expect), {**expect, "error": None})
        assert evaluation_differences(Reduced(expect), {**expect, "error": ""})
        reworded = evaluation_differences(Reduced(expect), {**expect, "error": "something else"})
        assert bool(reworded) == ("plugin" in expect["error"])


def test_the_stage_of_an_error_must_be_the_same(bundled: Corpus) -> None:
    failing = [case["expect"] for case in evaluated(bundled, "profiles") if case["expect"]["error"]]
    stages = {scheduling_case.stage_of_error(expect) for expect in failing}
    assert stages == {"Filter", "Score"}


def test_skipped_pods_must_be_skipped_and_no_others(bundled: Corpus) -> None:
    cases = evaluated(bundled, "scheduling_gates_and_misc")
    skipped = next(case["expect"] for case in cases if case["expect"].get("skipped"))
    handled = next(case["expect"] for case in cases if not case["expect"].get("skipped"))
    assert evaluation_differences(Reduced(skipped), {"skipped": True}) == []
    assert evaluation_differences(Reduced(skipped), handled)
    assert evaluation_differences(Reduced(handled), skipped)


def test_a_refused_configuration_must_be_refused() -> None:
    refused, accepted = {"config_error": "no such plugin"}, {"error": None}
    assert scheduling_case.refusal_differences(refused, ConfigError("profiles[0]: …")) == []
    assert scheduling_case.refusal_differences(refused, ConfigError(""))
    assert scheduling_case.refusal_differences(accepted, ConfigError("profiles[0]: …"))


def test_any_of_the_tied_candidates_may_be_nominated_with_its_own_victims(bundled: Corpus) -> None:
    ties = [
        case["expect"]
        for case in evaluated(bundled, "preemption")
        if len((case["expect"]["post_filter"] or {}).get("nominated_nodes_tied", ())) > 1
    ]
    assert ties
    for expect in ties:
        post_filter = expect["post_filter"]
        node = post_filter["nominated_nodes_tied"][1]
        victims = post_filter["candidates"][node]["victims"]
        other = {**post_filter, "nominated_node": node, "victims": victims, "evicted": victims}
        assert evaluation_differences(Reduced(expect), {**expect, "post_filter": other}) == []
        for wrong in WRONG_POST_FILTERS:
            assert evaluation_differences(Reduced(expect), {**expect, "post_filter": {**other, **wrong}})


def test_numbers_that_are_not_json_numbers_are_refused(bundled: Corpus) -> None:
    expect = next(case["expect"] for case in evaluated(bundled, "taints") if case["expect"]["total"])
    total = {node: float(value) for node, value in expect["total"].items()}
    assert evaluation_differences(Reduced(expect), {**expect, "total": total})


class TestLeavingOut:
    def test_nothing_is_left_out_when_all_plugins_are_there(self, bundled: Corpus) -> None:
        for family in CYCLES:
            for case in bundled.cases(family):
                assert scheduling_case.plan(case, NOTHING) == Plan()

    def test_parts_of_a_missing_plugin_are_dropped_and_the_rest_added_up(self) -> None:
        expect = {
            "prefilter": {"skip_filter_plugins": ["A", "B"]},
            "prescore": {"skip_score_plugins": ["B", "C"]},
            "scores": {"A": {"n1": 5, "n2": 1}, "D": {"n1": 1, "n2": 3}},
            "total": {"n1": 6, "n2": 4},
            "best": ["n1"],
            "post_filter": None,
        }
        reduced = reduce_expectation(expect, frozenset("AB"))
        assert reduced.expect == {
            "prefilter": {"skip_filter_plugins": []},
            "prescore": {"skip_score_plugins": ["C"]},
            "scores": {"D": {"n1": 1, "n2": 3}},
            "total": {"n1": 1, "n2": 3},
            "best": ["n2"],
            "post_filter": None,
        }
        assert reduced.left_out == (
            "prefilter.skip_filter_plugins",
            "prescore.skip_score_plugins",
            "scores",
            "total and best, added up from the other scores",
        )

    def test_the_post_filter_part_of_the_message_goes_with_it(self, bundled: Corpus) -> None:
        expect = next(
            c["expect"]
            for c in evaluated(bundled, "preemption")
            if "preemption: " in (c["expect"]["message"] or "")
        )
        reduced = reduce_expectation(expect, POST_FILTER_PLUGINS)
        assert "post_filter" not in reduced.expect
        assert reduced.expect["message"].endswith(".")
        assert expect["message"].startswith(reduced.expect["message"] + " ")
        whole = {**reduced.expect, "message": expect["message"], "post_filter": expect["post_filter"]}
        assert evaluation_differences(reduced, whole) == []
        assert evaluation_differences(reduced, {**whole, "message": "0/1 nodes are available: 1 x. y"})

    def test_of_two_post_filters_only_the_missing_one_is_left_out(self, bundled: Corpus) -> None:
        missing = frozenset({"DynamicResources"})
        both = [c["expect"] for c in evaluated(bundled, "preemption") if c["expect"]["post_filter"]]
        rejected = next(e for e in both if "preemption: " in (e["message"] or ""))
        reduced = reduce_expectation(rejected, missing).expect
        assert reduced["post_filter"]["plugin"] == "DefaultPreemption"
        (reason,) = reduced["post_filter"]["reasons"]
        assert reason.startswith("preemption: ")
        assert reduced["message"].endswith(f". {reason}")
        assert "claims" not in reduced["message"]
        for expect in both:
            if expect["post_filter"]["code"] == "Success":
                reduced = reduce_expectation(expect, missing).expect
                assert (reduced["post_filter"], reduced["message"]) == (
                    expect["post_filter"],
                    expect["message"],
                )
            elif not any("preemption: " in reason for reason in expect["post_filter"]["reasons"]):
                assert "post_filter" not in reduce_expectation(expect, missing).expect

    def test_preemption_is_left_out_where_its_dry_run_needs_a_missing_filter(self, bundled: Corpus) -> None:
        needs, fine = [], []
        for case in evaluated(bundled, "preemption"):
            expect = case["expect"]
            if expect["post_filter"]:
                skipped = "InterPodAffinity" in expect["prefilter"]["skip_filter_plugins"]
                (fine if skipped else needs).append(
                    reduce_expectation(expect, frozenset({"InterPodAffinity"})).expect
                )
        assert needs
        assert fine
        assert all("post_filter" in reduced for reduced in fine)
        assert not any("post_filter" in reduced for reduced in needs)

    @pytest.mark.parametrize(
        "expect",
        [
            {"pre_enqueue": {"code": "Unschedulable", "plugin": "X", "reasons": []}},
            {"prefilter": {"plugin": "X", "reasons": [], "absent_status": None}},
            {
                "prefilter": {
                    "plugin": "",
                    "reasons": [],
                    "absent_status": {"plugin": "", "reasons": ["not [X]"]},
                }
            },
            {"filter": {"n1": {"plugin": "X", "reasons": []}}},
            {"error": 'running "X" filter plugin: no'},
            {"scoring_error": 'running Score plugins: plugin "X" failed'},
            {"config_error": 'initializing plugin "X": no'},
        ],
    )
    def test_a_case_that_a_missing_plugin_decides_waits_for_it(self, expect: dict[str, Any]) -> None:
        assert scheduling_case.plan({"expect": {"scores": {}, **expect}}, frozenset({"X", "Y"})) == Plan(
            "waiting", ("X",)
        )

    def test_a_profile_left_without_score_plugins_waits(self, bundled: Corpus) -> None:
        case = next(case for case in bundled.cases("profiles") if case["name"] == "profiles-147")
        assert scheduling_case.plan(case, frozenset({"PodTopologySpread"})).state == "waiting"

    def test_allocations_are_the_verdict_of_dynamic_resources(self, bundled: Corpus) -> None:
        case = next(case for case in bundled.cases("dra_more") if "allocations" in case["expect"])
        assert scheduling_case.plan(case, frozenset({"DynamicResources"})).state == "waiting"
