"""A pod whose claim cannot be used waits with a reason, other pods go on, and the right event requeues it.

What it says was measured on kube-scheduler v1.36.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve, field, frozen

from schedframe import QueuedPodInfo
from schedframe.api import Pod
from tests.plugins.storage import ZONE, affinity, make_claim, make_class, make_node, make_pod, make_volume
from tests.plugins.volume_world import World, local

BACKOFF = 20.0
"""Seconds after which backoff has ended and nothing has been flushed."""
NOWHERE = "0/2 nodes are available: "
EARLY = " not found"
"""Message of post_filter if no node was evaluated."""
POST_FILTER_FAULT = "not found"
"""Message of DynamicResources without its pre_filter, as in kube-scheduler."""
LATE = " no new claims to deallocate, preemption: " + NOWHERE + "2 Preemption is not helpful for scheduling."

Step = Callable[[World], Any]


@frozen
class Case:
    """A problem of the claim of pod ``p``, and the change that solves it."""

    name: str
    objects: tuple[Any, ...]
    reason: str
    mend: Step
    pod: Pod = field(factory=lambda: make_pod("c"))
    after_filter: bool = False
    """Whether filter rejected, rather than pre_filter."""
    node_name: str = ""
    """Node of the pod in the end; empty if any is right."""

    @property
    def message(self) -> str:
        """Message of the pod's condition."""
        return f"{NOWHERE}{self.reason}.{LATE if self.after_filter else EARLY}"


def create(*objects: Any) -> Step:
    return lambda world: world.create(*objects)


def apply(*objects: Any) -> Step:
    """Create or replace."""

    def step(world: World) -> None:
        for obj in objects:
            world.cluster.apply(evolve(obj, metadata=evolve(obj.metadata, resource_version="")))

    return step


def replace(claim: Any) -> Step:
    """Delete the claim of that name, and create another one."""

    def step(world: World) -> None:
        world.cluster.delete("PersistentVolumeClaim", claim.key)
        world.create(claim)

    return step


BOUND = make_claim(volume="v")
VOLUME = make_volume(claim=BOUND)
ELSEWHERE = make_volume(claim=BOUND, only={ZONE: ["c"]})
EPHEMERAL = make_pod(ephemeral=["e"])
MADE_FOR_IT = make_claim("p-e", owner=EPHEMERAL.uid)

CASES = (
    Case(
        "missing",
        (),
        'persistentvolumeclaim "c" not found',
        create(make_claim()),
    ),
    Case(
        "ephemeral volume without its claim",
        (),
        'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-e"',
        create(MADE_FOR_IT),
        EPHEMERAL,
    ),
    Case(
        "ephemeral volume with a claim of another owner",
        (make_claim("p-e", owner="namesake"),),
        "PVC default/p-e was not created for pod default/p (pod is not owner)",
        replace(evolve(MADE_FOR_IT, metadata=evolve(MADE_FOR_IT.metadata, uid="another"))),
        EPHEMERAL,
    ),
    Case(
        "lost",
        (make_claim(volume="v", phase="Lost"),),
        'persistentvolumeclaim "c" bound to non-existent persistentvolume "v"',
        lambda world: (create(VOLUME)(world), apply(BOUND)(world)),
    ),
    Case(
        "volume gone",
        (BOUND,),
        'persistentvolume "v" not found',
        create(VOLUME),
    ),
    Case(
        "bound elsewhere, a node joins",
        (BOUND, ELSEWHERE),
        "2 node(s) didn't match PersistentVolume's node affinity",
        create(make_node("o", "c")),
        after_filter=True,
        node_name="o",
    ),
    Case(
        "bound elsewhere, a node is labelled",
        (BOUND, ELSEWHERE),
        "2 node(s) didn't match PersistentVolume's node affinity",
        apply(make_node("m", "c")),
        after_filter=True,
        node_name="m",
    ),
    Case(
        "bound elsewhere, the volume moves",
        (BOUND, ELSEWHERE),
        "2 node(s) didn't match PersistentVolume's node affinity",
        lambda world: world.cluster.update(
            evolve(world.volume(), spec=evolve(world.volume().spec, node_affinity=affinity({ZONE: ["a"]})))
        ),
        after_filter=True,
        node_name="n",
    ),
    Case(
        "in another zone by label",
        (BOUND, make_volume(claim=BOUND, labels={ZONE: "c"})),
        "2 node(s) had no available volume zone",
        apply(make_node("m", "c")),
        after_filter=True,
        node_name="m",
    ),
    Case(
        "unknown class",
        (make_claim(storage_class="later"),),
        "pod has unbound immediate PersistentVolumeClaims",
        create(make_class("later")),
    ),
    Case(
        "not bound yet by those who bind at once",
        (make_class("immediate", mode="Immediate"), make_claim(storage_class="immediate")),
        "pod has unbound immediate PersistentVolumeClaims",
        lambda world: (
            create(make_volume(claim=world.claim()))(world),
            apply(evolve(BOUND, metadata=evolve(BOUND.metadata, uid=world.claim().uid)))(world),
        ),
    ),
    Case(
        "no volume that would do",
        (make_claim(storage_class="local"), local("small", "1Gi")),
        "2 node(s) didn't find available persistent volumes to bind",
        create(local("v", only={ZONE: ["b"]})),
        after_filter=True,
        node_name="m",
    ),
    Case(
        "being deleted",
        (make_claim(deleted=True),),
        'persistentvolumeclaim "c" is being deleted',
        replace(make_claim(uid="another")),
    ),
    Case(
        "namesake recreated, its volume is still the first one's",
        (make_claim(storage_class="local", uid="second"), local("v", claim=make_claim(uid="first"))),
        "2 node(s) didn't find available persistent volumes to bind",
        create(local("w")),
        after_filter=True,
    ),
)


