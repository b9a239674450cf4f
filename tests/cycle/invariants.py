"""What must hold of a scheduler at any moment, and what once nothing is under way."""

from __future__ import annotations

from collections import Counter

from schedframe.cluster import FlakyWatch
from schedframe.queue import Pool
from schedframe.state import compare

from .build import World
from .executors import ManualExecutor


def check_places(world: World) -> None:
    """No pending pod is lost, none is doubled."""
    core = world.scheduler.core
    for key, pod in core.pending.items():
        info = core.queue.get(key)
        places = Counter(
            {
                "queue": info is not None and info.uid == pod.uid,
                "binding": pod.uid in core.binding,
                "assumed": pod.uid not in core.binding and core.cache.is_assumed(pod.uid),
            }
        )
        wanted = (0, 1) if pod.is_terminating else (1,)
        assert places.total() in wanted, f"{key} is in {dict(places)}"
        state = core.cache.get_pod(pod.uid)
        assert state is None or core.cache.is_assumed(pod.uid)


def check_no_other_pod(world: World, executor: ManualExecutor) -> None:
    """What is queued, under way, nominated or written about is pending: nothing is kept for the past."""
    core = world.scheduler.core
    pending = {pod.uid for pod in core.pending.values()}
    queued = [info for pool in Pool for info in core.queue.in_pool(pool)]
    assert pending.issuperset(info.uid for info in queued)
    for uid, attempt in core.binding.items():
        # The event of a bind may be here before the news of it.
        assert attempt.deleted or uid in pending or core.cache.get_pod(uid) is not None
    assert pending.issuperset(core.written)
    nominator = core.queue.nominator
    for node in nominator.node_names:
        for pod in nominator.nominated_pods_for_node(node):
            assert pod.uid in pending
            assert core.cache.get_pod(pod.uid) is None
    assert core.binding.keys() >= {waiting.pod.uid for waiting in core.waiting}
    assert core.binding.keys() >= core.paused._paused.keys()
    flights = {info.uid for info in core.queue.in_pool(Pool.IN_FLIGHT)}
    assert flights == {waiting.pod.uid for waiting in core.waiting}
    if not len(executor) and not core.inbox:
        assert not core.writes._by_uid
        parked = {uid for uid in core.binding if core.paused.get(uid) is not None}
        assert core.binding.keys() == flights | parked


def check_agreement(world: World, watch: FlakyWatch) -> None:
    """Nothing is under way: cache and cluster are the same, and so are the pending pods."""
    core, cluster = world.scheduler.core, world.cluster
    found = cluster.list("Pod")
    assert not compare(core.cache, cluster.list("Node"), found)
    assumed = {state.pod.uid for state in core.cache.pods() if state.assumed}
    assert assumed == set(core.binding)
    unbound = {pod.key: pod for pod in found if not pod.spec.node_name and not pod.is_terminated}
    assert core.pending == unbound
    # Another client may have changed what we wrote before its event came; any further event settles that.
    watch.relist(resync=True)
    world.scheduler.sync()
    assert not core.written
    for pod in unbound.values():
        info = core.queue.get(pod.key)
        assert info is None or info.pod == pod


def come_to_rest(world: World, executor: ManualExecutor, watch: FlakyWatch) -> None:
    """Everything that is under way ends, and what follows from it; no time passes."""
    for _ in range(100):
        watch.deliver()
        busy = world.scheduler.schedule_one() is not None
        busy |= bool(len(executor) or watch.pending or world.scheduler.core.inbox)
        executor.finish_all()
        if not busy:
            return
    raise AssertionError("the scheduler does not come to rest")
