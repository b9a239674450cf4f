"""The claim tracker: no device is allocated twice, in whatever order events and writes arrive."""

from __future__ import annotations

from attrs import evolve
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from plugins_builtin.dynamic_resources.claims.tracker import ClaimTracker, tracker_of
from schedframe.api import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaim,
    parse_quantity,
)
from schedframe.state import NodeTable, ObjectStore

from .devices import DRIVER, claim, device, node, slice_of

DEVICES = ("a",)
NAMES = ("x", "y", "z")


def allocated(to: ResourceClaim, device: str | None, version: int) -> ResourceClaim:
    result = DeviceRequestAllocationResult("r", DRIVER, "n1", device or "")
    allocation = AllocationResult(DeviceAllocationResult((result,))) if device else None
    metadata = evolve(to.metadata, resource_version=str(version))
    return evolve(to, metadata=metadata, status=evolve(to.status, allocation=allocation))


def device_of(claim: ResourceClaim | None) -> str | None:
    if claim is None or claim.status.allocation is None:
        return None
    return claim.status.allocation.devices.results[0].device


class ClaimMachine(RuleBasedStateMachine):
    """A server, its delayed events, and a scheduler that allocates devices that its tracker has as free."""

    def __init__(self) -> None:
        super().__init__()
        self.version = 0
        self.store = ObjectStore()
        self.tracker = ClaimTracker(self.store)
        table = NodeTable()
        table.set_node(node("n1"))
        self.store.set(slice_of("n1", [device(name) for name in DEVICES]))
        self.states = self.tracker.states_of(table)
        self.server: dict[str, ResourceClaim] = {}
        self.events: dict[str, list[ResourceClaim | None]] = {name: [] for name in NAMES}
        self.past: dict[str, list[ResourceClaim]] = {name: [] for name in NAMES}
        self.writing: dict[str, ResourceClaim] = {}
        """Name → claim with the allocation that is being written."""
        self.read: dict[str, ResourceClaim] = {}
        self.unanswered: set[str] = set()
        for name in NAMES:
            self.create(name)
            self.deliver(name)

    def serve(self, name: str, changed: ResourceClaim | None) -> None:
        if changed is None:
            del self.server[name]
        else:
            self.server[name] = changed
        self.events[name].append(changed)

    def bump(self) -> int:
        self.version += 1
        return self.version

    names = st.sampled_from(NAMES)

    # ---- the server ----

    @rule(name=names)
    def create(self, name: str) -> None:
        if name not in self.server:
            fresh = claim(name)
            version = self.bump()
            uid = f"{name}-{version}"
            self.serve(
                name, allocated(evolve(fresh, metadata=evolve(fresh.metadata, uid=uid)), None, version)
            )

    @rule(name=names)
    def delete(self, name: str) -> None:
        if name in self.server:
            self.serve(name, None)

    @rule(name=names)
    def deallocate(self, name: str) -> None:
        if device_of(self.server.get(name)):
            self.serve(name, allocated(self.server[name], None, self.bump()))

    # ---- events ----

    @rule(name=names)
    def deliver(self, name: str) -> None:
        if self.events[name]:
            event = self.events[name].pop(0)
            if event is None:
                self.store.remove("ResourceClaim", f"default/{name}")
            else:
                self.store.set(event)
                self.past[name].append(event)

    @rule(name=names, data=st.data())
    def deliver_again(self, name: str, data: st.DataObject) -> None:
        if self.past[name]:
            self.store.set(data.draw(st.sampled_from(self.past[name])))

    # ---- the scheduler ----

    @rule(name=names)
    def reserve(self, name: str) -> None:
        self.tracker.sync()
        known = self.tracker.get(f"default/{name}")
        free = [d for d in DEVICES if not self.tracker.usage.is_allocated((DRIVER, "n1", d))]
        if known is None or device_of(known) or name in self.writing or not free:
            return
        if self.tracker.is_in_flight(known):
            return
        self.read[name] = known
        self.writing[name] = allocated(known, free[0], 0)
        self.tracker.start(self.writing[name])

    @rule(name=names)
    def allocate(self, name: str) -> None:
        """Run one attempt from pre_filter to pre_bind."""
        self.reserve(name)
        if name in self.writing:
            stored = self.write(name)
            uid = self.writing.pop(name).uid
            if stored is not None:
                self.tracker.assume(stored)
                self.tracker.settle(uid)
            else:
                self.tracker.settle(uid)

    def write(self, name: str) -> ResourceClaim | None:
        """Return the claim as stored, or ``None`` for a conflict."""
        now, read = self.server.get(name), self.read[name]
        if now is None or now.metadata.resource_version != read.metadata.resource_version:
            return None
        device = device_of(self.writing[name])
        assert device not in [device_of(other) for other in self.server.values()], "handed out twice"
        self.serve(name, allocated(now, device, self.bump()))
        return self.server[name]

    @precondition(lambda self: self.writing)
    @rule(data=st.data(), applied=st.booleans(), answered=st.booleans())
    def finish(self, data: st.DataObject, applied: bool, answered: bool) -> None:
        name = data.draw(st.sampled_from(sorted(self.writing)))
        uid = self.writing[name].uid
        stored = self.write(name) if applied else None
        if answered and stored is not None:
            self.tracker.assume(stored)
            self.tracker.settle(uid)
        elif answered:
            self.tracker.sync()
            self.tracker.settle(uid)
        else:
            self.tracker.mark_unconfirmed(uid, self.writing[name])
            self.unanswered.add(name)
        del self.writing[name]

    @precondition(lambda self: self.unanswered)
    @rule(data=st.data())
    def ask(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.unanswered)))
        self.unanswered.discard(name)
        read, now = self.read[name], self.server.get(name)
        if now is not None and now.uid == read.uid:
            self.tracker.assume(now)
        self.tracker.settle(read.uid)

    @invariant()
    def devices_in_use_are_those_of_the_claims(self) -> None:
        self.tracker.sync()
        self.tracker.check_invariants()
        self.states.check_invariants()

    def teardown(self) -> None:
        for name in NAMES:
            while self.events[name]:
                self.deliver(name)
        while self.unanswered:
            name = self.unanswered.pop()
            self.tracker.settle(self.read[name].uid)
        for pending in self.writing.values():
            self.tracker.settle(pending.uid)
        self.tracker.sync()
        used = {device for _, _, device in self.tracker.usage.whole}
        assert used == {device_of(each) for each in self.server.values()} - {None}


