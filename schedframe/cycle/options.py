"""Options of a scheduler besides its cluster and its configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal, TypedDict

from .._base.options import Option, completed
from .._base.validators import (
    collection,
    has,
    one_of,
    optional_call,
    optional_number,
    optional_with,
)
from .._base.wording import described
from ..config import FeatureGates
from ..errors import InputError
from ..framework import Extender, PluginsToPass, Registry
from .observer import SchedulerObserver
from .runtime.clock import Clock
from .runtime.executors import Executor
from .tuning import Tuning

ScoreAllNodes = bool | Literal["auto"]
CLOCK: Final = optional_call("give a function that returns seconds, such as VirtualClock()")


def _imports(given: str | Iterable[str]) -> str | Iterable[str]:
    if not isinstance(given, Iterable):
        problem = f"{described(given)} is neither a collection nor a text"
        raise InputError("allow_imports", problem, "give a list or a str")
    return given


def _extenders(given: Iterable[Extender]) -> tuple[Extender, ...]:
    extenders = collection("extenders", given, "give a list of extenders")
    for extender in extenders:
        has("extenders", extender, ("name", "verbs"), "give objects of a class below BaseExtender")
    return extenders


def _observers(given: Iterable[SchedulerObserver]) -> tuple[SchedulerObserver, ...]:
    observers = collection("observers", given, "give a list of observers")
    for each in observers:
        if not isinstance(each, SchedulerObserver):
            problem = f"{described(each)} is no observer"
            raise InputError("observers", problem, "give objects of a class below SchedulerObserver")
    return observers


class SharedOptions(TypedDict, total=False):
    """Options that a :class:`Scheduler`, a :class:`Simulation` and an :class:`Embedding` take."""

    plugins: PluginsToPass | None
    """Out-of-tree plugins: a sequence of classes, instances, partials or functions, or name → one of these;
    see :class:`Enabled`. Each is enabled in every profile, unless a profile names it. Plugins of installed
    packages are known anyway.
    """
    allow_imports: str | Iterable[str]
    """Modules and packages of which the configuration may name plugins by import path, which imports them."""
    registry: Registry | None
    """In place of ``plugins`` and ``allow_imports``."""
    extenders: Iterable[Extender]
    """Extenders in this process, besides those of the configuration."""
    seed: int | None
    """Makes ties reproducible."""
    feature_gates: FeatureGates | Mapping[str, bool] | None
    """Features by name, such as ``{"GenericWorkload": True}``; see :class:`FeatureGates`."""
    score_all_nodes: ScoreAllNodes
    """``"auto"`` evaluates every node unless percentageOfNodesToScore in the configuration leaves some out,
    ``False`` follows kube-scheduler's sampling and search order, ``True`` always evaluates all.
    """
    tuning: Tuning
    """How work is saved; it changes the speed, never a decision."""
    observers: Iterable[SchedulerObserver]
    """What follows the scheduler: a :class:`Meter`, a :class:`Recorder`, one of your own; see
    :class:`SchedulerObserver`. The first one sees each event first.
    """


class SchedulerOptions(SharedOptions, total=False):
    """Options of a :class:`Scheduler`: ``Scheduler(cluster, config, seed=1)``."""

    clock: Clock | None
    """Seconds since the epoch, never less than before; ``None``: the machine's clock, which is not set back.

    After a clock went back, backoffs and the deadlines of permit wait until the former time is reached again.
    """
    executor: Executor | None
    """Runs pre_bind and bind; ``None``: in the core, for a remote cluster on its loop. See
    :class:`ThreadExecutor`.
    """
    debug: bool
    """Whether a plugin that changes a node info or the node table fails, with its name. For tests: each call
    of a hook takes some microseconds longer. Also sets a watchdog of one second.
    """
    wake_up: Callable[[], None] | None
    """Called in any thread when :meth:`Scheduler.step` has something to do; its first error is a fault."""
    assume_ttl: float | None
    """Seconds after which an unconfirmed placement is rolled back; ``None``: never."""


_SECONDS: Final = optional_number("give seconds, or None", least=0)
SHARED: Final[Mapping[str, Option]] = {
    "plugins": Option(),
    "allow_imports": Option((), converter=_imports),
    "registry": Option(None, optional_with(["full_catalogue"], "give a Registry, or plugins=[...]")),
    "extenders": Option((), converter=_extenders),
    "seed": Option(None, optional_number("give an integer", whole=True)),
    "feature_gates": Option(),
    "score_all_nodes": Option("auto", one_of("auto", True, False)),
    "tuning": Option(Tuning(), optional_with(["wait_together"], "give Tuning(...)")),
    "observers": Option((), converter=_observers),
}
"""Checks of :class:`SharedOptions`."""
_OPTIONS: Final[Mapping[str, Option]] = {
    **SHARED,
    "clock": Option(None, CLOCK),
    "executor": Option(None, optional_with(["submit"], "give an executor, such as ThreadExecutor()")),
    "debug": Option(False, one_of(True, False)),
    "wake_up": Option(None, optional_call("give a function without arguments")),
    "assume_ttl": Option(None, _SECONDS),
}


def scheduler_options(given: SchedulerOptions) -> SchedulerOptions:
    """Return *given* options, checked, with defaults for the others."""
    return completed(_OPTIONS, "Scheduler", given)
