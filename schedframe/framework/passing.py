"""Plugins as a program passes them: classes, instances, partials or functions, with weight and arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from attrs import evolve, field

from .._base.value import value
from ..config import PassedPlugin
from ..errors import PluginError
from .factories import Factory, SharedInstance, has_args
from .points import hooks_of
from .registry import Registry

_FORMS = "pass a sequence of classes, instances, partials or functions, or a mapping from names to them"


def _positive(weight: object) -> int | None:
    if weight is not None and (not isinstance(weight, int) or isinstance(weight, bool) or weight < 1):
        raise PluginError(f"a weight is a whole number from 1, not {weight!r}")
    return weight


@value
class Enabled:
    """A plugin to enable in every profile, with its weight and arguments.

    ``plugin``: a class, an instance, a :func:`functools.partial` of a class, or a function of ``(args,
    handle)``. ``weight``: of its scores; ``None``: 1. ``args``: the plugin's arguments, as an instance of its
    args class or as JSON data; ``None``: the defaults, or those of the configuration. ``name``: the name in
    profiles and messages; empty: that of the class or function.

    Raises :class:`PluginError` for a weight below 1, and for *args* of an instance, which has its arguments.
    """

    plugin: object
    weight: int | None = field(default=None, converter=_positive)
    args: Any = None
    name: str = ""

    def __attrs_post_init__(self) -> None:
        if self.args is not None and has_args(_factory(self.plugin)):
            raise PluginError(
                f"plugin {self.name or _name_of(self.plugin)} has its arguments already; leave args out"
            )


PluginsToPass = Mapping[str, object] | Sequence[object]
"""The plugins that a program passes: a sequence of them, or name → plugin; each may be an
:class:`Enabled`.
"""


def register_passed(registry: Registry, plugins: PluginsToPass | None) -> tuple[PassedPlugin, ...]:
    """Register *plugins*, and return what a configuration needs to know to enable them.

    Raises :class:`PluginError` for anything that is no plugin, and for a name that is taken by another class.
    """
    passed = []
    for each in _entries(plugins):
        registry.register_passed(each.name, _factory(each.plugin))
        passed.append(PassedPlugin(each.name, each.weight, each.args))
    return tuple(passed)


def _entries(plugins: PluginsToPass | None) -> Iterator[Enabled]:
    if plugins is None:
        return
    if isinstance(plugins, Mapping):
        for name, plugin in plugins.items():
            entry = plugin if isinstance(plugin, Enabled) else Enabled(plugin)
            yield evolve(entry, name=name)
        return
    if isinstance(plugins, str) or not isinstance(plugins, Sequence):
        raise PluginError(f"{plugins!r:.80} is neither a sequence nor a mapping of plugins; {_FORMS}")
    for plugin in plugins:
        entry = plugin if isinstance(plugin, Enabled) else Enabled(plugin)
        yield entry if entry.name else evolve(entry, name=_name_of(entry.plugin))


def _name_of(plugin: object) -> str:
    """Return the name of the class or function of *plugin*; :class:`PluginError` if it has none."""
    if isinstance(plugin, str):
        raise PluginError(
            f"{plugin!r} is a name; {_FORMS}, or enable an installed plugin in the configuration"
        )
    made_by = plugin.func if isinstance(plugin, partial) else plugin
    name = getattr(made_by, "__name__", type(made_by).__name__)
    if not str(name).isidentifier():
        raise PluginError(f"{plugin!r:.80} has no name; pass {{name: plugin}} or Enabled(plugin, name=...)")
    return str(name)


def _factory(plugin: object) -> Factory:
    is_instance = not isinstance(plugin, type | partial) and hooks_of(plugin)
    return SharedInstance(plugin) if is_instance or not callable(plugin) else plugin
