"""Requests to extenders and what their answers lead to (``Extenders`` in data/README.md)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from random import Random
from typing import Any
from unittest.mock import patch

from attrs import define, field

import schedframe
from schedframe import Pod
from schedframe.api import PodCondition
from schedframe.cycle import Decision, no_node, scheduler
from schedframe.cycle.binding import assume, bind
from schedframe.cycle.binding.failure import CLEAR_NOMINATION, handle_failure
from schedframe.cycle.search import search
from schedframe.errors import ConfigError
from schedframe.framework import Diagnosis, NominatingInfo, Status
from tests.extenders.server import FakeExtender, Request

from .corpus import Case
from .difference import as_json, differences
from .scheduling_case import refusal_differences

_VERBS = {
    "filterVerb": "filter",
    "prioritizeVerb": "prioritize",
    "bindVerb": "bind",
    "preemptVerb": "preempt",
}
_EQUAL = (
    "feasible",
    "total",
    "best",
    "chosen",
    "bound_by",
    "code",
    "nomination",
    "evicted",
    "unschedulable_plugins",
)
_STAMPS = ("creationTimestamp", "resourceVersion")
"""Set by the cluster in memory; no case has them."""
_LEFT_OUT = ("apiVersion", "kind", "daemonEndpoints", *_STAMPS)


class _First(Random):
    """Draws the first of several."""

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        return 0 if stop is None else start


def _first_by_name(decision: Decision, rng: Random) -> str:
    assert decision.scores is not None
    return min(decision.scores.rows.select(decision.scores.best()).names())


def compare(case: Case) -> list[str]:
    """The differences between ``case["expect"]`` and an attempt with servers that answer as it says."""
    requests: list[Request] = []
    configured = case["config"]["extenders"]
    servers = [FakeExtender(requests=requests) for _ in configured]
    try:
        for server, extender, answers in zip(servers, configured, case["answers"], strict=True):
            _prepare(server, extender, answers, case["objects"])
        config = json.loads(_with_addresses(json.dumps(case["config"]), servers, to_names=False))
        try:
            actual = _attempt(case, config)
        except ConfigError as error:
            return refusal_differences(case["expect"], error)
        if "config_error" in case["expect"]:
            return [f"config_error: expected {case['expect']['config_error']!r}, got an attempt"]
        actual["requests"] = [_request(each, servers, configured) for each in requests]
        if actual["bound_by"] == "an extender":
            actual["bound_by"] = servers[actual["requests"][-1]["extender"]].url
        actual = json.loads(_with_addresses(json.dumps(as_json(actual)), servers, to_names=True))
        return list(_differences(case["expect"], actual))
    finally:
        for server in servers:
            server.close()


def _prepare(server: FakeExtender, extender: dict[str, Any], answers: Any, objects: Any) -> None:
    nodes = {
        each["metadata"]["name"]: {k: v for k, v in each.items() if k not in ("apiVersion", "kind")}
        for each in objects
        if each["kind"] == "Node"
    }
    path = extender["urlPrefix"].partition("//")[2].partition("/")[2].strip("/")
    for verb, call in _VERBS.items():
        if extender.get(verb) and answers.get(call):
            given = [_with_nodes(each, nodes) for each in answers[call]]
            server.answers[f"/{path}/{extender[verb]}" if path else f"/{extender[verb]}"] = given


def _with_nodes(value: Any, nodes: dict[str, Any]) -> Any:
    """*value* with the nodes that it refers to."""
    if isinstance(value, dict):
        if set(value) == {"$node"}:
            return nodes[value["$node"]]
        return {key: _with_nodes(each, nodes) for key, each in value.items()}
    return [_with_nodes(each, nodes) for each in value] if isinstance(value, list) else value


def _with_addresses(text: str, servers: list[FakeExtender], *, to_names: bool) -> str:
    for index, server in enumerate(servers):
        name, url = f"http://EXTENDER-{index}", server.url
        text = text.replace(url, name) if to_names else text.replace(name, url)
    return text


@define
class _Seen:
    """What one attempt did."""

    evicted: list[str] = field(factory=list)
    failures: list[tuple[Status, Diagnosis | None, NominatingInfo | None]] = field(factory=list)

    def handle_failure(
        self,
        core: Any,
        attempt: Any,
        status: Status,
        diagnosis: Diagnosis | None = None,
        nominating: NominatingInfo | None = CLEAR_NOMINATION,
        pod_class: Any = None,
    ) -> None:
        self.failures.append((status, diagnosis, nominating))
        handle_failure(core, attempt, status, diagnosis, nominating, pod_class)


def _attempt(case: Case, config: dict[str, Any]) -> dict[str, Any]:
    objects = sorted(case["objects"], key=lambda each: (each["kind"] != "Node", each["metadata"]["name"]))
    seen = _Seen()
    with ExitStack() as stack:
        simulation = stack.enter_context(schedframe.Simulation(objects, config=config, score_all_nodes=False))
        for module in (scheduler, no_node, bind, assume):
            stack.enter_context(patch.object(module, "handle_failure", seen.handle_failure))
        stack.enter_context(patch.object(search, "select", _first_by_name))
        core, cluster = simulation.scheduler.core, simulation.cluster
        core.rng = core.search.rng = _First()

        def evict(pod: Pod, *, condition: PodCondition | None = None) -> None:
            seen.evicted.append(pod.key)

        stack.enter_context(patch.object(cluster, "evict", evict))
        simulation.add(case["pod"])
        decision = simulation.scheduler.schedule_one()
        assert decision is not None
        simulation.scheduler.sync()
        pod = cluster.get("Pod", decision.pod.key)
        assert pod is not None
        return {**_decided(decision), **_ended(seen, pod)}


def _decided(decision: Decision) -> dict[str, Any]:
    statuses: dict[str, Status] = {}
    if decision.verdicts is not None:
        names = decision.verdicts.rows.names()
        found = [(name, decision.verdicts.status_at(i)) for i, name in enumerate(names)]
        statuses = {name: status for name, status in found if status is not None}
    statuses |= decision.named
    scores = decision.scores
    actual: dict[str, Any] = {
        "rejected": {
            name: {"code": status.code.label, "plugin": status.plugin, "reasons": sorted(status.reasons)}
            for name, status in statuses.items()
        },
        "feasible": decision.feasible.names() if decision.feasible is not None else [],
        "scores": {},
        "total": {},
        "best": [decision.node_name] if decision.node_name is not None else [],
        "chosen": decision.node_name,
    }
    if scores is not None:
        names = scores.rows.names()
        actual["total"] = dict(zip(names, scores.total.tolist(), strict=True))
        actual["best"] = sorted(scores.rows.select(scores.best()).names())
        for plugin, values in scores.by_plugin.items():
            actual["scores"][plugin] = dict(zip(names, values.tolist(), strict=True))
        actual["scores"] |= scores.by_extender
    return actual


def _ended(seen: _Seen, pod: Pod) -> dict[str, Any]:
    condition = next((c for c in pod.status.conditions if c.type == "PodScheduled"), None)
    status, diagnosis, nominating = seen.failures[0] if seen.failures else (None, None, None)
    return {
        "bound_by": "scheduler" if pod.spec.node_name else None if seen.failures else "an extender",
        "code": status.code.label if status is not None else None,
        "condition": {"reason": condition.reason, "message": condition.message} if condition else None,
        "nomination": nominating.node_name if nominating is not None else None,
        "post_filter_message": diagnosis.post_filter_message if diagnosis is not None else "",
        "unschedulable_plugins": sorted(diagnosis.unschedulable_plugins) if diagnosis is not None else [],
        "evicted": sorted(seen.evicted),
    }


def _differences(expect: dict[str, Any], actual: dict[str, Any]) -> Iterator[str]:
    yield from differences("", _comparable(expect), _comparable(actual))
    if not expect.get("message_informative"):
        for name in ("condition", "post_filter_message"):
            yield from differences(name, expect[name], actual[name])
    elif (expect["condition"] or {}).get("reason") != (actual["condition"] or {}).get("reason"):
        yield f"condition: expected {expect['condition']}, got {actual['condition']}"


def _comparable(outcome: dict[str, Any]) -> dict[str, Any]:
    """The fields that must be equal. Zeros of an extender without the verb to prioritize may be missing."""
    scores = {
        name: each
        for name, each in outcome["scores"].items()
        if not name.startswith("http://") or any(each.values())
    }
    rejected = {
        name: {**status, "reasons": sorted(status["reasons"])} for name, status in outcome["rejected"].items()
    }
    fields = {name: outcome[name] for name in _EQUAL}
    return {**fields, "scores": scores, "rejected": rejected, "requests": _requests(outcome["requests"])}


def _requests(requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Requests in order, those to prioritize by extender; below the first level without empty members."""
    order = sorted(
        range(len(requests)),
        key=lambda i: (_round(requests, i), requests[i]["extender"] if _is_ranking(requests[i]) else i),
    )
    return [
        {
            **{name: requests[i][name] for name in ("extender", "call", "method", "path", "content_type")},
            "body": {key: _without_empty(value) for key, value in requests[i]["body"].items()},
        }
        for i in order
    ]


def _is_ranking(request: dict[str, Any]) -> bool:
    return bool(request["call"] == "prioritize")


def _round(requests: list[dict[str, Any]], index: int) -> int:
    """Number of the last request before *index* that must come before it."""
    if not _is_ranking(requests[index]):
        return index
    while index and _is_ranking(requests[index - 1]):
        index -= 1
    return index


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        members = {key: _without_empty(each) for key, each in value.items() if key not in _LEFT_OUT}
        return {key: each for key, each in members.items() if each not in (None, "", {}, [])}
    return [_without_empty(each) for each in value] if isinstance(value, list) else value


def _request(
    request: Request, servers: list[FakeExtender], configured: list[dict[str, Any]]
) -> dict[str, Any]:
    index = next(i for i, server in enumerate(servers) if server is request.server)
    verb = request.path.rpartition("/")[2]
    call = next(call for name, call in _VERBS.items() if configured[index].get(name) == verb)
    return {
        "extender": index,
        "call": call,
        "method": request.method,
        "path": request.path,
        "content_type": request.content_type,
        "body": request.body,
    }