TestClaims = ClaimMachine.TestCase


def test_an_old_event_frees_no_device() -> None:
    store = ObjectStore()
    tracker = tracker_of(store)
    before = claim("x", version="1")
    store.set(before)
    tracker.sync()
    tracker.start(allocated(before, "a", 1))
    tracker.assume(allocated(before, "a", 2))
    tracker.settle(before.uid)
    for late in (before, allocated(before, "a", 2), before):
        store.set(late)
        tracker.sync()
        assert tracker.usage.is_allocated((DRIVER, "n1", "a"))
    store.set(allocated(before, None, 3))
    tracker.sync()
    assert not tracker.usage.is_allocated((DRIVER, "n1", "a"))
    store.remove("ResourceClaim", before.key)
    tracker.sync()
    store.set(allocated(before, "a", 2))
    tracker.sync()
    assert tracker.get(before.key) is None, "what was deleted does not come back"


def test_all_profiles_share_one_tracker() -> None:
    store = ObjectStore()
    assert tracker_of(store) is tracker_of(store)
    assert tracker_of(store) is not tracker_of(ObjectStore())


def test_shares_of_a_device_add_up() -> None:
    store = ObjectStore()
    tracker = tracker_of(store)
    for number, name in enumerate(("x", "y"), 1):
        result = DeviceRequestAllocationResult(
            "r", DRIVER, "n1", "a", share_id=name, consumed_capacity={"m": parse_quantity(number)}
        )
        made = claim(name, version=str(number))
        allocation = AllocationResult(DeviceAllocationResult((result,)))
        store.set(evolve(made, status=evolve(made.status, allocation=allocation)))
    tracker.sync()
    id = (DRIVER, "n1", "a")
    assert tracker.usage.consumed(id) == {"m": 3 * 10**9}
    assert tracker.usage.is_allocated(id)
    store.remove("ResourceClaim", "default/x")
    tracker.sync()
    assert tracker.usage.consumed(id) == {"m": 2 * 10**9}
    tracker.check_invariants()


def test_admin_access_does_not_use_devices() -> None:
    store = ObjectStore()
    made = claim("x", allocated=["n1/a"], version="1")
    assert made.status.allocation is not None
    results = tuple(evolve(each, admin_access=True) for each in made.status.allocation.devices.results)
    store.set(
        evolve(made, status=evolve(made.status, allocation=AllocationResult(DeviceAllocationResult(results))))
    )
    tracker = tracker_of(store)
    tracker.sync()
    assert not tracker.usage.is_allocated((DRIVER, "n1", "a"))
