"""A lease that people edit or delete while replicas use it: no two fences are open at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

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
    both, step = 0.0, 0.01
    for _ in range(round(seconds / step)):
        await asyncio.sleep(step)
        both += step * (leader.fence.is_open() and standby.fence.is_open())
    return both


def edited(store: Store, **spec: Any) -> None:
    """Write the lease with other fields, as kubectl edit does."""
    assert store.manifest is not None
    store.write({**store.manifest, "spec": {**store.manifest["spec"], **spec}})


def deleted(store: Store) -> None:
    store.manifest = None


def without_duration(store: Store) -> None:
    edited(store, leaseDurationSeconds=None)


def with_a_second(store: Store) -> None:
    edited(store, leaseDurationSeconds=1)


def with_a_time_long_ago(store: Store) -> None:
    edited(store, renewTime="2001-01-01T00:00:00.000000Z", acquireTime=None, leaseTransitions=None)


@pytest.mark.parametrize("edit", [deleted, without_duration, with_a_second, with_a_time_long_ago])
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


@pytest.mark.parametrize("edit", [deleted, without_duration, with_a_second])
def test_a_dead_leader_is_followed_after_its_lease_was_edited(edit: Callable[[Store], None]) -> None:
    async def work() -> None:
        store = Store()
        leader, standby = await settled(store)
        leader.leases.before = down
        edit(store)
        assert await seconds_with_two_fences(leader, standby, 17.3) == 0
        assert (leader.leads, standby.leads) == (False, True)

    run_virtually(work)


def test_a_lease_that_is_deleted_before_anyone_saw_it_is_taken_at_once() -> None:
    async def work() -> None:
        replica = Replica(Store(), "a")
        await asyncio.sleep(1)
        assert replica.leads

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
            store = Store()
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
