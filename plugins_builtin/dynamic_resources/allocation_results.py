"""Allocations in the form of the API, and their scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final
from uuid import UUID, uuid5

from schedframe import PluginError
from schedframe.api import (
    FIELD_NAME,
    IN,
    AllocationResult,
    DeviceAllocationConfiguration,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    ResourceClaim,
)

from .search.demand import Demand
from .search.device_search import Pick

MAX_ALTERNATIVES: Final = 8
"""Most alternatives of one request; FirstAvailableDeviceRequestMaxSize of the API."""
_SHARES: Final = UUID("6a7a2b0c-52a5-4b0f-9a53-3a0a7f5d1c6e")
_BY_CLASS, _BY_CLAIM = "FromClass", "FromClaim"


def allocation_of(demand: Demand, picks: Sequence[Pick], node_name: str) -> AllocationResult:
    """Return the allocation of the claim for a pod on that node."""
    results = tuple(_result(demand.claim, number, pick) for number, pick in enumerate(picks))
    devices = DeviceAllocationResult(results, tuple(_configuration(demand, picks)))
    return AllocationResult(devices, node_selector_of(picks, node_name))


def _result(claim: ResourceClaim, number: int, pick: Pick) -> DeviceRequestAllocationResult:
    driver, pool, name = pick.offered.id
    device = pick.offered.device
    share = None
    if pick.offered.shared:
        # The version is part of the key: a claim that is allocated again has another one by then.
        key = (claim.uid or claim.key, claim.metadata.resource_version, *pick.offered.id, str(number))
        share = str(uuid5(_SHARES, "\0".join(key)))
    # Without capacities the default, which needs no check of its entries.
    consumed = {"consumed_capacity": dict(sorted(pick.consumed.items()))} if pick.consumed else {}
    return DeviceRequestAllocationResult(
        pick.query.name,
        driver,
        pool,
        name,
        admin_access=True if pick.query.admin else None,
        tolerations=pick.query.tolerations,
        binding_conditions=device.binding_conditions,
        binding_failure_conditions=device.binding_failure_conditions,
        share_id=share,
        **consumed,
    )


def _configuration(demand: Demand, picks: Sequence[Pick]) -> Iterable[DeviceAllocationConfiguration]:
    """Yield the configuration of each class once, for all its requests, then that of the claim."""
    chosen = {pick.query.request: pick.query for pick in picks}
    by_class: dict[str, list[str]] = {}
    classes = {}
    for choice in demand.choices:
        query = chosen.get(choice.name)
        if query is not None:
            classes[query.device_class.name] = query.device_class
            by_class.setdefault(query.device_class.name, []).append(query.name)
    for name, requests in by_class.items():
        for part in classes[name].spec.config:
            yield DeviceAllocationConfiguration(_BY_CLASS, tuple(requests), part.opaque)
    names = {query.name for query in chosen.values()} | {choice.name for choice in demand.choices}
    for own in demand.claim.spec.devices.config:
        if not own.requests or names.intersection(own.requests):
            yield DeviceAllocationConfiguration(_BY_CLAIM, own.requests, own.opaque)


def node_selector_of(picks: Iterable[Pick], node_name: str) -> NodeSelector | None:
    """Return the selector of the nodes that can use all the devices; ``None`` for all nodes."""
    expressions: dict[object, NodeSelectorRequirement] = {}
    fields: dict[object, NodeSelectorRequirement] = {}
    for pick in picks:
        spec, device = pick.offered.slice.spec, pick.offered.device
        chooser = device if spec.per_device_node_selection else spec
        if chooser.node_name is not None or device.binds_to_node:
            only = NodeSelectorRequirement(FIELD_NAME, IN, (node_name,))
            return NodeSelector((NodeSelectorTerm(match_fields=(only,)),))
        if chooser.node_selector is None or not chooser.node_selector.terms:
            continue
        if len(chooser.node_selector.terms) > 1:
            raise PluginError(
                f"slice {pick.offered.slice.name}: a node selector with {len(chooser.node_selector.terms)} "
                "terms cannot be combined with others; give it one term"
            )
        term = chooser.node_selector.terms[0]
        for found, requirements in ((expressions, term.match_expressions), (fields, term.match_fields)):
            for each in requirements:
                found.setdefault((each.key, each.operator, frozenset(each.values)), each)
    if not expressions and not fields:
        return None
    return NodeSelector((NodeSelectorTerm(tuple(expressions.values()), tuple(fields.values())),))


def score_of(claim: ResourceClaim, names: Iterable[str]) -> int:
    """Return the sum over the chosen alternatives, earlier ones counting more.

    *names*: the requests that were served, ``request/alternative``.
    """
    served = set(names)
    return sum(
        MAX_ALTERNATIVES - place
        for request in claim.spec.devices.requests
        for place, part in enumerate(request.first_available)
        if f"{request.name}/{part.name}" in served
    )
