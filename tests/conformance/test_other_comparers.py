"""The comparers of traces, sampling and hints themselves."""

from __future__ import annotations

from functools import partial
from typing import Any

from . import hints_case, sampling_case, trace_case
from .corpus import Case, Corpus
from .difference import as_json
from .mutation import mutations, shows
from .plan import Plan

NOTHING: frozenset[str] = frozenset()
IMPLIED = {"chosen", "hint", "feasible_any_order"}


def evaluation_of(step: dict[str, Any]) -> dict[str, Any]:
    """An evaluation that leads to *step* of a trace."""
    success = {"code": "Success", "plugin": "", "reasons": []}
    return {
        "best": step["best"],
        "total": step["total"],
        "filter": {**dict.fromkeys(step["total"], success), **step["rejected"]},
        "prefilter": step.get("prefilter", {"code": "Success", "node_names": None}),
        "error": step.get("error"),
        "message": step.get("message"),
    }


class TestTrace:
    def replay(self, case: Case, steps: list[dict[str, Any]]) -> list[str]:
        evaluations = map(evaluation_of, steps)
        return trace_case.trace_differences(case, lambda pod: next(evaluations), lambda pod, node: None)

    def test_what_was_measured_conforms(self, bundled: Corpus) -> None:
        for case in bundled.cases("trace"):
            assert self.replay(case, case["steps"]) == []

    def test_pods_are_assumed_where_they_were_placed(self, bundled: Corpus) -> None:
        case = bundled.case("trace", 0)
        evaluations = map(evaluation_of, case["steps"])
        assumed: list[tuple[str, str]] = []
        trace_case.trace_differences(
            case,
            lambda pod: next(evaluations),
            lambda pod, node: assumed.append((pod["metadata"]["name"], node)),
        )
        assert assumed == [(s["pod"].partition("/")[2], s["chosen"]) for s in case["steps"] if s["chosen"]]

    def test_every_change_of_a_step_shows(self, bundled: Corpus) -> None:
        case = bundled.case("trace", 0)
        for number in (0, 17):
            step = case["steps"][number]
            for field in step.keys() - {"pod", "chosen"}:
                for path, changed in mutations(step[field]):
                    steps = [*case["steps"][:number], {**step, field: changed}, *case["steps"][number + 1 :]]
                    assert shows(partial(self.replay, case, steps)), (field, *path)

    def test_it_waits_for_every_plugin_that_its_pods_meet(self, bundled: Corpus) -> None:
        case = bundled.case("trace", 0)
        assert trace_case.plan(case, NOTHING) == Plan()
        assert trace_case.plan(case, frozenset({"DynamicResources", "VolumeZone"})) == Plan()
        missing = frozenset({"PodTopologySpread", "InterPodAffinity", "VolumeZone"})
        assert trace_case.plan(case, missing) == Plan("waiting", ("InterPodAffinity", "PodTopologySpread"))


class TestSampling:
    def answers(self, case: Case) -> list[dict[str, Any]]:
        """The steps as a full record: every field there, the order repeated."""
        order: list[str] = []
        records = []
        for expect in case["expect"]:
            order = expect.get("order", order)
            optional = dict.fromkeys(("shortcut", "message", "error"))
            fields = {name: value for name, value in expect.items() if name not in IMPLIED}
            records.append(as_json({**optional, **fields, "order": order}))
        return records

    def replay(self, case: Case, records: list[dict[str, Any]]) -> list[str]:
        answers = iter(records)
        return sampling_case.sampling_differences(case, lambda step: next(answers))

    def test_what_was_measured_conforms(self, bundled: Corpus) -> None:
        for case in bundled.cases("sampling"):
            assert self.replay(case, self.answers(case)) == []

    def test_every_change_of_a_step_shows(self, bundled: Corpus) -> None:
        case = bundled.case("sampling", 0)
        records = self.answers(case)
        for number in range(0, len(records), 9):
            for path, changed in mutations(records[number]):
                if path != ("?",) and len(path) == 1 and path[0] not in changed:
                    continue  # an answer without one of the fields cannot come from a report
                assert self.replay(case, [*records[:number], changed, *records[number + 1 :]]), path

    def test_order_of_found_nodes_counts_unless_it_is_random(self, bundled: Corpus) -> None:
        case = bundled.case("sampling", 0)
        records = self.answers(case)
        random, fixed = [], []
        for expect, record in zip(case["expect"], records, strict=True):
            (random if expect.get("feasible_any_order") else fixed).append(record["feasible"])
        for feasible in random:
            feasible.reverse()
        assert max(map(len, random)) > 1
        assert self.replay(case, records) == []
        max(fixed, key=len).reverse()
        assert self.replay(case, records)

    def test_batching_is_excluded_and_nothing_else(self, bundled: Corpus) -> None:
        for case in bundled.cases("sampling"):
            state = sampling_case.plan(case, NOTHING).state
            assert state == ("excluded" if case["name"].startswith("batching-") else "compared")


class TestHints:
    def test_hint_and_presence_of_an_error_count(self) -> None:
        expect = {"hint": "Queue", "error": None}
        assert hints_case.hint_differences(expect, "Queue", None) == []
        assert hints_case.hint_differences(expect, "Skip", None)
        assert hints_case.hint_differences(expect, "Queue", "bad value")
        failing = {"hint": "Queue", "error": "bad value"}
        assert hints_case.hint_differences(failing, "Queue", "other words") == []
        assert hints_case.hint_differences(failing, "Queue", None)
        assert hints_case.hint_differences(failing, "Queue", "")

    def test_it_waits_for_its_plugin(self) -> None:
        assert hints_case.plan({"plugin": "X"}, frozenset("XY")) == Plan("waiting", ("X",))
        assert hints_case.plan({"plugin": "Z"}, frozenset("XY")) == Plan()
