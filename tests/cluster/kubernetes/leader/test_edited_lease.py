"""A lease that people edit or delete while replicas use it: no two fences are open at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import cycle
from typing import Any

import pytest

from schedframe.cluster.kubernetes.leader import ElectionSettings, LeaseRecord
from tests.cluster.kubernetes.leader.replicas import Replica, Store, down, run_virtually


async def settled(store: Store) -> tuple[Replica, Replica]:
    """Return the leader and a standby that has seen it for a while."""
    leader = Replica(store, "a")
    await asyncio.sleep(30)
    standby = Replica(store, "b")
    await asyncio.sleep(30.9)
    assert (leader.leads, standby.leads) == (True, False)
    return leader, standby


async def seconds_with_two_fences(leader: Replica, standby: Replica, seconds: float) -> float:
    both, step = 0.0, 0.05
    for _ in range(round(seconds / step)):
        await asyncio.sleep(step)
        both += step * (leader.fence.is_open() and standby.fence.is_open())
    return both


def deleted(store: Store) -> None:
    store.delete()


def with_a_time_long_ago(store: Store) -> None:
    store.edit(renewTime="2001-01-01T00:00:00.000000Z", acquireTime=None, leaseTransitions=None)


def with_labels(store: Store) -> None:
    assert store.manifest is not None
    labels = {"edited-in": str(store.version)}
    store.write({**store.manifest, "metadata": {**store.manifest["metadata"], "labels": labels}})


def with_duration(value: Any) -> Callable[[Store], None]:
    return lambda store: store.edit(leaseDurationSeconds=value)


DURATIONS = [with_duration(value) for value in (None, 1, 0, -5, 2**31 - 1, "nan", "text", "60")]


@pytest.mark.parametrize("edit", [deleted, with_a_time_long_ago, with_labels, *DURATIONS])
def test_a_leader_that_is_alive_keeps_an_edited_lease(edit: Callable[[Store], None]) -> None:
    async def work() -> None:
        store = Store()
        leader, standby = await settled(store)
        for _ in range(5):
            edit(store)
            assert await seconds_with_two_fences(leader, standby, 17.3) == 0
        assert leader.leads
        assert [leads for _, leads in leader.changes] == [True]
        assert store.manifest is not None
        assert store.manifest["spec"]["leaseDurationSeconds"] == 15

    run_virtually(work)


@pytest.mark.parametrize("edit", [deleted, with_labels, *DURATIONS])
def test_a_dead_leader_is_followed_after_its_lease_was_edited(edit: Callable[[Store], None]) -> None:
    async def work() -> None:
        store = Store()
        leader, standby = await settled(store)
        leader.leases.before = down
        edit(store)
        assert await seconds_with_two_fences(leader, standby, 17.3) == 0
        assert (leader.leads, standby.leads) == (False, True)

    run_virtually(work)


def test_a_lease_that_was_never_seen_is_created_at_once_and_leads_when_others_have_ended() -> None:
    async def work() -> None:
        store = Store()
        replica = Replica(store, "a")
        await asyncio.sleep(1)
        assert LeaseRecord.of(store.manifest or {}).holder == "a"
        assert (replica.leads, replica.fence.is_open()) == (False, False)
        await asyncio.sleep(14.2)
        assert replica.leads
        assert [round(moment) for moment, _ in replica.changes] == [15]

    run_virtually(work)


@pytest.mark.parametrize("edit", [deleted, with_labels, *DURATIONS])
def test_a_leader_that_dies_between_a_renewal_and_an_edit_is_followed(edit: Callable[[Store], None]) -> None:
    """The standby sees the last renewal and the edit at once."""

    async def work() -> None:
        store = Store()
        leader, standby = await settled(store)
        renewals = len(store.writes)
        while len(store.writes) == renewals:
            await asyncio.sleep(0.001)
        leader.leases.before = down
        edit(store)
        assert await seconds_with_two_fences(leader, standby, 21.0) == 0
        assert (leader.leads, standby.leads) == (False, True)

    run_virtually(work)


async def outage_of_the_standby(leader: Replica, standby: Replica) -> None:
    """The standby alone cannot reach the Lease for longer than its duration."""
    standby.leases.before = down
    await asyncio.sleep(20)
    standby.leases.before = None


@pytest.mark.parametrize("edit", [deleted, with_a_time_long_ago, with_labels, with_duration(1)])
def test_a_standby_that_saw_nothing_for_long_waits_from_its_next_look(edit: Callable[[Store], None]) -> None:
    async def work() -> None:
        store = Store()
        leader, standby = await settled(store)
        for _ in range(5):
            await outage_of_the_standby(leader, standby)
            edit(store)
            assert await seconds_with_two_fences(leader, standby, 17.3) == 0
        assert [leads for _, leads in leader.changes] == [True]
        assert not standby.changes

    run_virtually(work)


def test_a_lease_that_is_deleted_as_soon_as_it_is_there_hides_no_leader() -> None:
    """Each look of the standby shows no Lease, though the leader creates it in between."""

    async def work() -> None:
        store = Store()
        leader, standby = await settled(store)
        standby.leases.after = lambda: asyncio.sleep(0.05)  # so the leader is faster

        async def delete_always() -> None:
            while True:
                store.delete()
                await asyncio.sleep(0.02)

        deleting = asyncio.ensure_future(delete_always())
        assert await seconds_with_two_fences(leader, standby, 60.0) == 0
        deleting.cancel()
        assert await seconds_with_two_fences(leader, standby, 20.0) == 0
        assert leader.leads != standby.leads

    run_virtually(work)


def test_a_replica_that_starts_after_a_deletion_does_not_lead_beside_a_leader_without_network() -> None:
    async def work() -> None:
        for delay in range(0, 12, 2):
            store = Store()
            leader = Replica(store, "a")
            await asyncio.sleep(30)
            leader.leases.before = down
            await asyncio.sleep(delay)
            store.delete()
            second = Replica(store, "b")
            assert await seconds_with_two_fences(leader, second, 16.0) == 0
            assert (leader.leads, second.leads) == (False, True)

    run_virtually(work)


def test_a_new_lease_is_not_given_back_before_its_holder_could_lead() -> None:
    """The next replica would take it at once, beside the leader whose Lease was deleted."""

    async def work() -> None:
        store = Store()
        leader = Replica(store, "a")
        await asyncio.sleep(30)
        leader.leases.before = down
        store.delete()
        second = Replica(store, "b")
        await asyncio.sleep(1)
        third = Replica(store, "c")
        await second.elector.resign()
        assert LeaseRecord.of(store.manifest or {}).holder == "b"
        assert await seconds_with_two_fences(leader, third, 17.0) == 0
        assert third.leads

    run_virtually(work)


def test_a_lease_restored_for_a_former_leader_lets_it_wait() -> None:
    """One standby saw the former leader last; since then another one led, and its Lease was deleted."""

    async def work() -> None:
        store = Store()
        former, late = await settled(store)
        former.leases.before = late.leases.before = down
        leader = Replica(store, "c")
        await asyncio.sleep(30)
        assert leader.leads
        leader.leases.before = down
        store.delete()
        late.leases.before = None
        await asyncio.sleep(1.2)
        assert LeaseRecord.of(store.manifest or {}).holder == "a"
        former.leases.before = None
        assert await seconds_with_two_fences(leader, former, 30.0) == 0
        assert await seconds_with_two_fences(leader, late, 1.0) == 0
        assert [leader.leads, former.leads, late.leads].count(True) == 1

    run_virtually(work)


@pytest.mark.parametrize("has_just_renewed", [False, True])
def test_a_shorter_duration_by_hand_does_not_shorten_that_of_a_leader_with_other_settings(
    has_just_renewed: bool,
) -> None:
    async def work() -> None:
        store = Store()
        leader = Replica(store, "a", ElectionSettings(60.0, 50.0, 2.0))
        await asyncio.sleep(90)
        standby = Replica(store, "b")
        await asyncio.sleep(10)
        if has_just_renewed:
            renewals = len(store.writes)
            while len(store.writes) == renewals:
                await asyncio.sleep(0.001)
        leader.leases.before = down
        store.edit(leaseDurationSeconds=1)
        assert await seconds_with_two_fences(leader, standby, 59.0) == 0
        assert (leader.fence.is_open(), standby.leads) == (False, False)
        await asyncio.sleep(3)
        assert standby.leads

    run_virtually(work)


@pytest.mark.parametrize("moments", [[1.7e9], [1.7e9, 1.6e9, 1.8e9], [253402300799.0]], ids=str)
def test_a_wall_clock_that_stands_still_or_repeats_itself_hides_no_renewal(moments: list[float]) -> None:
    async def work() -> None:
        store = Store()
        leader = Replica(store, "a", wall=cycle(moments).__next__)
        await asyncio.sleep(30)
        standby = Replica(store, "b")
        assert await seconds_with_two_fences(leader, standby, 120.0) == 0
        assert [leads for _, leads in leader.changes] == [True]

    run_virtually(work)


def test_a_lease_with_the_largest_number_of_transitions_is_taken() -> None:
    async def work() -> None:
        store = Store.given_back()
        store.edit(leaseTransitions=2**31 - 1)
        replica = Replica(store, "a")
        await asyncio.sleep(2)
        assert replica.leads
        assert store.manifest is not None
        assert store.manifest["spec"]["leaseTransitions"] == 2**31 - 1

    run_virtually(work)


def test_a_lease_that_was_edited_since_the_last_renewal_is_given_back() -> None:
    async def work() -> None:
        store = Store()
        a = Replica(store, "a")
        await asyncio.sleep(30)
        assert store.manifest is not None
        labels = {"seen-by": "an operator"}
        store.write({**store.manifest, "metadata": {**store.manifest["metadata"], "labels": labels}})
        await a.elector.resign()
        assert store.manifest["spec"]["holderIdentity"] == ""
        assert store.manifest["metadata"]["labels"] == labels

    run_virtually(work)


def test_a_lease_that_another_replica_took_by_force_is_left_alone_at_the_end() -> None:
    async def work() -> None:
        store = Store()
        a = Replica(store, "a")
        await asyncio.sleep(30)
        store.take_by_force("b")
        await a.elector.resign()
        assert store.manifest is not None
        assert store.manifest["spec"]["holderIdentity"] == "b"

    run_virtually(work)


def test_a_renewal_under_way_at_the_end_does_not_keep_the_lease() -> None:
    """The process is ended while the API server works slowly: each answer comes after three seconds."""

    async def slow() -> None:
        await asyncio.sleep(3.0)

    async def work() -> None:
        for moment in range(20):
            store = Store.given_back()
            a = Replica(store, "a")
            await asyncio.sleep(10)
            a.leases.after = slow
            await asyncio.sleep(0.5 * moment)
            ending = asyncio.ensure_future(a.elector.resign())
            await asyncio.sleep(3.4)
            a.leases.after = None
            await ending
            assert store.manifest is not None
            assert store.manifest["spec"]["holderIdentity"] == "", moment

    run_virtually(work)
