"""What is refused when a plugin is registered, each with the fix in the message."""

from __future__ import annotations

import inspect
from difflib import get_close_matches
from typing import Any

import attrs

from ..errors import PluginError
from .points import HOOK_ARGUMENTS, HOT_HOOKS, hooks_of


def check_plugin_class(name: str, factory: Any) -> None:
    """Raise :class:`PluginError` if instances of *factory* could not take part; functions are checked later,
    when they have made a plugin."""
    if not callable(factory):
        raise PluginError(
            f"plugin {name}: {factory!r} is not callable; register the plugin's class, which is called with "
            "(args, handle)"
        )
    if inspect.isclass(factory):
        check_plugin(name, factory)


def check_plugin(name: str, plugin: Any) -> None:
    """Raise :class:`PluginError` if *plugin* (a class or an instance) breaks the contract."""
    cls = plugin if inspect.isclass(plugin) else type(plugin)
    _check_equality(name, cls)
    hooks = hooks_of(plugin)
    for hook, options in hooks.items():
        _check_hook(name, cls, hook, options)
    if not hooks:
        raise PluginError(
            f"plugin {name}: {cls.__qualname__} implements no extension point; mark its methods with @hookimpl"
        )


def args_class_of(factory: Any) -> type | None:
    """The type of the plugin's ``args`` field, ``None`` if it takes none."""
    if not (inspect.isclass(factory) and attrs.has(factory)):
        return None
    if not _resolvable(factory):
        return None
    for attribute in attrs.fields(factory):
        if attribute.name == "args" and inspect.isclass(attribute.type) and attrs.has(attribute.type):
            return attribute.type
    return None


def _resolvable(factory: type) -> bool:
    try:
        attrs.resolve_types(factory)
    except NameError:
        # A field annotated with a name that exists only for type checkers; the args class must not be one.
        return False
    return True


def _check_equality(name: str, cls: type) -> None:
    if cls.__eq__ is not object.__eq__ or cls.__hash__ is None:
        raise PluginError(
            f"plugin {name}: {cls.__qualname__} compares by value, so two instances with equal fields would count as "
            "one plugin; define it with @define(eq=False)"
        )


def _check_hook(name: str, cls: type, hook: str, options: dict[str, Any]) -> None:
    function = inspect.getattr_static(cls, hook)
    if hook not in HOOK_ARGUMENTS:
        close = get_close_matches(hook, HOOK_ARGUMENTS, 1)
        hint = (
            f"did you mean {close[0]}?" if close else f"the extension points are {', '.join(HOOK_ARGUMENTS)}"
        )
        raise PluginError(f"plugin {name}: {cls.__qualname__}.{hook} is no extension point; {hint}")
    if hook in HOT_HOOKS and (options.get("wrapper") or options.get("hookwrapper")):
        raise PluginError(
            f"plugin {name}: {cls.__qualname__}.{hook} is a wrapper, and wrappers are refused where every pod or node "
            "passes; implement the hook itself, or pass an observer to the scheduler to watch it"
        )
    specified = HOOK_ARGUMENTS[hook]
    mine = f"{hook}{inspect.signature(function)}"
    wanted = f"{hook}(self, {', '.join(specified)})" if specified else f"{hook}(self)"
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
            raise PluginError(
                f"plugin {name}: {cls.__qualname__}.{mine} has the {parameter.kind.description} argument "
                f"{parameter.name!r}; use plain positional arguments, any of {wanted}"
            )
        if parameter.name not in specified:
            raise PluginError(
                f"plugin {name}: {cls.__qualname__}.{mine} asks for {parameter.name!r}, which this extension point "
                f"does not offer; use any of {wanted}"
            )
