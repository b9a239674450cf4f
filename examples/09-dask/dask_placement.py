"""A dask scheduler plugin: dask runs the tasks, schedframe decides on which worker, and when there is room.

Dask keeps a task for which no worker comes into question in the state ``no-worker``. So every task is held
back by a restriction to a worker that does not exist. When it is ready to run, and so in ``no-worker``, it is
submitted here; when it is placed, the restriction becomes that one worker.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from attrs import field, frozen
from distributed import Client, Scheduler, SchedulerPlugin, Worker

from schedframe import InputError
from schedframe.embed import AsyncDriver, Embedding, NotStarted, Requirements

logger = logging.getLogger("distributed.schedframe")
NOWHERE = "schedframe://held-back"
STIMULUS = "schedframe"


@frozen
class DaskTask:
    """A task that is ready to run; it requests what dask was given: ``submit(…, resources={"gpu": 0.5})``."""

    dask_key: Any
    requests: Mapping[str, float]
    needs: Requirements
    labels: Mapping[str, str] = field(factory=dict)

    @property
    def key(self) -> str:
        return str(self.dask_key)


@frozen
class DaskWorker:
    """A worker by its address, with the resources that it was started with."""

    key: str
    capacity: Mapping[str, float]
    labels: Mapping[str, str] = field(factory=dict)


class Placement(SchedulerPlugin):
    """Places all tasks of a dask scheduler. ``options`` are those of :class:`Embedding`."""

    name = "schedframe"

    def __init__(self, **options: Any) -> None:
        self.driver = AsyncDriver()
        self.embedding: Embedding[DaskTask, DaskWorker] = Embedding(
            on_place=self._place,
            needs=lambda task: task.needs,
            wake_up=self.driver.wake_up,
            **options,
        )
        self._only: dict[Any, set[str]] = {}
        """Task → workers that its author restricted it to."""

    async def start(self, scheduler: Scheduler) -> None:
        """Begin to work for *scheduler*, in its event loop."""
        self.scheduler = scheduler
        for address in scheduler.workers:
            self.add_worker(scheduler, address)
        self._driving = asyncio.create_task(self.driver.run(self.embedding))

    async def close(self) -> None:
        """Called when the scheduler closes."""
        self.driver.stop()
        await self._driving
        self.embedding.close()

    # ---- hooks that dask calls, in the thread of its event loop ----

    def add_worker(self, scheduler: Scheduler, worker: str) -> None:
        self.embedding.add_worker(DaskWorker(worker, dict(scheduler.workers[worker].resources)))

    def remove_worker(self, scheduler: Scheduler, worker: str, **kwargs: Any) -> None:
        # What ran there has been taken back already, by the transitions that came before.
        self.embedding.remove_worker(worker)

    def update_graph(self, scheduler: Scheduler, *, tasks: list[Any], **kwargs: Any) -> None:
        for key in tasks:
            state = scheduler.tasks[key]
            if state.state == "released" and state.worker_restrictions != {NOWHERE}:
                self._only[key] = set(state.worker_restrictions or ())
                state.loose_restrictions = False
                state.worker_restrictions = {NOWHERE}

    def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
        if finish == "no-worker":
            self._submit(key)
        elif start == "processing" or (start == "no-worker" and finish != "processing"):
            self.embedding.finish(str(key))
            self.scheduler.tasks[key].worker_restrictions = {NOWHERE}  # should it have to run once more
        if finish == "forgotten":
            self._only.pop(key, None)

    def _submit(self, key: Any) -> None:
        state = self.scheduler.tasks[key]
        # Dask takes the smallest first; the first number is the user's, with its sign changed.
        needs = Requirements(priority=int(-(state.priority or (0,))[0]), workers=self._only.get(key, ()))
        try:
            self.embedding.submit(DaskTask(key, dict(state.resource_restrictions or {}), needs))
        except InputError as error:
            # Dask goes on without it, and lets it fail after its ``no-workers-timeout``.
            logger.error("%s stays without a worker: %s", key, error)

    # ---- what the embedding decides, in the same thread ----

    def _place(self, task: DaskTask, worker: DaskWorker) -> None:
        state = self.scheduler.tasks[task.dask_key]
        state.worker_restrictions = {worker.key}
        self.scheduler.transitions({task.dask_key: "processing"}, STIMULUS)
        if state.state == "no-worker":
            state.worker_restrictions = {NOWHERE}
            raise NotStarted(f"{worker.key} takes no tasks now")


# ---- an example of its use -------------------------------------------------------------------------------

WORKERS: dict[str, dict[str, float]] = {
    "north": {"gpu": 2, "license": 1},
    "south": {"gpu": 1, "camera": 1},
}


NO_DASHBOARD = "127.0.0.1:0"
"""Any free port of this machine, that is; there is no address for none."""


async def main() -> None:
    placement = Placement()
    logging.getLogger("distributed").setLevel(logging.WARNING)
    async with Scheduler(protocol="inproc://", dashboard_address=NO_DASHBOARD) as scheduler:
        await placement.start(scheduler)
        scheduler.add_plugin(placement)
        north, south = (
            Worker(
                scheduler.address, name=name, nthreads=4, resources=resources, dashboard_address=NO_DASHBOARD
            )
            for name, resources in WORKERS.items()
        )
        async with north, south, Client(scheduler.address, asynchronous=True) as client:
            await show(client)


async def show(client: Client) -> None:
    """Photograph, render on fractions of GPUs, and print; say where everything happened."""
    photos = client.map(photograph, range(3), resources={"camera": 1}, pure=False)
    renders = client.map(render, photos, resources={"gpu": 0.75}, pure=False)
    prints = [
        client.submit(publish, each, resources={"gpu": 1.5, "license": 1}, pure=False, retries=1)
        for each in renders
    ]
    for line in await client.gather(prints):
        print(line)


def here() -> str:
    from distributed import get_worker

    return str(get_worker().name)


def photograph(number: int) -> str:
    return f"photo {number} ({here()})"


def render(photo: str) -> str:
    return f"{photo}, rendered"


def publish(picture: str) -> str:
    return f"{picture}, published ({here()})"


if __name__ == "__main__":
    asyncio.run(main())
