"""Hook implementations of plugins as calls: validated by pluggy, adapted to arguments, wrapped by guards.

The order of the wrappers is fixed: the first guard is innermost.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, Protocol, runtime_checkable
from weakref import WeakKeyDictionary

import pluggy

from .._base.plugin_faults import plugin_faults
from ..errors import PluginError
from .adapter import adapt
from .hookspecs import Hookspecs
from .markers import PROJECT
from .points import HOOK_ARGUMENTS, has_hooks_of_class, has_own_hooks
from .validation import check_plugin

logger = logging.getLogger("schedframe")

Call = Callable[..., Any]
ForNodes = Callable[[int], Call]
"""``for_nodes(count)`` returns what to call for each of *count* nodes."""
_LOOPED: Final = frozenset({"filter", "score"})
"""Hooks that are called for each of many nodes."""


class Guard(Protocol):
    """Wraps every hook of a plan that is compiled with guards."""

    def guarded(self, call: Call, hook: str, plugin: str) -> Call:
        """Return *call*, or a function that does the same and checks something."""
        ...


@runtime_checkable
class LoopGuard(Guard, Protocol):
    """A guard with another form for loops over nodes, which may leave the single calls unwrapped."""

    def in_loops(self, call: Call, hook: str, plugin: str) -> ForNodes:
        """Return a function from the number of nodes in a loop to what the loop calls for each of them."""
        ...


class _HookManager(pluggy.PluginManager):
    """Looks only at attributes with names of hooks: :func:`check_plugin` refuses others that are marked."""

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> pluggy.HookimplOpts | None:
        return super().parse_hookimpl_opts(plugin, name) if name in HOOK_ARGUMENTS else None

    def parse_hookspec_opts(self, module_or_class: Any, name: str) -> pluggy.HookspecOpts | None:
        return super().parse_hookspec_opts(module_or_class, name) if name in HOOK_ARGUMENTS else None


_arguments_of: Final = WeakKeyDictionary[type, dict[str, tuple[str, ...]]]()
"""Class of plugins → hook → arguments that its method names. A program may make a scheduler for each
question, and pluggy's look at the same 20 classes took a third of the time to make one."""


def collected(
    plugins: Mapping[str, Any], guards: Sequence[Guard]
) -> tuple[dict[tuple[str, str], Call], dict[tuple[str, str], ForNodes]]:
    """Return the wrapped calls of all hooks, and the forms for loops over nodes, both by plugin and hook.

    Without a form for loops where the outermost wrapper has none. :class:`PluginError` for a plugin that
    pluggy refuses, or that is there twice.
    """
    calls: dict[tuple[str, str], Call] = {}
    for_nodes: dict[tuple[str, str], ForNodes] = {}
    last = guards[-1] if guards else None  # what is further in must see each call
    outermost = last if isinstance(last, LoopGuard) else None
    first_names: dict[int, str] = {}
    for plugin, instance in plugins.items():
        if (first := first_names.setdefault(id(instance), plugin)) != plugin:
            raise PluginError(
                f"plugin {plugin} cannot be registered: it is the same object as plugin {first}; make one "
                "for each name"
            )
        for hook, (method, named) in _implementations(plugin, instance).items():
            call = adapt(method, named, HOOK_ARGUMENTS[hook])
            for guard in guards:
                if hook in _LOOPED and guard is outermost:
                    for_nodes[plugin, hook] = outermost.in_loops(call, hook, plugin)
                call = guard.guarded(call, hook, plugin)
            calls[plugin, hook] = call
    return calls, for_nodes


def _implementations(name: str, plugin: Any) -> dict[str, tuple[Call, tuple[str, ...]]]:
    """Return hook → method and the arguments that it names. pluggy validates each class once."""
    check_plugin(name, plugin)
    arguments = _arguments_of.get(type(plugin))
    if arguments is not None and not has_own_hooks(plugin):
        return {hook: (getattr(plugin, hook), named) for hook, named in arguments.items()}
    found = _registered(name, plugin)
    if has_hooks_of_class(plugin):
        _arguments_of[type(plugin)] = {hook: named for hook, (_, named) in found.items()}
    return found


def _registered(name: str, plugin: Any) -> dict[str, tuple[Call, tuple[str, ...]]]:
    manager = _HookManager(PROJECT)
    manager.add_hookspecs(Hookspecs)
    try:
        manager.register(plugin, name)
    except (ValueError, pluggy.PluginValidationError) as error:
        raise PluginError(f"plugin {name} cannot be registered: {error}") from error
    return {
        hook: (each.function, (*each.argnames, *each.kwargnames))
        for hook in HOOK_ARGUMENTS
        for each in getattr(manager.hook, hook).get_hookimpls()
    }


@contextmanager
def closed_on_error(plugins: Mapping[str, Any]) -> Iterator[None]:
    """Close *plugins* if an error leaves the block: no framework that could do it was made of them."""
    try:
        yield
    except BaseException:
        _close(plugins)
        raise


def _close(plugins: Mapping[str, Any]) -> None:
    for name, plugin in {id(each): (name, each) for name, each in plugins.items()}.values():
        # A plugin that breaks the contract is not known to have the hook.
        with suppress(PluginError):
            if close := _implementations(name, plugin).get("close"):
                try:
                    close[0]()
                except plugin_faults():
                    logger.exception("plugin %s failed at close", name)
