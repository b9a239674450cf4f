"""Each argument of the first page, and of each public value, refuses a value of a class that fits nowhere.

Where nothing checks an argument, the list :data:`UNCHECKED` has the reason.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from enum import Enum
from functools import partial
from importlib import import_module
from typing import Any, Final

import schedframe
from schedframe import (
    ConfigError,
    CycleState,
    InMemoryCluster,
    InputError,
    Node,
    PluginError,
    Pod,
    Profile,
    Recorder,
    Registry,
    Scheduler,
    Simulation,
    Status,
    VirtualClock,
    parse_quantity,
)
from schedframe.api import Quantity
from schedframe.config import FeatureGates
from schedframe.cycle import SchedulerObserver
from schedframe.cycle.observers import EVENTS

from .checked_classes import is_checked
from .cycle.build import make_node, make_pod

PACKAGES: Final = (
    "schedframe",
    "schedframe.api",
    "schedframe.cluster.kubernetes",
    "schedframe.embed",
    "schedframe.metrics",
    "schedframe.simulate",
    "schedframe.testing",
)
NODE, POD = make_node("n0"), make_pod("p", uid="p")
SAMPLES: Final[dict[str, Any]] = {
    "pod": POD,
    "node": NODE,
    "name": "x",
    "objects": [NODE, POD],
    "cluster": InMemoryCluster(),
    "key": "default/p",
    "kind": "Pod",
}
"""Parameter → a right value of it; all others are 5."""
OBJECTS: Final[dict[type, Callable[[], Any]]] = {
    InMemoryCluster: lambda: InMemoryCluster([NODE, POD]),
    Simulation: lambda: Simulation([NODE, POD]),
    Scheduler: lambda: Scheduler(InMemoryCluster([NODE, POD])),
    Pod: lambda: POD,
    Node: lambda: NODE,
    Quantity: lambda: parse_quantity("1"),
    CycleState: CycleState,
    Status: lambda: Status.unschedulable("x"),
    Recorder: Recorder,
    Registry: Registry.installed,
    Profile: Profile,
    VirtualClock: VirtualClock,
    FeatureGates: FeatureGates,
}
"""Class → an instance, for its methods."""

RESULT: Final = "made by the scheduler, to be read"
INSIDE: Final = "made and called by the scheduler alone"
READ_LATER: Final = "checked where the scheduler reads it, with the name of the plugin or option"
HOT: Final = "called for each pod"
WITH_ARGUMENTS: Final = {*EVENTS, "attach", "guard_of", "event_handler"} - {"began", "closed"}
UNCHECKED: Final[dict[str, str]] = {
    **dict.fromkeys(("Decision", "QueuedPodInfo"), RESULT),
    **dict.fromkeys(("Framework", "Framework.build", "NodeInfo", "NodeTable", "ObjectStore"), INSIDE),
    **dict.fromkeys(("NodeTable.of_rows", "Rows", "Rows.at"), INSIDE),
    **dict.fromkeys(("Rows.ascending", "Snapshot", "Snapshot.take"), INSIDE),
    **{f"Recorder.{event}": INSIDE for event in vars(SchedulerObserver) if event in WITH_ARGUMENTS},
    **dict.fromkeys(("KubeSchedulerConfiguration", "RowVerdicts"), READ_LATER),
    **dict.fromkeys(("Pod.restated", "Pod.with_node_name", "Pod.with_resource_version"), HOT),
    "Status.with_plugin": HOT,
    "Simulation.set_own_state": "called by a fork alone",
    "Scheduler.refresh_conditions": "called by the driver alone",
    "hookimpl": "has the options of pluggy",
}
"""Callable → why some of its arguments are not checked."""
NOT_CALLED: Final = {"run", "serve", "close", "mainloop"}


class Odd:
    """A value that fits no annotation."""


ODD: Final = Odd()


Maker = Callable[[], Callable[..., Any]]
"""Returns a callable; its object is made for the test alone, since a scheduler takes memory."""


def functions() -> Iterator[tuple[str, Maker]]:
    """Yield each public function and class, their class methods, and the methods of :data:`OBJECTS`."""
    seen: set[int] = set()
    for package in map(import_module, PACKAGES):
        for name in package.__all__:
            public = getattr(package, name)
            if package is not schedframe and not (isinstance(public, type) and is_checked(public)):
                continue
            if id(public) in seen or not callable(public) or inspect.ismodule(public):
                continue
            seen.add(id(public))
            if isinstance(public, type):
                if issubclass(public, BaseException | Enum) or getattr(public, "_is_protocol", False):
                    continue
                for method, value in vars(public).items():
                    if isinstance(value, classmethod | staticmethod) and not method.startswith("_"):
                        yield f"{name}.{method}", partial(getattr, public, method)
            yield name, partial(_same, public)
    for cls in OBJECTS:
        for method in dir(cls):
            is_called = not method.startswith("_") and method not in NOT_CALLED
            if is_called and inspect.isfunction(inspect.getattr_static(cls, method)):
                yield f"{cls.__name__}.{method}", partial(_method, cls, method)


def _same(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def _method(cls: type, name: str) -> Any:
    return getattr(OBJECTS[cls](), name)


def calls(function: Callable[..., Any]) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield parameter → a call in which its value is :data:`ODD`."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:  # a builtin without one
        return
    for wrong in parameters:
        if wrong.kind is wrong.VAR_KEYWORD or wrong.annotation in ("Any", "object", "T", wrong.empty):
            continue
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        for each in parameters:
            value = ODD if each is wrong else SAMPLES.get(each.name, 5)
            if each.kind is each.KEYWORD_ONLY:
                if each is wrong or each.default is each.empty:
                    keywords[each.name] = value
            elif each.kind is each.VAR_POSITIONAL:
                positional += [value] if each is wrong else []
            elif each.kind is not each.VAR_KEYWORD:
                positional.append(value if each is wrong or each.default is each.empty else each.default)
        yield wrong.name, partial(exhausted, function, *positional, **keywords)


def exhausted(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> None:
    """Call *function*, and take all values of a generator: it checks nothing before."""
    answer = function(*arguments, **keywords)
    if inspect.isgenerator(answer):
        list(answer)


def fault_of(name: str, parameter: str, call: Callable[[], Any]) -> str | None:
    """Return what is wrong with the answer to a wrong argument."""
    try:
        call()
    except (InputError, ConfigError, PluginError):
        return None
    except (TypeError, ValueError) as error:
        named = parameter in str(error) or name.rpartition(".")[2] in str(error)
        return None if named else f"{name}: {parameter}: names neither: {error!r}"
    except Exception as error:  # noqa: BLE001 - reported
        return f"{name}: {parameter}: {error!r}"
    return f"{name}: {parameter}: is taken"


def test_a_value_that_fits_nothing_is_refused_in_words() -> None:
    checked = [(name, make) for name, make in functions() if name not in UNCHECKED]
    faults = [fault_of(name, *each) for name, make in checked for each in calls(make())]
    assert not [each for each in faults if each]
    assert len(faults) > len(checked) > 250


def test_what_is_not_checked_is_public() -> None:
    assert set(UNCHECKED) <= {name for name, _ in functions()}
