"""A fake recorder of turns, and a scheduler that lives through them again with nothing else to go by.

The record is one list, in the order of the core's thread: readings of the clock within a turn, messages as
they are handled, ends of drains, and answers that were given at once. The second scheduler has the recorded
messages in place of an inbox, the recorded readings in place of a clock, and an executor that runs nothing.
What it puts into its inbox itself is dropped, because the record has that, too.
"""

from __future__ import annotations

import pickle
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import Any
from unittest.mock import patch

from attrs import define, field, frozen

from schedframe import Decision, Pod, Scheduler
from schedframe.cycle import build
from schedframe.cycle.binding.attempt import Attempt
from schedframe.cycle.core import Core
from schedframe.cycle.handle import SchedulerHandle
from schedframe.cycle.messages import Fault, Message, Question, Reload
from schedframe.cycle.runtime.clock import SystemClock
from schedframe.cycle.runtime.executors import Done, Work
from schedframe.cycle.runtime.inbox import Inbox
from schedframe.framework import BaseExtender

# ---- what is written down --------------------------------------------------------------------------------


@frozen
class Step:
    """The scheduler was driven: one call of ``step``."""


@frozen
class TakeIn:
    """The scheduler took in what happened and decided nothing."""


@frozen
class Reading:
    """A turn began at that time."""

    seconds: float


@frozen
class Handled:
    """A message was handled."""

    message: Message


@frozen
class Drained:
    """The inbox was empty."""


@frozen
class Answer:
    """What the outside answered at once: an extender, a look at a deadline, or whether a bind was stopped."""

    value: Any = None
    error: Exception | None = None

    def given(self) -> Any:
        """Return it, or raise it."""
        if self.error is not None:
            raise self.error
        return self.value


Input = Step | TakeIn | Reading | Handled | Drained | Answer


@define(eq=False)
class Record:
    """The turns of one scheduler."""

    inputs: deque[Input] = field(factory=deque)
    decisions: list[Any] = field(factory=list)
    """What was decided, and the state at the end of each turn."""

    def take(self, kind: type[Any]) -> Any:
        """Take out the next input, which must be of that kind."""
        found = self.inputs.popleft()
        assert isinstance(found, kind), f"{found} where the first scheduler had {kind.__name__}"
        return found

    def as_written(self) -> Record:
        """A copy that went through bytes, so that it can hold nothing of the first scheduler.

        All at once: versions of an object share what did not change, as those that a watch decodes do.
        """
        written = BytesIO()
        _Pickler(written).dump(self.inputs)
        return Record(pickle.loads(written.getvalue()))


class _Pickler(pickle.Pickler):
    """Leaves out for whom a message is."""

    def reducer_override(self, obj: Any) -> Any:
        return (Reload, (obj.config,)) if isinstance(obj, Reload) else NotImplemented


# ---- the parts that are put into a scheduler -------------------------------------------------------------


class Handlers(dict[type, Callable[[Any], None]]):
    """Handlers that write down each message, but those that change nothing."""

    def __init__(self, record: Record, handlers: Mapping[type, Callable[[Any], None]]) -> None:
        super().__init__(handlers)
        self.record = record

    def __getitem__(self, kind: type) -> Callable[[Any], None]:
        handle = super().__getitem__(kind)
        if kind in (Question, Fault):
            return handle

        def handled(message: Any) -> None:
            self.record.inputs.append(Handled(message))
            handle(message)

        return handled


@define(eq=False)
class RecordingInbox(Inbox[Message]):
    """Writes down what is handled, and where a drain ends."""

    record: Record = field(kw_only=True)

    def __attrs_post_init__(self) -> None:
        self.handlers = Handlers(self.record, self.handlers)

    def drain(self) -> None:
        Inbox.drain(self)
        self.record.inputs.append(Drained())


@define(eq=False)
class ReplayingInbox(Inbox[Message]):
    """Has the messages of a record, and drops those that it is given."""

    record: Record = field(kw_only=True)

    def put(self, message: Any) -> None:
        """The record has it."""

    def note(self, message: Any) -> None:
        """The record has it."""

    def put_first(self, message: Any) -> None:
        """The record has it."""

    def drain(self) -> None:
        while isinstance(self.record.inputs[0], Handled):
            message = self.record.take(Handled).message
            self.handlers[type(message)](message)
        self.record.take(Drained)


@define(eq=False)
class JumpingClock:
    """A live clock that a test can set forward; the readings that begin turns are written down."""

    record: Record
    ahead: float = 0.0
    in_turn: Callable[[], bool] = lambda: False
    strays: set[str] = field(factory=set, init=False)
    """Functions that read it within a turn, where it has to stand still."""
    _machine: SystemClock = field(factory=SystemClock)

    def __call__(self) -> float:
        now = self._machine() + self.ahead
        if self.in_turn():
            code = sys._getframe(1).f_code
            if code is Core.begin_turn.__code__:
                self.record.inputs.append(Reading(now))
            elif "deadline" not in code.co_qualname:
                self.strays.add(code.co_qualname)
        return now


@define(eq=False)
class ReplayedClock:
    """Shows the readings of a record, one for each turn."""

    record: Record
    now: float

    def __call__(self) -> float:
        if sys._getframe(1).f_code is Core.begin_turn.__code__:
            self.now = self.record.take(Reading).seconds
        return self.now


