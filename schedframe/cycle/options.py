"""What may be set of a scheduler besides its cluster and its configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, TypedDict

from attrs import field

from .._base.validators import (
    collection,
    has,
    one_of,
    optional_call,
    optional_number,
    optional_with,
    share,
)
from .._base.value import record
from .._base.wording import described
from ..config import FeatureGates
from ..errors import InputError
from ..framework import Extender, PluginsToPass, Registry
from .observer import SchedulerObserver
from .runtime.clock import Clock
from .runtime.executors import Executor

ScoreAllNodes = bool | Literal["auto"]


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


@record(frozen=True, kw_only=True)
class SchedulerOptions:
    """Options of a :class:`Scheduler`, which takes each of them as a keyword argument too."""

    plugins: PluginsToPass | None = None
    """Out-of-tree plugins: a sequence of classes, instances, partials or functions, or name → one of these;
    see :class:`Enabled`. Each is enabled in every profile, unless a profile names it. Plugins of installed
    packages are known anyway.
    """
    allow_imports: str | Iterable[str] = ()
    """Modules and packages of which the configuration may name plugins by import path, which imports them."""
    registry: Registry | None = field(
        default=None, validator=optional_with(["full_catalogue"], "give a Registry, or plugins=[...]")
    )
    """In place of ``plugins`` and ``allow_imports``."""
    extenders: Iterable[Extender] = field(default=(), converter=_extenders)
    """Extenders in this process, besides those of the configuration."""
    clock: Clock | None = field(
        default=None, validator=optional_call("give a function that returns seconds, such as VirtualClock()")
    )
    """Seconds since the epoch, never less than before; ``None``: the machine's clock, which is not set back.

    After a clock went back, backoffs and the deadlines of permit wait until the former time is reached again.
    """
    seed: int | None = field(default=None, validator=optional_number("give an integer", whole=True))
    """Makes ties reproducible."""
    executor: Executor | None = field(
        default=None, validator=optional_with(["submit"], "give an executor, such as ThreadExecutor()")
    )
    """Runs pre_bind and bind; ``None``: in the core, for a remote cluster on its loop. See
    :class:`ThreadExecutor`.
    """
    feature_gates: FeatureGates | Mapping[str, bool] | None = None
    """Features by name, such as ``{"GenericWorkload": True}``; see :class:`FeatureGates`."""
    score_all_nodes: ScoreAllNodes = field(default="auto", validator=one_of("auto", True, False))
    """``"auto"`` evaluates every node unless percentageOfNodesToScore in the configuration leaves some out,
    ``False`` follows kube-scheduler's sampling and search order, ``True`` always evaluates all.
    """
    remember: int | None = field(
        default=None, validator=optional_number("give a number from 0", whole=True, least=0)
    )
    """Number of equivalence classes of pods whose answers are cached; ``None``: as many as fit into 256 MiB,
    4,096 at most; 0: none. It changes the speed, never a decision.
    """
    verify: float = field(default=0.0, validator=share)
    """Share of the pods, from 0 to 1, that are decided both by the equivalence cache and by the full search;
    a difference is reported as a fault, and the full search counts. 0 costs nothing.
    """
    wait_together: bool = field(default=True, validator=one_of(True, False))
    """Whether pods that no plugin can tell apart wait together: if one of them is rejected, the others are
    not tried as long as nothing changes. ``False`` tries each. It changes the speed, never a decision.
    """
    observers: tuple[SchedulerObserver, ...] = field(default=(), converter=_observers)
    """What follows the scheduler: a :class:`Meter`, a :class:`Recorder`, one of your own; see
    :class:`SchedulerObserver`. The first one sees each event first.
    """
    debug: bool = field(default=False, validator=one_of(True, False))
    """Whether a plugin that changes a node info or the node table fails, with its name. For tests: each call
    of a hook takes some microseconds longer. Also sets a watchdog of one second.
    """
    wake_up: Callable[[], None] | None = field(
        default=None, validator=optional_call("give a function without arguments")
    )
    """Called in any thread when :meth:`Scheduler.step` has something to do; its first error is a fault."""
    assume_ttl: float | None = field(
        default=None, validator=optional_number("give seconds, or None", least=0)
    )
    """Seconds after which an unconfirmed placement is rolled back; ``None``: never."""


class SchedulerKeywords(TypedDict, total=False):
    """The fields of :class:`SchedulerOptions` as type checkers know keyword arguments."""

    plugins: PluginsToPass | None
    allow_imports: str | Iterable[str]
    registry: Registry | None
    extenders: Iterable[Extender]
    clock: Clock | None
    seed: int | None
    executor: Executor | None
    feature_gates: FeatureGates | Mapping[str, bool] | None
    score_all_nodes: ScoreAllNodes
    remember: int | None
    verify: float
    wait_together: bool
    observers: Iterable[SchedulerObserver]
    debug: bool
    wake_up: Callable[[], None] | None
    assume_ttl: float | None
