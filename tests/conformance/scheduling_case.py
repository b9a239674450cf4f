"""One scheduling cycle against :func:`schedframe.evaluate` (``A case`` in data/README.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from attrs import frozen

import schedframe
from schedframe.errors import ConfigError

from .corpus import Case
from .difference import as_json, differences
from .plan import MET_BY_SOME_PODS, Plan, plugins_named, waiting_for
from .undelivered import UNDELIVERED

Expectation = dict[str, Any]

# What a default profile runs after a failed search; one of them missing changes the combined status.
POST_FILTER_PLUGINS = frozenset({"DefaultPreemption", "DynamicResources"})

_PREEMPTION = "preemption: "
_TELLS_ALLOCATIONS = "dra_more-"
"""Names of cases in which no ``allocations`` means that there are none; others do not tell of them."""
_TOTALS_FROM_THE_REST = "total and best, added up from the other scores"


def compare(case: Case) -> list[str]:
    """The differences between ``case["expect"]`` and what schedframe says."""
    try:
        evaluation = schedframe.evaluate(case["objects"], case["pod"], config=case["config"])
    except ConfigError as error:
        return refusal_differences(case["expect"], error)
    if "config_error" in case["expect"]:
        return [f"config_error: expected {case['expect']['config_error']!r}, got an evaluation"]
    record = evaluation.to_dict()
    if "allocations" not in case["expect"] and not case["name"].startswith(_TELLS_ALLOCATIONS):
        record.pop("allocations", None)
    return evaluation_differences(reduce_expectation(case["expect"], UNDELIVERED), record)


def plan(case: Case, undelivered: frozenset[str]) -> Plan:
    """What the missing plugins leave of *case*."""
    expect = case["expect"]
    if waits_for := deciders(expect, undelivered):
        return waiting_for(waits_for)
    if "config_error" in expect:
        return Plan()
    return Plan("compared", reduce_expectation(expect, undelivered).left_out)


@frozen
class Reduced:
    """An expectation without the parts that missing plugins have in it; ``left_out`` names these parts."""

    expect: Expectation
    left_out: tuple[str, ...] = ()


def refusal_differences(expect: Expectation, error: ConfigError) -> list[str]:
    """A refused configuration conforms if it had to be; the message is informative, so there must be one."""
    if "config_error" not in expect:
        return [f"config_error: expected none, got {str(error)!r}"]
    return [] if str(error) else ["config_error: the message is empty"]


def deciders(expect: Expectation, undelivered: frozenset[str]) -> frozenset[str]:
    """The *undelivered* plugins without which nothing in the case can come out right."""
    found = set()
    for status in _statuses(expect):
        found.add(status["plugin"])
        for reason in status["reasons"]:  # "node(s) didn't satisfy plugin(s) [X]"
            found |= plugins_named(reason, undelivered)
    for field in ("config_error", "error", "scoring_error"):
        found |= plugins_named(expect.get(field), undelivered)
    if "allocations" in expect:
        found.add("DynamicResources")
    prescore = expect.get("prescore")
    if prescore and prescore["code"] == "Success" and not set(expect["scores"]) - undelivered:
        # Only these scored, or would have: without them the profile has no Score plugin at all.
        found |= set(expect["scores"]) | set(prescore["skip_score_plugins"])
    return undelivered & found


def reduce_expectation(expect: Expectation, undelivered: frozenset[str]) -> Reduced:
    """*expect* less the parts of *undelivered* plugins, by the rules of :mod:`tests.conformance.plan`."""
    reduced = dict(expect)
    left_out = []
    for stage, field in (("prefilter", "skip_filter_plugins"), ("prescore", "skip_score_plugins")):
        skipped = (expect.get(stage) or {}).get(field, [])
        if undelivered.intersection(skipped):
            reduced[stage] = {**expect[stage], field: [name for name in skipped if name not in undelivered]}
            left_out.append(f"{stage}.{field}")
    if undelivered.intersection(expect.get("scores", {})):
        reduced |= _without_scores(expect, undelivered)
        left_out.append("scores")
        if reduced["total"] != expect["total"]:
            left_out.append(_TOTALS_FROM_THE_REST)
    if expect.get("post_filter") is not None:
        in_dry_run = undelivered & MET_BY_SOME_PODS - set(expect["prefilter"]["skip_filter_plugins"])
        left_out += _reduce_post_filter(reduced, undelivered & POST_FILTER_PLUGINS, in_dry_run)
    return Reduced(reduced, tuple(left_out))


def _reduce_post_filter(
    expect: Expectation, missing: frozenset[str], in_dry_run: frozenset[str]
) -> list[str]:
    """Leave out of *expect* what *missing* plugins have in its PostFilter part, and tell which parts that is.

    *in_dry_run* are missing filters that preemption would run.
    """
    post_filter, message = expect["post_filter"], without_post_filter(expect["message"])
    preemption = [reason for reason in post_filter["reasons"] if reason.startswith(_PREEMPTION)]
    if "DefaultPreemption" in missing or in_dry_run or (missing and post_filter["code"] == "Error"):
        preemption = []
    elif not missing or post_filter["code"] == "Success":
        return []
    if preemption:
        named = {"plugin": "DefaultPreemption", "reasons": preemption}
        expect |= {"post_filter": {**post_filter, **named}, "message": f"{message} {', '.join(preemption)}"}
        return ["reason of DynamicResources in post_filter and message"]
    del expect["post_filter"]
    unchanged, expect["message"] = message == expect["message"], message
    return ["post_filter"] if unchanged else ["post_filter", "message after the PostFilter stop"]


def _without_scores(expect: Expectation, undelivered: frozenset[str]) -> Expectation:
    scores = {plugin: nodes for plugin, nodes in expect["scores"].items() if plugin not in undelivered}
    total = {node: sum(nodes[node] for nodes in scores.values()) for node in expect["total"]}
    highest = max(total.values(), default=0)
    return {
        "scores": scores,
        "total": total,
        "best": sorted(n for n, value in total.items() if value == highest),
    }


def without_post_filter(message: str | None) -> str | None:
    """The text before the PostFilter part: no reason has a full stop followed by a space in it."""
    if message is None:
        return None
    head, stop, _ = message.partition(". ")
    return head + stop.rstrip()


def evaluation_differences(reduced: Reduced, evaluation: Expectation) -> list[str]:
    """The places where *evaluation*, in the form of ``expect``, does not conform to *reduced*."""
    expect = reduced.expect
    actual = as_json(evaluation)
    if expect.get("skipped") or actual.get("skipped"):
        return list(differences("skipped", expect.get("skipped", False), actual.get("skipped", False)))
    if "post_filter" not in expect:
        actual = {**actual, "message": without_post_filter(actual["message"])}
    return [
        *differences("", _comparable(expect), _comparable(actual)),
        *_error_differences("error", expect["error"], actual["error"]),
        *_error_differences("scoring_error", expect.get("scoring_error"), actual.get("scoring_error")),
        *differences("stage of the error", stage_of_error(expect), stage_of_error(actual)),
        *_post_filter_differences(expect, actual),
    ]


def _comparable(expect: Expectation) -> Expectation:
    """The fields that must be equal, reasons as sets, absent ones as null."""
    prefilter = expect["prefilter"]
    return {
        "pre_enqueue": _status(expect["pre_enqueue"]),
        "prefilter": _status(prefilter),
        "absent_status": _status(prefilter["absent_status"] if prefilter else None),
        "filter": {node: _status(status) for node, status in expect["filter"].items()},
        "prescore": _status(expect["prescore"]),
        **{field: expect[field] for field in ("feasible", "scores", "total", "best", "message")},
        **{field: expect.get(field) for field in ("nominated_node_feasible", "allocations")},
    }


def _status(status: dict[str, Any] | None) -> dict[str, Any]:
    """A status with its reasons as a set; of an error they are informative, so one must be there.

    What PreFilter's has inside is a status of its own.
    """
    if status is None:
        return {}
    reasons = sorted(set(status["reasons"]))
    informative = status["code"] == "Error"
    return {**status, "absent_status": None, "reasons": bool(reasons) if informative else reasons}


def _statuses(expect: Expectation) -> Iterator[dict[str, Any]]:
    prefilter = expect.get("prefilter")
    candidates = [expect.get("pre_enqueue"), prefilter, *(expect.get("filter") or {}).values()]
    if prefilter:
        candidates.append(prefilter["absent_status"])
    yield from filter(None, candidates)


def stage_of_error(expect: Expectation) -> str | None:
    """Where the cycle ended with an error, told from what is there and what is not."""
    if expect["error"] is None:
        return None
    if expect["prefilter"] is None:
        return "no nodes"
    if expect["prefilter"]["code"] == "Error":
        return "PreFilter"
    if any(status["code"] == "Error" for status in expect["filter"].values()):
        return "Filter"
    return "PreScore" if expect["prescore"] and expect["prescore"]["code"] != "Success" else "Score"


def _error_differences(field: str, expected: str | None, actual: str | None) -> Iterator[str]:
    """Errors need not have the same words, but both or none, and the plugin that failed must be named."""
    if expected is None or not actual:
        if expected is not None or actual is not None:
            yield f"{field}: expected {expected!r}, got {actual!r}"
        return
    for plugin in re.findall(r'^running "(\w+)"|^running \w+ plugins: plugin "(\w+)"', expected):
        name = "".join(plugin)
        if name not in actual:
            yield f"{field}: expected the plugin {name} to be named, got {actual!r}"


def _post_filter_differences(expect: Expectation, evaluation: Expectation) -> Iterator[str]:
    if "post_filter" not in expect:
        return
    expected, actual = expect["post_filter"], evaluation["post_filter"]
    if expected is None or actual is None:
        yield from differences("post_filter", expected, actual)
        return
    exact = ("plugin", "code", "reasons", "candidates")
    one, other = _status(expected), _status(actual)
    yield from differences("post_filter", {k: one[k] for k in exact}, {k: other[k] for k in exact})
    nominated = actual["nominated_node"]
    legitimate = expected["nominated_nodes_tied"] or [""]
    if nominated not in legitimate:
        yield f"post_filter.nominated_node: expected one of {legitimate}, got {nominated!r}"
    elif nominated == expected["nominated_node"]:
        for field in ("victims", "evicted", "cleared_nominations"):
            yield from differences(f"post_filter.{field}", expected[field], actual[field])
    else:
        victims = expected["candidates"][nominated]["victims"]
        yield from differences("post_filter.victims", victims, actual["victims"])
        if not set(actual["evicted"]) <= set(victims):
            yield f"post_filter.evicted: expected some of {victims}, got {actual['evicted']}"
