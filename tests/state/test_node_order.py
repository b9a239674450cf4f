"""The order in which sampled searches visit the nodes."""

from __future__ import annotations

import pytest
from attrs import define, field
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from schedframe.api import Node
from schedframe.state import NodeOrder, zone_of

from . import strategies as s
from .build import make_node

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"


@pytest.mark.parametrize(
    ("labels", "zone"),
    [
        ({}, ("", "")),
        ({ZONE: "a"}, ("", "a")),
        ({REGION: "eu"}, ("eu", "")),
        ({REGION: "eu", ZONE: "a"}, ("eu", "a")),
        ({REGION: "eu", ZONE: "a", BETA_ZONE: "b"}, ("eu", "b")),
        ({REGION: "eu", BETA_REGION: "us", ZONE: "a"}, ("us", "a")),
        ({BETA_REGION: "", REGION: "eu"}, ("", "")),
    ],
)
def test_zone(labels: dict[str, str], zone: tuple[str, str]) -> None:
    assert zone_of(make_node("n", labels=labels)) == zone


def order_of(*nodes: Node) -> NodeOrder:
    order = NodeOrder()
    for node in nodes:
        order.add(node)
    return order


def in_zone(name: str, zone: str, region: str = "") -> Node:
    return make_node(name, labels={ZONE: zone, REGION: region})


def test_round_robin_over_zones_in_order_of_appearance() -> None:
    order = order_of(
        in_zone("b1", "b"), in_zone("a1", "a"), in_zone("a2", "a"), in_zone("a3", "a"), make_node("x")
    )
    assert order.names() == ["b1", "a1", "x", "a2", "a3"]


def test_equal_zones_of_two_regions_are_two_zones() -> None:
    order = order_of(in_zone("n1", "a", "eu"), in_zone("n2", "a", "eu"), in_zone("n3", "a", "us"))
    assert order.names() == ["n1", "n3", "n2"]


def test_no_nodes_and_unknown_names() -> None:
    order = NodeOrder()
    order.remove("n1")
    assert order.names() == []


def test_list_stays_while_the_names_do() -> None:
    order = order_of(in_zone("n1", "a"), in_zone("n2", "a"), in_zone("n3", "b"))
    names = order.names()
    order.add(in_zone("n1", "b"))
    order.remove("n2")
    order.add(in_zone("n2", "a"))
    assert order.names() is names
    order.add(in_zone("n4", "c"))
    # n1 went to the end of its new zone; n2, which left zone a empty, opened it again after b.
    assert order.names() == ["n3", "n2", "n4", "n1"]


@define(eq=False)
class NaiveOrder:
    """The rules as documented: zones in order of appearance, lists of names, a list computed at each call."""

    zones: list[tuple[tuple[str, str], list[str]]] = field(factory=list)
    listed: list[str] = field(factory=list)

    def zone_with(self, name: str) -> tuple[tuple[str, str], list[str]] | None:
        return next((zone for zone in self.zones if name in zone[1]), None)

    def remove(self, name: str) -> None:
        zone = self.zone_with(name)
        if zone is not None:
            zone[1].remove(name)
            self.zones = [(key, names) for key, names in self.zones if names]

    def add(self, name: str, key: tuple[str, str]) -> None:
        present = self.zone_with(name)
        if present is not None and present[0] == key:
            return
        self.remove(name)
        for other, names in self.zones:
            if other == key:
                names.append(name)
                return
        self.zones.append((key, [name]))

    def names(self) -> list[str]:
        if {name for _, names in self.zones for name in names} != set(self.listed):
            longest = max((len(names) for _, names in self.zones), default=0)
            self.listed = [names[i] for i in range(longest) for _, names in self.zones if i < len(names)]
        return self.listed


class NodeOrderMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.order = NodeOrder()
        self.model = NaiveOrder()

    names = st.sampled_from([f"n{i}" for i in range(7)])

    @rule(name=names, zone=st.sampled_from(s.ZONES), region=st.sampled_from(("", "eu")))
    def add(self, name: str, zone: str, region: str) -> None:
        self.order.add(in_zone(name, zone, region))
        self.model.add(name, (region, zone))

    @rule(name=names)
    def remove(self, name: str) -> None:
        self.order.remove(name)
        self.model.remove(name)

    @rule()
    def search(self) -> None:
        assert self.order.names() == self.model.names()

    @rule(name=names, zone=st.sampled_from(s.ZONES))
    def come_back_elsewhere(self, name: str, zone: str) -> None:
        self.remove(name)
        self.add(name, zone, "")

    @invariant()
    def consistent(self) -> None:
        self.order.check_invariants()


TestNodeOrder = NodeOrderMachine.TestCase
