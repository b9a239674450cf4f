"""A profile written as calls, equal to the same profile of a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from attrs import evolve

from .._base.checked import checked
from .._base.value import value
from ..errors import PluginError
from .catalogue import Catalogue
from .decode import suggestion
from .model import ATTRIBUTES, MULTI_POINT, KubeSchedulerProfile, Plugin, PluginConfig, Plugins, PluginSet


@value
class Profile(KubeSchedulerProfile):
    """A profile that calls extend: ``Profile().enable("X", weight=3).disable("Y").args("Z", limit=1)``.

    Each call returns a changed copy. Names that are disabled and that no plugin has cause a warning where
    the profile is used; in documents they are ignored. A profile, or a sequence of profiles with different
    names, is a configuration: ``Scheduler(cluster, Profile("batch").disable("ImageLocality"))``. It means
    what the same entries of a document mean, in the order of the calls, and is checked as a document is.
    """

    @checked
    def enable(self, name: str, *, weight: int | None = None, point: str = MULTI_POINT) -> Self:
        """Return the profile with a plugin enabled after the others.

        ``weight``: of its scores; ``None``: the default. ``point``: an extension point as documents spell it,
        such as ``preFilter``; by default all that the plugin implements. :class:`PluginError` if there is no
        such point.
        """
        plugins = self._at(point)
        return self._with(point, evolve(plugins, enabled=(*plugins.enabled, Plugin(name, weight))))

    @checked
    def disable(self, name: str, *, point: str = MULTI_POINT) -> Self:
        """Return the profile with a default plugin disabled; ``*`` disables all of them.

        ``point`` as for :meth:`enable`.
        """
        plugins = self._at(point)
        return self._with(point, evolve(plugins, disabled=(*plugins.disabled, Plugin(name))))

    @checked
    def args(self, name: str, args: Any = None, /, **fields: Any) -> Self:
        """Return the profile with the arguments of a plugin.

        ``args``: an instance of the plugin's args class, or JSON data as in a document; ``fields``: single
        fields of such data. :class:`PluginError` for fields besides an instance.
        """
        if fields:
            if args is not None and not isinstance(args, Mapping):
                raise PluginError(
                    f"plugin {name}: fields cannot extend {type(args).__name__}; pass one or the other"
                )
            args = {**(args or {}), **fields}
        return evolve(self, plugin_config=(*self.plugin_config, PluginConfig(name, args)))

    def _at(self, point: str) -> PluginSet:
        if point not in ATTRIBUTES:
            raise PluginError(f"there is no extension point {point!r}; use one of {', '.join(ATTRIBUTES)}")
        return (self.plugins or Plugins()).at(point)

    def _with(self, point: str, plugins: PluginSet) -> Self:
        return evolve(self, plugins=evolve(self.plugins or Plugins(), **{ATTRIBUTES[point]: plugins}))


def unknown_disabled(profiles: Iterable[KubeSchedulerProfile], catalogue: Catalogue) -> Iterator[str]:
    """Yield a message for each name that a :class:`Profile` disables and no plugin has."""
    for profile in profiles:
        if isinstance(profile, Profile) and profile.plugins is not None:
            plugins = profile.plugins
            disabled = [each.name for point in ATTRIBUTES for each in plugins.at(point).disabled]
            for name in dict.fromkeys(disabled):
                if name != "*" and catalogue.get(name) is None and catalogue.removed(name) is None:
                    close = suggestion(name, catalogue.names())
                    yield f"a profile disables {name!r}, and there is no such plugin{close}"
