"""Elections in which things go wrong at random: no two fences are open, and one replica leads in the end.

Requests and answers are lost or late, replicas are suspended, killed, ended and started, wall clocks stand
still, jump and repeat themselves, and people delete the Lease and edit it, but for the name of its holder.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from random import Random
from typing import Final

import pytest
from attrs import define, field

from schedframe.cluster.kubernetes.errors import ApiError, Unreachable
from schedframe.cluster.kubernetes.leader import ElectionSettings
from tests.cluster.kubernetes.leader.replicas import Replica, Store, down, loop_now, run_virtually

SETTINGS: Final = [ElectionSettings(duration, 3.0, 1.0) for duration in (4.0, 4.0, 6.0, 8.0)]
DURATIONS: Final = (None, 0, 1, -5, 7, "nan", "text")


@define(eq=False)
class World:
    rng: Random
    store: Store = field(factory=Store)
    replicas: list[Replica] = field(factory=list)
    tasks: list[asyncio.Task[None]] = field(factory=list)
    two_open: list[tuple[str, ...]] = field(factory=list)
    led: set[str] = field(factory=set)
    started: int = 0
    is_over: bool = False

    def start(self) -> None:
        """Start a replica under a name that none had before."""
        self.started += 1
        replica = Replica(self.store, f"r{self.started}", self.rng.choice(SETTINGS), self._wall())
        replica.leases.before = replica.leases.after = self._trouble
        replica.fence.after = self._check
        replica.elector._rng = self.rng
        self.replicas.append(replica)

    def _wall(self) -> Callable[[], float]:
        rng = self.rng
        walls: list[Callable[[], float]] = [
            time.time,
            lambda: 1.7e9,
            lambda: rng.choice((1.7e9, 1.6e9)),
            lambda: rng.uniform(0.0, 4e9),
        ]
        return rng.choice(walls)

    def _check(self) -> None:
        """Note the open fences; called when one was opened."""
        names = tuple(each.name for each in self.replicas if each.fence.is_open())
        self.led.update(names)
        if len(names) > 1:
            self.two_open.append(names)

    async def _trouble(self) -> None:
        draw = self.rng.random()
        if draw < 0.12:
            raise Unreachable("no connection")
        if draw < 0.16:
            raise ApiError("PUT lease", self.rng.choice((409, 500, 503)), "Any", "any")
        if draw < 0.24:
            await asyncio.sleep(self.rng.uniform(0.0, 8.0))

    async def _cut_off(self, replica: Replica, seconds: float) -> None:
        """Let one replica alone not reach the Lease."""
        replica.leases.before = down
        await asyncio.sleep(seconds)
        replica.leases.before = self._trouble

    async def _delete_again_and_again(self, seconds: float) -> None:
        end = loop_now() + seconds
        while loop_now() < end:
            self.store.delete()
            await asyncio.sleep(self.rng.uniform(0.01, 0.6))

    def _edit(self) -> None:
        store, rng = self.store, self.rng
        if store.manifest is None:
            return
        if rng.random() < 0.3:
            labels = {"number": str(rng.randrange(3))}
            store.write({**store.manifest, "metadata": {**store.manifest["metadata"], "labels": labels}})
        else:
            store.edit(leaseDurationSeconds=rng.choice(DURATIONS))

    def _spawn(self, work: object) -> None:
        self.tasks.append(asyncio.ensure_future(work))  # type: ignore[call-overload]

    def step(self) -> None:
        """Let one thing go wrong."""
        rng, draw, replica = self.rng, self.rng.random(), self.rng.choice(self.replicas)
        if draw < 0.25:
            self.store.delete()
        elif draw < 0.30:
            self._spawn(self._delete_again_and_again(rng.uniform(1.0, 10.0)))
        elif draw < 0.50:
            self._spawn(self._cut_off(replica, rng.uniform(1.0, 15.0)))
        elif draw < 0.65:
            replica.leases.frozen_until = loop_now() + rng.uniform(0.5, 12.0)
        elif draw < 0.80:
            self._edit()
        else:
            self.replicas.remove(replica)
            if rng.random() < 0.5:
                replica.kill()
            else:
                replica.fence.close()  # nothing is written any more when a replica resigns
                self._spawn(replica.elector.resign())
            self.start()

    async def end_the_trouble(self) -> None:
        await asyncio.gather(*self.tasks)
        for each in self.replicas:
            each.leases.before = each.leases.after = None
            each.leases.frozen_until = 0.0


@pytest.mark.parametrize("seed", range(12))
def test_no_two_fences_are_open_and_one_replica_leads_in_the_end(seed: int) -> None:
    async def work() -> None:
        world = World(Random(seed))
        for _ in range(3):
            world.start()
        for _ in range(150):
            await asyncio.sleep(world.rng.uniform(0.1, 6.0))
            world.step()
        await world.end_the_trouble()
        # The longest duration, once for the last holder and once for a Lease that is created, and looks.
        await asyncio.sleep(2 * 8.0 + 4.0)
        assert [each.leads for each in world.replicas].count(True) == 1
        assert world.two_open == []
        assert len(world.led) > 3

    run_virtually(work)
