"""Checks of how a plugin is registered and made, and of arguments that do not fit."""

from __future__ import annotations

from typing import Any

import attrs

from ...api.codec import json_names
from ...config.decode import structure_args
from ...config.structure import StructureError, unstructure
from ...errors import ConfigError, PluginError
from ...framework.validation import check_plugin, check_plugin_class
from ..stub_handle import StubHandle
from ..worlds.world import World
from .contract import of_class
from .subject import Subject
from .violation import Check, Violation


def registration(subject: Subject, world: World) -> None:
    """The class is accepted, and an instance too."""
    try:
        check_plugin_class(subject.name, subject.factory)
        handle = StubHandle(world)
        plugin = subject.make(handle)
        check_plugin(subject.name, plugin)
        handle.attach_plugin(subject.name, plugin)
        assert handle.runner.plan.plugins
    except PluginError as error:
        raise Violation(str(error)) from error
    except Exception as error:
        raise Violation(f"cannot be made: {type(error).__name__}: {error}") from error


# ---- args --------------------------------------------------------------------------------------------------

_VALUES: tuple[Any, ...] = ("no such value", "", -1, 0, 2.5, 10**12, True, [], ["x"], [-1], {"x": "y"})
"""Tried for each field: most of them do not fit, whatever the field is."""


def args_errors(subject: Subject, world: World) -> None:
    """Check that arguments that do not fit are refused with their path, when the configuration is read."""
    args_class = subject.args_class
    assert args_class is not None
    good = unstructure(subject.args)
    _refused(args_class, {**good, "noSuchField": 1}, "noSuchField")
    for name in json_names(args_class).values():
        for value in _VALUES:
            if value == good.get(name):
                continue
            args = _refused(args_class, {**good, name: value}, name, may_fit=True)
            if args is not None:
                _makes(subject, args, name, value, world)


def _refused(args_class: type, data: dict[str, Any], name: str, *, may_fit: bool = False) -> Any:
    """The args if they fit; ``None`` if they were refused as they should be."""
    try:
        args = structure_args(data, args_class)
    except StructureError as error:
        named = [misfit for misfit in error.errors if misfit.field.startswith(f"$.{name}")]
        if not named and not any(name in misfit.detail for misfit in error.errors):
            raise Violation(
                f"{name} = {data[name]!r} is refused without saying where: {error}; let a validator of the "
                "field say it, whose message begins with the name in quotes"
            ) from error
        return None
    except Exception as error:
        raise Violation(f"{name} = {data[name]!r} raised {type(error).__name__}: {error}") from error
    if not may_fit:
        raise Violation(f"the unknown field {name} is accepted")
    return args


def _makes(subject: Subject, args: Any, name: str, value: Any, world: World) -> None:
    """A plugin can be made from args that were accepted."""
    made = Subject(subject.factory, args, subject.name)
    try:
        made.make(StubHandle(world))
    except ConfigError as error:
        if name not in str(error):
            raise Violation(_too_late(name, value, error)) from error
    except Exception as error:
        raise Violation(_too_late(name, value, error)) from error


def _too_late(name: str, value: Any, error: Exception) -> str:
    return (
        f"{name} = {value!r} is accepted, and then the plugin cannot be made: {type(error).__name__}: {error}"
        "; refuse it in the args class, by a validator of the field"
    )


def _has_args(subject: Subject) -> bool:
    return subject.args_class is not None and attrs.has(type(subject.args))


CHECKS = (
    Check("can_be_registered", of_class("class"), registration, once=True),
    Check("args_errors_have_paths", of_class("args"), args_errors, _has_args, once=True),
)
