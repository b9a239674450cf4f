"""A render farm in virtual time: frames wait for GPUs and licence seats, fail, and are tried again."""

from heapq import heappop, heappush
from typing import Any

from attrs import define, field, frozen

from schedframe import VirtualClock
from schedframe.embed import Embedding, PlacementFailure, Requirements, TaskState, Worker


@frozen
class Frame:
    """Something to be rendered: a class of the farm's own, which happens to have what is needed."""

    key: str
    requests: dict[str, Any]
    seconds: int
    labels: dict[str, str] = field(factory=dict)
    urgent: bool = False
    fails: int = 0
    """How often it fails before it works."""


_FRAMES = [
    Frame("title", {"gpu": 0.5}, 20),
    Frame("ocean", {"gpu": 2, "license.example": 1}, 60),
    Frame("city", {"gpu": 1.5, "license.example": 1}, 40, fails=1),
    Frame("forest", {"gpu": 1, "license.example": 1}, 30),
    Frame("credits", {"gpu": "0.25"}, 10),
    Frame("trailer", {"gpu": 1}, 15, urgent=True),
    Frame("dome", {"gpu": 8}, 90),
]
FRAMES = {frame.key: frame for frame in _FRAMES}


@define(eq=False)
class Farm:
    """Carries out what the scheduler decides; here it only notes when each frame will be done."""

    clock: VirtualClock = field(factory=VirtualClock)
    embedding: Embedding[Frame, Worker] = field(init=False)
    _start: float = field(init=False)
    _ends: list[tuple[float, str, str]] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        self._start = self.clock()
        self.embedding = Embedding(
            [
                Worker("rack-1", {"gpu": 2, "license.example": 1}, {"site": "north"}),
                Worker("rack-2", {"gpu": 2, "license.example": 1}, {"site": "south"}),
            ],
            on_place=self.start,
            on_unplaced=self.wait,
            needs=lambda frame: Requirements(priority=10 if frame.urgent else 0),
            retry=lambda failures: 5.0 * failures,
            clock=self.clock,
        )

    def say(self, text: str) -> None:
        print(f"{self.clock() - self._start:4.0f} s  {text}")

    def start(self, frame: Frame, worker: Worker) -> None:
        self.say(f"{frame.key} starts on {worker.key}")
        heappush(self._ends, (self.clock() + frame.seconds, frame.key, worker.key))

    def wait(self, frame: Frame, why: PlacementFailure) -> None:
        self.say(f"{frame.key} waits: {why}")

    def end(self, frame: Frame, worker: str) -> None:
        if self.embedding.failures_of(frame) < frame.fails:
            self.say(f"{frame.key} fails")
            self.embedding.fail(frame, on=worker)
        elif self.embedding.finish(frame, on=worker):
            self.say(f"{frame.key} is done")

    def run(self) -> None:
        """Until nothing is rendered any more, from one moment at which something happens to the next."""
        while True:
            deadline = self.embedding.step()
            if deadline is not None and deadline <= self.clock():
                continue
            moments = [end for end, *_ in self._ends[:1]]
            held = (each for each in self.embedding.waiting() if each.state is TaskState.HELD)
            moments += [each.wakes_at for each in held if each.wakes_at is not None]
            if not moments:
                return
            self.clock.advance_to(min(moments))
            while self._ends and self._ends[0][0] <= self.clock():
                _, key, worker = heappop(self._ends)
                self.end(FRAMES[key], worker)


def main() -> None:
    farm = Farm()
    for frame in FRAMES.values():
        farm.embedding.submit(frame)
    farm.run()
    farm.say("a bigger rack arrives")
    farm.embedding.add_worker(Worker("rack-3", {"gpu": 8}))
    farm.run()


if __name__ == "__main__":
    main()
