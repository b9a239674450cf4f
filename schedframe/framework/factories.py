"""Factories of plugins: a class, a partial of one, a function, or an instance that exists already."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from functools import lru_cache, partial
from typing import Any

from .._base.plugin_faults import fault_text, plugin_faults
from .._base.value import record
from ..errors import PluginError

Factory = Callable[..., Any]
"""Makes a plugin from ``(args, handle)``; usually the plugin's class, which may take less."""


@record(frozen=True, eq=False)
class SharedInstance:
    """A factory that returns the same plugin for every profile and every scheduler."""

    plugin: object

    def __call__(self, args: Any, handle: Any) -> object:
        """Return the plugin; it has its arguments and gets no handle."""
        return self.plugin


def plugin_class_of(factory: object) -> type | None:
    """Return the class of the plugins that *factory* makes, ``None`` for a plain function."""
    if inspect.isclass(factory):
        return factory
    if isinstance(factory, partial) and inspect.isclass(factory.func):
        return factory.func
    return type(factory.plugin) if isinstance(factory, SharedInstance) else None


def has_args(factory: object) -> bool:
    """Return whether the program gave the plugin its arguments, so that a configuration cannot."""
    return isinstance(factory, SharedInstance) or (
        isinstance(factory, partial) and inspect.isclass(factory.func) and "args" in factory.keywords
    )


def make_plugin(name: str, factory: Factory, args: Any, handle: Any) -> Any:
    """Return the plugin *name*. Raises :class:`PluginError` if it cannot be made."""
    try:
        plugin = _made(factory, args, handle)
    except plugin_faults() as error:
        raise PluginError(f"plugin {name} cannot be made: {fault_text(error)}") from error
    if inspect.isclass(plugin):
        raise PluginError(f"plugin {name} cannot be made: it is the class {plugin.__name__}; call it")
    return plugin


def _made(factory: Factory, args: Any, handle: Any) -> Any:
    """Return a plugin, made with those of *args* and *handle* that its class takes and no partial binds."""
    if isinstance(factory, SharedInstance) or plugin_class_of(factory) is None:
        return factory(args, handle)
    wanted = _parameters(factory)
    offered = {"args": args, "handle": handle}
    return factory(**{parameter: value for parameter, value in offered.items() if parameter in wanted})


def takes_args(factory: Factory) -> bool:
    """Return whether the arguments of a configuration reach the plugins that *factory* makes."""
    return plugin_class_of(factory) is None or "args" in _parameters(factory)


def _parameters(factory: Factory) -> Collection[str]:
    """Return the parameters of a class, without those that a partial binds."""
    if not isinstance(factory, partial):
        return _parameters_of_class(factory)
    return inspect.signature(factory).parameters.keys() - factory.keywords.keys()


@lru_cache(maxsize=256)
def _parameters_of_class(cls: type) -> Collection[str]:
    return frozenset(inspect.signature(cls).parameters)
