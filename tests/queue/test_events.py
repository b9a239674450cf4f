from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe import Action, ClusterEvent, EventRegistration, EventResource, QueueingHint
from schedframe.queue import (
    EVERYTHING,
    FORCE_ACTIVATE,
    UNSCHEDULABLE_TIMEOUT,
    WILDCARD,
    matches,
    registered_actions,
    resource_of,
    with_implied,
)


def event(resource: str, *labels: str) -> ClusterEvent:
    actions = Action.NONE
    for label in labels:
        actions |= Action.parse(label)
    return ClusterEvent(resource, actions)


def test_bits_and_labels() -> None:
    labels = [action.label for action in Action]
    assert labels == [
        "Add",
        "Delete",
        "UpdateNodeAllocatable",
        "UpdateNodeLabel",
        "UpdateNodeTaint",
        "UpdateNodeCondition",
        "UpdateNodeAnnotation",
        "UpdateNodeDeclaredFeature",
        "UpdatePodLabel",
        "UpdatePodScaleDown",
        "UpdatePodToleration",
        "UpdatePodSchedulingGatesEliminated",
        "UpdatePodGeneratedResourceClaim",
    ]
    assert [int(action) for action in Action] == [1 << bit for bit in range(13)]
    assert int(Action.ALL) == 2**13 - 1
    assert Action.UPDATE == Action.ALL & ~Action.ADD & ~Action.DELETE
    assert (Action.ALL.label, Action.UPDATE.label, (Action.ADD | Action.DELETE).label) == (
        "All",
        "Update",
        "",
    )
    assert all(Action.parse(action.label) is action for action in (*Action, Action.ALL, Action.UPDATE))
    with pytest.raises(KeyError):
        Action.parse("Explode")


def test_spelling_of_events() -> None:
    assert str(event("Node", "UpdateNodeTaint")) == "NodeUpdateNodeTaint"
    assert str(ClusterEvent(EventResource.UNSCHEDULABLE_POD, Action.UPDATE)) == "UnschedulablePodUpdate"
    assert str(event("storage.k8s.io/CSINode", "Add")) == "storage.k8s.io/CSINodeAdd"
    assert str(event("Node", "Add", "UpdateNodeLabel")) == "Node"
    assert str(FORCE_ACTIVATE) == "ForceActivate"
    assert str(UNSCHEDULABLE_TIMEOUT) == "UnschedulableTimeout"
    assert str(WILDCARD) == "*All"
    assert event("Node", "Add") == ClusterEvent(EventResource.NODE, Action.ADD)
    assert hash(event("Node", "Add")) == hash(ClusterEvent(EventResource.NODE, Action.ADD))


def test_kinds_have_the_resource_of_their_group() -> None:
    assert resource_of("Node") == "Node"
    assert resource_of("CSIDriver") == "storage.k8s.io/CSIDriver"
    assert resource_of("ResourceClaim") == "resource.k8s.io/ResourceClaim"
    assert resource_of("Widget") == "Widget"


@pytest.mark.parametrize(
    ("registered", "happened", "expected"),
    [
        (event("Node", "Add"), event("Node", "Add"), True),
        (event("Node", "Add"), event("Node", "Delete"), False),
        (event("Node", "Add"), event("Pod", "Add"), False),
        (event("Node", "Add", "UpdateNodeLabel"), event("Node", "UpdateNodeLabel"), True),
        (event("Node", "Update"), event("Node", "UpdateNodeTaint"), True),
        (event("Node", "UpdateNodeTaint"), event("Node", "Update"), False),
        (event("Pod", "Delete"), event("AssignedPod", "Delete"), True),
        (event("Pod", "Delete"), event("UnschedulablePod", "Delete"), True),
        (event("AssignedPod", "Delete"), event("UnschedulablePod", "Delete"), False),
        (event("*", "Add"), event("Node", "Add"), True),
        (event("*", "All"), event("example.com/widgets", "Delete"), True),
        (event("*", "All"), WILDCARD, True),
        (event("Node", "All"), WILDCARD, False),
        (event("Pod", "All"), WILDCARD, False),
        # a common bit, and not more than registered as a number
        (event("Node", "UpdateNodeTaint"), event("Node", "UpdateNodeLabel", "UpdateNodeTaint"), False),
        (event("Node", "UpdateNodeTaint", "Add"), event("Node", "Add", "UpdateNodeLabel"), True),
    ],
)
def test_matching(registered: ClusterEvent, happened: ClusterEvent, expected: bool) -> None:
    assert matches(registered, happened) is expected


RESOURCES = st.sampled_from(["*", "Pod", "AssignedPod", "UnschedulablePod", "Node", "widgets"])
EVENTS = st.builds(ClusterEvent, RESOURCES, st.integers(1, int(Action.ALL)).map(Action))


@given(EVENTS, EVENTS)
def test_matching_is_what_the_rule_says(registered: ClusterEvent, happened: ClusterEvent) -> None:
    mine, theirs = int(registered.actions), int(happened.actions)
    resources = {"*": {happened.resource}, "Pod": {"Pod", "AssignedPod", "UnschedulablePod"}}
    alike = happened.resource in resources.get(registered.resource, {registered.resource})
    wildcard = registered.resource == "*" and mine == int(Action.ALL)
    assert matches(registered, happened) == (wildcard or (alike and mine & theirs != 0 and theirs <= mine))


def test_a_new_node_implies_changed_taints() -> None:
    add = EventRegistration(event("Node", "Add"), lambda pod, old, new: False)
    implied = EventRegistration(event("Node", "UpdateNodeTaint"))
    assert with_implied([add]) == (add, implied)
    assert with_implied([EventRegistration(event("Node", "Add", "Update"))]) == (
        EventRegistration(event("Node", "Add", "Update")),
    )
    both = [add, EventRegistration(event("Node", "UpdateNodeTaint"), lambda pod, old, new: True)]
    assert with_implied(both) == tuple(both)
    others = [EventRegistration(event("Node", "UpdateNodeLabel")), EventRegistration(event("*", "All"))]
    assert with_implied(others) == tuple(others)


def test_registered_actions() -> None:
    registrations = [
        EventRegistration(event("Node", "Add")),
        EventRegistration(event("Node", "Delete")),
        EventRegistration(event("storage.k8s.io/CSINode", "Update")),
    ]
    assert registered_actions(registrations) == {
        "Node": Action.ADD | Action.DELETE,
        "storage.k8s.io/CSINode": Action.UPDATE,
    }
    assert registered_actions(EVERYTHING)["resource.k8s.io/DeviceClass"] == Action.ALL
    assert "storage.k8s.io/VolumeAttachment" not in registered_actions(EVERYTHING)


def test_hints_are_true_or_false() -> None:
    assert bool(QueueingHint.QUEUE)
    assert not QueueingHint.SKIP