def waiting(world: World) -> QueuedPodInfo | None:
    """Return the pod of the case, if it waits."""
    return next((info for info in world.scheduler.pending() if info.key == "default/p"), None)


def pool(world: World) -> str:
    found = waiting(world)
    return "" if found is None else str(found.pool)


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.param
    return found


@pytest.fixture
def world(case: Case) -> World:
    """Return a world after one attempt of the pod and of two others, one with a claim of its own."""
    world = World()
    world.create(*case.objects, case.pod)
    world.create(make_claim("own"), make_pod("own", name="other"), make_pod(name="plain"))
    world.settle()
    return world


def test_the_condition_says_why_and_others_go_on(case: Case, world: World) -> None:
    assert pool(world) == "unschedulable"
    condition = world.pod().status.conditions[0]
    assert (condition.type, condition.status, condition.reason) == ("PodScheduled", "False", "Unschedulable")
    assert condition.message == case.message
    assert world.pod("other").spec.node_name
    assert world.pod("plain").spec.node_name
    assert set(world.faults) <= {POST_FILTER_FAULT}
    world.check()


def test_events_about_other_objects_do_not_requeue_it(case: Case, world: World) -> None:
    world.create(make_claim("another"), make_claim("c", namespace="elsewhere"), make_pod(name="more"))
    world.cluster.delete("PersistentVolumeClaim", "default/own")
    world.settle(BACKOFF)
    assert pool(world) == "unschedulable"
    assert world.pod("more").spec.node_name


def test_the_right_event_requeues_it(case: Case, world: World) -> None:
    case.mend(world)
    world.scheduler.sync()
    assert pool(world) in ("active", "backoff")
    world.settle(BACKOFF)
    pod = world.pod()
    assert pod.spec.node_name
    assert not case.node_name or pod.spec.node_name == case.node_name
    assert set(world.faults) <= {POST_FILTER_FAULT}
    world.check()


def test_a_recreated_claim_does_not_get_the_volume_of_the_first_one() -> None:
    """The claim is recreated while its volume is being bound; the new one gets another volume."""
    world = World(delay=True)
    world.create(make_claim("c", "local", uid="first"), local("v"), make_pod("c"))
    world.settle()
    assert world.waits()
    world.cluster.delete("PersistentVolumeClaim", "default/c")
    world.create(make_claim("c", "local", uid="second"), local("w"))
    world.settle(BACKOFF)
    world.controller.work()
    world.settle(BACKOFF)
    assert world.pod().spec.node_name
    assert world.claim().spec.volume_name == "w"
    reference = world.volume().spec.claim_ref
    assert reference is not None
    assert reference.uid == "first"
    world.check()


def test_a_claim_that_changes_during_the_attempt_is_not_missed() -> None:
    """The event arrives during the attempt; the pod is tried again."""
    world = World()
    world.create(make_pod("c"))
    world.scheduler.sync()
    messages: list[str] = []

    def on_condition(event: Any) -> None:
        # The scheduler has decided and writes its condition; only now the claim appears.
        if not messages and event.type == "MODIFIED":
            messages.append(event.new.status.conditions[0].message)
            world.create(make_claim())

    world.cluster.watch(on_condition, ["Pod"])
    world.settle(BACKOFF)
    assert messages == [f'{NOWHERE}persistentvolumeclaim "c" not found.{EARLY}']
    assert world.pod().spec.node_name