@define(eq=False)
class NoExecutor:
    """Runs nothing: the outcomes are in the record."""

    inline: bool = field(default=False, init=False)

    def submit(self, work: Work, done: Done) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class RecordedExtender(BaseExtender):
    """Writes down what another extender answers; messages are handled while it is asked.

    As with one behind a network, the nodes are read before that.
    """

    def __init__(self, extender: BaseExtender, record: Record) -> None:
        super().__init__(extender.name, extender.verbs)
        self.extender, self.record = extender, record
        self.take_in: Callable[[], None] = lambda: None

    def filter(self, pod: Pod, nodes: Any) -> Any:
        assert len(nodes.nodes)
        self.take_in()
        try:
            answer = Answer(self.extender.filter(pod, nodes))
        except Exception as error:  # noqa: BLE001 - raised below
            answer = Answer(error=error)
        self.take_in()
        self.record.inputs.append(answer)
        return answer.given()


class ReplayedExtender(BaseExtender):
    """Answers as the record says, after what was taken in until then."""

    def __init__(self, extender: BaseExtender, record: Record) -> None:
        super().__init__(extender.name, extender.verbs)
        self.record = record
        self.take_in: Callable[[], None] = lambda: None

    def filter(self, pod: Pod, nodes: Any) -> Any:
        assert len(nodes.nodes)
        while not isinstance(self.record.inputs[0], Answer):
            self.take_in()
        return self.record.take(Answer).given()


# ---- the scheduler ---------------------------------------------------------------------------------------


class TurnScheduler(Scheduler):
    """A scheduler that notes what it decides, and the state in which each turn leaves it."""

    record: Record
    is_first: bool
    """Whether it makes the record, rather than to follow one."""

    def step(self) -> float | None:
        if self.is_first:
            self.record.inputs.append(Step())
        return super().step()

    def _take_in(self) -> None:
        if self.is_first:
            self.record.inputs.append(TakeIn())
        super()._take_in()
        self._end_turn("took in")

    def _turn(self, core: Any) -> Decision | None:
        decision = super()._turn(core)
        self._end_turn("nothing" if decision is None else "decided")
        return decision

    def _cycle(self, framework: Any, info: Any) -> Decision:
        decision = super()._cycle(framework, info)
        status = decision.error or decision.diagnosis
        message = "" if status is None else status.message() if callable(status.message) else status.message
        self.record.decisions.append(
            (info.key, info.uid, info.attempts, framework.profile_name, decision.node_name, message)
        )
        return decision

    def _end_turn(self, how: str) -> None:
        core = self.core
        pools = {str(pool): count for pool, count in core.queue.counts().items() if count}
        places = {state.pod.key: state.node_name for state in core.cache.states.values()}
        draws = hash(core.rng.getstate())
        state = (core.now, pools, places, sorted(core.binding), self.next_deadline(), draws)
        self.record.decisions.append((how, *state))


@contextmanager
def recorded(
    cluster: Any, extenders: Sequence[BaseExtender] = (), **options: Any
) -> Iterator[tuple[TurnScheduler, JumpingClock]]:
    """Context with a scheduler that writes its turns down, and its clock."""
    record = Record()
    clock = JumpingClock(record)
    asked = [RecordedExtender(each, record) for each in extenders]
    with patch.object(build, "Inbox", lambda: RecordingInbox(record=record)):
        scheduler = TurnScheduler(cluster, clock=clock, extenders=asked, **options)
    scheduler.record, scheduler.is_first = record, True
    clock.in_turn = lambda: scheduler.core.turn_thread == threading.get_ident()
    for each in asked:
        each.take_in = scheduler._due.take_in

    def noted(answer: bool) -> bool:
        record.inputs.append(Answer(answer))
        return answer

    abort, deadline = Attempt.abort, SchedulerHandle.deadline

    def looks(handle: SchedulerHandle, seconds: float) -> Callable[[], bool]:
        is_over = deadline(handle, seconds)
        return lambda: noted(is_over())

    with (
        patch.object(Attempt, "abort", lambda attempt, status: noted(abort(attempt, status))),
        patch.object(SchedulerHandle, "deadline", looks),
        scheduler,
    ):
        yield scheduler, clock
    assert not clock.strays


def replayed(
    record: Record, cluster: Any, now: float, extenders: Sequence[BaseExtender] = (), **options: Any
) -> list[Any]:
    """Return the decisions of another scheduler in the turns of *record*, begun at *now*."""
    again = record.as_written()
    again.inputs.append(Drained())  # of the drain when it is closed
    asked = [ReplayedExtender(each, again) for each in extenders]
    with patch.object(build, "Inbox", lambda: ReplayingInbox(record=again)):
        scheduler = TurnScheduler(
            cluster, clock=ReplayedClock(again, now), extenders=asked, executor=NoExecutor(), **options
        )
    scheduler.record, scheduler.is_first = again, False
    for each in asked:
        each.take_in = scheduler._due.take_in
    abort = Attempt.abort

    def answer() -> bool:
        return bool(again.take(Answer).value)

    with (
        patch.object(Attempt, "abort", lambda attempt, status: answer() and abort(attempt, status)),
        patch.object(SchedulerHandle, "deadline", lambda handle, seconds: answer),
        scheduler,
    ):
        while len(again.inputs) > 1:
            if isinstance(again.inputs.popleft(), Step):
                scheduler.step()
            else:
                scheduler.sync()
    return again.decisions
