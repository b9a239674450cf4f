"""Answers like the last one are not decoded again; they are answers about the present nodes nevertheless."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np
import pytest
from attrs import define, field

import schedframe
from schedframe import Pod
from schedframe.cycle.search.tie_breaking import Ties, one_of
from schedframe.extenders import Encoding, wire
from schedframe.framework import BaseExtender, ExtenderFilterResult, ExtenderVerb, OfferedNodes
from schedframe.state import NodeTable, Rows
from tests.cycle.build import make_node, make_pod

from .server import FakeExtender
from .test_bad_servers import config

KEPT = ["node-0", "node-1"]
ENTRY = {"filterVerb": "filter", "nodeCacheCapable": True}


@pytest.fixture
def server() -> Iterator[FakeExtender]:
    server = FakeExtender()
    yield server
    server.close()


def world(server: FakeExtender, *, nodes: int = 3) -> schedframe.Simulation:
    return schedframe.Simulation(
        [make_node(f"node-{i}", cpu=8) for i in range(nodes)], config({"urlPrefix": server.url, **ENTRY})
    )


def test_an_answer_like_the_last_one_is_decoded_once(
    server: FakeExtender, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies = []
    read_json = wire.read_json
    monkeypatch.setattr(wire, "read_json", lambda body: bodies.append(body) or read_json(body))
    failed = {"node-2": "reserved"}
    server.answers["/filter"] = [{"body": {"NodeNames": KEPT, "FailedNodes": failed}}]
    with world(server) as simulation:
        placed = simulation.schedule([make_pod(f"p{i}") for i in range(3)])
        assert {each.node_name for each in placed} <= {*KEPT}
        evaluation = simulation.evaluate(make_pod("more"))
    assert len(bodies) == 1
    status = evaluation.statuses["node-2"]
    assert status is not None
    assert status.reasons == ("reserved",)


def test_a_node_that_is_gone_is_unknown_though_the_answer_did_not_change(server: FakeExtender) -> None:
    server.answers["/filter"] = [{"body": {"NodeNames": KEPT}}]
    with world(server) as simulation:
        assert simulation.schedule([make_pod("before")])[0].node_name in KEPT
        simulation.cluster.delete("Node", "node-0")
        simulation.cluster.delete("Node", "node-1")
        (after,) = simulation.schedule([make_pod("after")])
    assert 'claims a filtered node "node-0" which is not found' in after.message


def test_another_answer_counts(server: FakeExtender) -> None:
    """Also one with the same nodes and other reasons."""
    bodies = [
        {"NodeNames": ["node-0"], "FailedNodes": {"node-1": "one"}},
        {"NodeNames": ["node-0"], "FailedNodes": {"node-1": "two"}},
        {"NodeNames": ["node-1"], "FailedAndUnresolvableNodes": {"node-0": "three"}},
    ]
    server.answers["/filter"] = [{"body": body} for body in bodies]
    with world(server, nodes=2) as simulation:
        found = [simulation.evaluate(make_pod()) for _ in bodies]
    reasons = [
        {name: status.reasons for name, status in each.statuses.items() if status is not None}
        for each in found
    ]
    assert reasons == [{"node-1": ("one",)}, {"node-1": ("two",)}, {"node-0": ("three",)}]
    assert [each.best for each in found] == [["node-0"], ["node-0"], ["node-1"]]


@define(eq=False)
class Reusing(BaseExtender):
    """Returns one result object again and again, and changes what is in it."""

    verbs: frozenset[ExtenderVerb] = frozenset({ExtenderVerb.FILTER})
    kept: list[str] = field(factory=list)
    failed: dict[str, str] = field(factory=dict)
    result: ExtenderFilterResult = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.result = ExtenderFilterResult(self.kept, failed=self.failed)

    def filter(self, pod: Pod, nodes: OfferedNodes) -> ExtenderFilterResult:
        self.kept[:] = [pod.name]
        self.failed.clear()
        self.failed.update((name, f"not {pod.name}") for name in nodes.names if name != pod.name)
        return self.result


def test_an_extender_may_change_the_result_that_it_returned_before() -> None:
    nodes = [make_node(name, cpu=8) for name in ("a", "b")]
    with schedframe.Simulation(nodes, extenders=[Reusing()]) as simulation:
        for name, other in ("ab", "ba", "ab"):
            evaluation = simulation.evaluate(make_pod(name))
            status = evaluation.statuses[other]
            assert status is not None
            assert (evaluation.best, status.reasons) == ([name], (f"not {name}",))


def test_a_pod_that_was_prepared_is_not_encoded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    encoding, first, second = Encoding(), make_pod("first"), make_pod("second")
    encoding.pod(first)
    encoding.prepare(second)
    prepared = Encoding().pod(second)
    monkeypatch.setattr("schedframe.extenders.encoding.encode", lambda value: b"again")
    assert encoding.pod(first) != prepared
    assert encoding.pod(second) == prepared


def test_another_version_of_a_prepared_pod_is_encoded() -> None:
    encoding = Encoding()
    encoding.prepare(make_pod("pod", labels={"version": "1"}))
    assert b'"version":"2"' in encoding.pod(make_pod("pod", labels={"version": "2"}))


@pytest.mark.parametrize("ties", [1, 2, 40])
@pytest.mark.parametrize("chosen", [None, list(range(99, 20, -1))])
def test_ties_are_drawn_alike_whether_prepared_or_not(ties: int, chosen: list[int] | None) -> None:
    """In part of the rows, or in all; by rejection sampling, or by the number of the tie."""
    table = NodeTable()
    for i in range(100):
        table.set_node(make_node(f"node-{i}"))
    rows = table.rows() if chosen is None else Rows.at(table, np.array(chosen, np.intp))
    best = np.zeros(len(rows), np.bool_)
    best[:ties] = True
    prepared, rng, other = Ties(rows, best), Random(1), Random(1)
    drawn = [prepared.draw(rng) for _ in range(50)]
    assert drawn == [one_of(rows, best, other) for _ in range(50)]
    assert set(drawn) <= set(rows.positions[:ties].tolist())
