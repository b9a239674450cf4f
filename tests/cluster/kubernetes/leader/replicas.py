"""Replicas of an election on one lease, in virtual time, with faults on their way to it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

from attrs import define, field

from schedframe.cluster.kubernetes.errors import ApiError, NoAnswer, Unreachable
from schedframe.cluster.kubernetes.fence import Fence
from schedframe.cluster.kubernetes.leader import ElectionSettings, Elector, LeaseName, LeaseRecord
from schedframe.cluster.kubernetes.leader.elector import Role
from schedframe.testing.virtual_loop import VirtualLoop


def run_virtually(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    loop = VirtualLoop()
    try:
        loop.run(work())
    finally:
        loop.finish()


def loop_now() -> float:
    return asyncio.get_running_loop().time()


@define(eq=False)
class Store:
    """The Lease of an API server."""

    manifest: Mapping[str, Any] | None = None
    version: int = 0
    writes: list[tuple[float, str]] = field(factory=list)
    """Time and holder of each write."""

    def write(self, manifest: dict[str, Any]) -> Mapping[str, Any]:
        present = None if self.manifest is None else self.manifest["metadata"]["resourceVersion"]
        if manifest["metadata"].get("resourceVersion") != present:
            raise ApiError("PUT lease", 409, "Conflict", "it changed")
        self.writes.append((loop_now(), manifest["spec"]["holderIdentity"]))
        if manifest == self.manifest:  # as an API server does it: nothing changed, so there is no new version
            return self.manifest
        self.version += 1
        version = str(self.version)
        metadata = {"uid": f"uid-{version}"} | manifest["metadata"] | {"resourceVersion": version}
        self.manifest = json.loads(json.dumps({**manifest, "metadata": metadata}))
        return self.manifest

    @classmethod
    def given_back(cls) -> Store:
        """Return one whose Lease no replica holds, as the last leader leaves it."""
        record = LeaseRecord("", 1.0, "2026-01-01T00:00:00.000000Z")
        manifest = record.to_manifest(LeaseName())
        metadata = {**manifest["metadata"], "uid": "uid-1", "resourceVersion": "1"}
        return cls({**manifest, "metadata": metadata}, 1)

    def edit(self, **spec: Any) -> None:
        """Write the lease with other fields, as kubectl edit does."""
        assert self.manifest is not None
        self.write({**self.manifest, "spec": {**self.manifest["spec"], **spec}})

    def delete(self) -> None:
        """Delete the lease, as kubectl delete does."""
        self.manifest = None

    def take_by_force(self, holder: str) -> None:
        """Let *holder* claim the lease, which another replica holds, for 15 s."""
        assert self.manifest is not None
        record = LeaseRecord.of(self.manifest)
        self.write(record.claimed(holder, 15.0, 0.0).to_manifest(LeaseName()))


@define(eq=False)
class FaultyLeases:
    """One replica's way to the store; ``before`` and ``after`` may wait or raise."""

    store: Store
    before: Callable[[], Awaitable[None]] | None = None
    after: Callable[[], Awaitable[None]] | None = None
    frozen_until: float = 0.0
    """The process is suspended until then: neither its requests nor their deadlines go on."""
    reads: int = 0

    async def read(self, seconds: float) -> LeaseRecord | None:
        self.reads += 1
        await self._step(self.before, seconds)
        manifest = self.store.manifest
        await self._step(self.after, seconds)
        return None if manifest is None else LeaseRecord.of(manifest)

    async def write(self, record: LeaseRecord, seconds: float) -> LeaseRecord:
        await self._step(self.before, seconds)
        stored = self.store.write(record.to_manifest(LeaseName()))
        await self._step(self.after, seconds)
        return LeaseRecord.of(stored)

    async def _step(self, step: Callable[[], Awaitable[None]] | None, seconds: float) -> None:
        await asyncio.sleep(0.001)
        if step is not None:
            try:
                await asyncio.wait_for(step(), seconds)
            except TimeoutError:
                raise NoAnswer("no answer") from None
        await asyncio.sleep(max(0.0, self.frozen_until - loop_now()))


@define(eq=False)
class NotedFence(Fence):
    """Calls a function after it was extended."""

    after: Callable[[], None] | None = None

    def extend(self, deadline: float) -> None:
        super().extend(deadline)
        if self.after is not None:
            self.after()


@define(eq=False)
class Replica:
    """An elector with its fence and what it reported."""

    store: Store
    name: str
    settings: ElectionSettings = field(factory=ElectionSettings)
    wall: Callable[[], float] = time.time
    leases: FaultyLeases = field(init=False)
    fence: NotedFence = field(factory=lambda: NotedFence(loop_now))
    changes: list[tuple[float, bool]] = field(factory=list)
    cut_offs: int = 0
    armed: list[float] = field(factory=list)
    elector: Elector = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.leases = FaultyLeases(self.store)
        self.elector = Elector(
            self.leases,
            self.settings,
            self.fence,
            lambda leads: self.changes.append((loop_now(), leads)),
            cut_off=self.cut_off,
            identity=self.name,
            watchdog=self,
            wall=self.wall,
        )
        self.elector.start()

    async def cut_off(self) -> None:
        self.cut_offs += 1

    def arm(self, seconds: float) -> None:
        self.armed.append(loop_now() + seconds)

    def disarm(self) -> None:
        self.armed.clear()

    def kill(self) -> None:
        """End it as kill -9 does."""
        assert self.elector._task is not None
        self.elector._task.cancel()
        self.fence.close()

    @property
    def leads(self) -> bool:
        return self.elector.role is Role.LEADER


async def down() -> None:
    raise Unreachable("no connection")


async def hang() -> None:
    await asyncio.sleep(3600)
