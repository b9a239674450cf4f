"""Electors on one lease, in virtual time: one leads, and the fence of another one is never open with it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random

import pytest

from schedframe.cluster.kubernetes.errors import Unreachable
from schedframe.cluster.kubernetes.leader import ElectionSettings, LeaseName, LeaseRecord
from schedframe.cluster.kubernetes.leader.elector import Role
from schedframe.errors import InputError
from tests.cluster.kubernetes.leader.replicas import (
    Replica,
    Store,
    down,
    hang,
    loop_now,
    run_virtually,
)


def test_the_first_takes_the_lease_and_keeps_it() -> None:
    async def work() -> None:
        store = Store()
        a, b = Replica(store, "a"), Replica(store, "b")
        await asyncio.sleep(100)
        leader, other = (a, b) if a.leads else (b, a)
        assert [leads for _, leads in leader.changes] == [True]
        assert (other.changes, other.fence.is_open()) == ([], False)
        moments = [moment for moment, _ in store.writes]
        gaps = [moments[i + 1] - moments[i] for i in range(len(moments) - 1)]
        assert max(gaps) <= 2.01
        assert len(set(gaps)) > 10  # they are spread
        assert leader.leases.reads == 1  # a renewal is one request
        assert store.manifest is not None
        spec = store.manifest["spec"]
        assert (spec["leaseDurationSeconds"], spec["leaseTransitions"]) == (15, 0)
        assert str(other.elector) == f"standby, lease held by {leader.name}"

    run_virtually(work)


def test_a_leader_that_dies_is_followed_when_its_lease_ends() -> None:
    async def work() -> None:
        store = Store()
        a = Replica(store, "a")
        await asyncio.sleep(30)
        b = Replica(store, "b")
        await asyncio.sleep(30)
        a.leases.before = hang  # as if it were killed
        last = store.writes[-1][0]
        await asyncio.sleep(40)
        assert b.leads
        assert 15.0 < b.changes[0][0] - last < 16.5
        assert store.manifest is not None
        assert store.manifest["spec"]["leaseTransitions"] == 1

    run_virtually(work)


def test_a_lease_that_was_given_back_is_taken_at_once() -> None:
    async def work() -> None:
        store = Store()
        a = Replica(store, "a")
        await asyncio.sleep(30)
        b = Replica(store, "b")
        await asyncio.sleep(30.3)
        await a.elector.resign()
        gone = loop_now()
        assert not a.fence.is_open()
        assert store.manifest is not None
        assert store.manifest["spec"]["holderIdentity"] == ""
        await asyncio.sleep(5)
        assert b.leads
        assert 0.25 < b.changes[0][0] - gone < 1.6
        assert a.armed == []
        assert store.manifest["spec"]["leaseTransitions"] == 1

    run_virtually(work)


def test_the_fence_closes_before_others_may_take_the_lease() -> None:
    async def work() -> None:
        store = Store()
        a = Replica(store, "a")
        await asyncio.sleep(30)
        b = Replica(store, "b")
        await asyncio.sleep(30)
        a.leases.before = down
        last = store.writes[-1][0]
        assert a.armed[-1] - last == pytest.approx(12.5, abs=0.01)
        while a.fence.is_open():
            await asyncio.sleep(0.05)
        assert 9.9 < loop_now() - last <= 10.06
        assert store.writes[-1][0] == last
        await asyncio.sleep(0.2)
        assert [leads for _, leads in a.changes] == [True, False]
        assert (a.cut_offs, a.armed) == (1, [])
        assert a.elector.problem() is None
        a.leases.before = None
        await asyncio.sleep(30)
        # The lease was still its own, so it may well have taken it again.
        assert a.leads != b.leads

    run_virtually(work)


def test_a_lease_taken_by_force_is_lost_at_the_next_renewal() -> None:
    async def work() -> None:
        store = Store()
        a = Replica(store, "a")
        await asyncio.sleep(30)
        store.take_by_force("b")
        await asyncio.sleep(4)
        assert not a.fence.is_open()
        assert str(a.elector) == "standby, lease held by b"
        await asyncio.sleep(16)
        assert a.leads

    run_virtually(work)


def test_a_renewal_whose_answer_is_lost_counts_when_it_is_read_back() -> None:
    async def work() -> None:
        store = Store()
        a = Replica(store, "a")
        await asyncio.sleep(30)
        a.leases.after = hang
        await asyncio.sleep(3)
        a.leases.after = None
        await asyncio.sleep(30)
        assert [leads for _, leads in a.changes] == [True]

    run_virtually(work)


@pytest.mark.parametrize("lost", [hang, down])
def test_a_claim_whose_answer_is_lost_is_given_back_at_the_end(lost: Callable[[], Awaitable[None]]) -> None:
    """Nothing was ever scheduled, but the stored lease names the replica that ends."""

    async def work() -> None:
        store = Store.given_back()
        b = Replica(store, "b")

        async def lose() -> None:
            if store.writes:
                b.leases.after = None
                await lost()

        b.leases.after = lose
        while not store.writes:
            await asyncio.sleep(0.0001)
        await b.elector.resign()
        assert not b.changes
        assert store.manifest is not None
        assert store.manifest["spec"]["holderIdentity"] == ""
        assert b.armed == []
        assert not b.fence.is_open()

    run_virtually(work)


def test_a_standby_that_never_claimed_asks_for_nothing_when_it_ends() -> None:
    async def work() -> None:
        store = Store()
        Replica(store, "a")
        await asyncio.sleep(30)
        b = Replica(store, "b")
        await asyncio.sleep(30)
        reads, writes = b.leases.reads, len(store.writes)
        await b.elector.resign()
        assert (b.leases.reads, len(store.writes)) == (reads, writes)

    run_virtually(work)


def test_a_lease_that_was_lost_by_its_deadline_is_given_back_at_the_end() -> None:
    """No renewal was stored in time, so nothing is written; but others still wait for the lease to end."""

    async def work() -> None:
        store = Store()
        a = Replica(store, "a")
        await asyncio.sleep(30)
        a.leases.before = down
        await asyncio.sleep(11)
        assert a.elector.role is Role.STANDBY
        a.leases.before = None
        await a.elector.resign()
        assert store.manifest is not None
        assert store.manifest["spec"]["holderIdentity"] == ""

    run_virtually(work)


def suspended(replica: Replica, seconds: float) -> None:
    """Let the clock of the fence go on as if the process had slept."""
    before = replica.fence.clock
    replica.fence.clock = lambda: before() + seconds


def test_an_answer_that_comes_after_the_deadline_opens_nothing() -> None:
    async def work() -> None:
        store = Store.given_back()
        a = Replica(store, "a")

        async def suspend() -> None:
            if store.writes:
                suspended(a, 12.0)
                a.leases.after = None

        a.leases.after = suspend
        await asyncio.sleep(1.0)
        assert [leads for _, leads in a.changes] == [True]
        assert a.changes[0][0] > store.writes[1][0]  # by another renewal

    run_virtually(work)


def test_a_leader_that_was_suspended_is_a_standby_when_it_wakes() -> None:
    async def work() -> None:
        store = Store()
        a = Replica(store, "a")
        await asyncio.sleep(30)
        suspended(a, 20.0)
        assert not a.fence.is_open()
        assert "no renewal" in str(a.elector.problem())
        store.take_by_force("b")
        await asyncio.sleep(2.1)
        assert [leads for _, leads in a.changes] == [True, False]
        assert a.elector.problem() is None
        assert a.cut_offs == 1

    run_virtually(work)


@pytest.mark.parametrize("seed", range(3))
def test_no_two_fences_are_open_at_a_time(seed: int) -> None:
    """Replicas with random delays, lost requests and lost answers."""

    async def work() -> None:
        rng, store = Random(seed), Store()
        settings = ElectionSettings(lease_duration=4.0, renew_deadline=3.0, retry_period=1.0)
        replicas = [Replica(store, name, settings) for name in "abc"]

        async def trouble() -> None:
            draw = rng.random()
            if draw < 0.2:
                raise Unreachable("no connection")
            if draw < 0.3:
                await asyncio.sleep(rng.uniform(0.0, 8.0))

        for each in replicas:
            each.leases.before = each.leases.after = trouble
            each.elector._rng = rng
        led: set[str] = set()
        both: list[str] = []

        def check() -> None:
            open_now = [each.name for each in replicas if each.fence.is_open()]
            led.update(open_now)
            both.extend(open_now[1:])

        for each in replicas:
            each.fence.after = check
        await asyncio.sleep(1500)
        assert both == []
        assert len(led) > 1

    run_virtually(work)


def test_a_lease_of_an_unexpected_form_ends_no_election(caplog: pytest.LogCaptureFixture) -> None:
    """As long as it is there no replica leads, as each logs once; when it can be read again one leads."""

    async def work() -> None:
        store = Store()
        a, b = Replica(store, "a"), Replica(store, "b")
        await asyncio.sleep(30)
        leader = a if a.leads else b
        assert store.manifest is not None
        metadata = {**store.manifest["metadata"], "resourceVersion": "edited"}
        store.manifest = {**store.manifest, "metadata": metadata, "spec": ["not", "an", "object"]}
        await asyncio.sleep(30)
        assert [leads for _, leads in leader.changes] == [True, False]
        assert not any(each.fence.is_open() for each in (a, b))
        assert len([each for each in caplog.records if "fault in the election" in each.message]) == 2
        store.manifest = {**store.manifest, "spec": {}}
        await asyncio.sleep(30)
        assert a.leads != b.leads
        assert a.elector.problem() is None
        assert b.elector.problem() is None

    run_virtually(work)


def test_settings_that_cannot_work_are_refused() -> None:
    with pytest.raises(InputError, match="leaseDuration"):
        ElectionSettings(lease_duration=10.0)
    with pytest.raises(InputError, match="retryPeriod"):
        ElectionSettings(retry_period=9.0)


def test_the_record_keeps_what_it_does_not_know() -> None:
    stored = {
        "metadata": {"name": "x", "namespace": "y", "labels": {"a": "b"}, "resourceVersion": "7"},
        "spec": {"holderIdentity": None, "leaseDurationSeconds": 1, "strategy": "Oldest"},
    }
    record = LeaseRecord.of(stored).claimed("me", 2.5, 0.0)
    written = record.to_manifest(LeaseName("ns", "n"))
    assert written["metadata"] == stored["metadata"]
    assert written["spec"] == {
        "holderIdentity": "me",
        "leaseDurationSeconds": 3,
        "acquireTime": "1970-01-01T00:00:00.000000Z",
        "renewTime": "1970-01-01T00:00:00.000000Z",
        "leaseTransitions": 1,
        "strategy": "Oldest",
    }
    again = LeaseRecord.of(written).claimed("me", 2.5, 1.5)
    assert (again.acquired, again.renewed) == ("1970-01-01T00:00:00.000000Z", "1970-01-01T00:00:01.500000Z")
    assert again.transitions == 1


def test_a_lease_of_an_unexpected_form_does_not_stop_the_end() -> None:
    async def work() -> None:
        store = Store()
        a = Replica(store, "a")
        await asyncio.sleep(30)
        assert store.manifest is not None
        metadata = {**store.manifest["metadata"], "resourceVersion": "edited"}
        store.manifest = {**store.manifest, "metadata": metadata, "spec": ["not", "an", "object"]}
        await a.elector.resign()
        assert not a.fence.is_open()
        assert a.armed == []

    run_virtually(work)
