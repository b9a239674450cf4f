"""Sources of plugins: entry points, import paths, and what a program registers itself."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import field

from .._base.checked import checked, checked_except
from .._base.entry_points import EntryPoint, entry_points_of
from .._base.value import record
from ..config import (
    POINTS,
    Catalogue,
    CatalogueEntry,
    FieldError,
    PluginCatalogue,
    RemovedPlugin,
    installed_catalogue,
)
from ..config.feature_gates import NO_GATES, FeatureGates
from ..errors import PluginError
from .factories import Factory, has_args, plugin_class_of, takes_args
from .loading import load_entry, package_of
from .points import points_of
from .validation import args_class_of, check_plugin_class

PLUGIN_GROUP = "schedframe.plugins"

_ANY_POINT = tuple(point for point in POINTS if point not in ("queueSort", "bind"))
"""Points of a plugin that a function makes. Sorting and binding need a class, which can be inspected."""


def _prefixes(given: str | Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _expect_object(args: Any, path: str) -> Iterator[FieldError]:
    """Arguments of a plugin by import path are an object, whatever the plugin would take."""
    if args is not None and not isinstance(args, Mapping):
        yield FieldError.wrong_type(path, args, "an object with the arguments of the plugin")


def _expect_nothing(args: Any, path: str) -> Iterator[FieldError]:
    """Refuse arguments from a configuration for a plugin that got its arguments from the program."""
    if args is not None:
        yield FieldError.invalid(path, args, "the program that passes the plugin gave it its arguments")


def _expect_none(args: Any, path: str) -> Iterator[FieldError]:
    """Refuse arguments that the plugin would never see; an empty object means none."""
    if args is not None and args != {}:
        fix = "leave them out, or let its class take args"
        yield FieldError.invalid(path, args, f"the plugin takes no arguments; {fix}")


@record(frozen=True)
class Origin:
    """Source of a plugin of the registry."""

    name: str
    source: str
    """``package version`` for an entry point, ``registered`` for one that a program added."""
    target: str
    """Module and qualified name."""


@checked
@record(eq=False)
class Registry:
    """Plugin names and the factories that make them. An entry point is loaded when its name is first used.

    A package that cannot be loaded therefore concerns only those who use its plugins by name.

    A name of the form ``package.module:Class`` is an import path: it needs no registration, and is the name
    of the plugin. Importing a module runs its code, so paths are followed only below ``allow_imports``.
    """

    catalogue: PluginCatalogue
    allow_imports: tuple[str, ...] = field(default=(), converter=_prefixes)
    """Modules and packages in which import paths are followed: ``mine`` allows ``mine.plugins:Rank``."""
    skip_imports: bool = False
    """Accept import paths without following them, and leave their plugins out: to check a configuration."""
    _entry_points: dict[str, EntryPoint] = field(factory=dict)
    _factories: dict[str, Factory] = field(factory=dict)
    _rivals: dict[str, EntryPoint] = field(factory=dict)
    """Name → an entry point of another package that claims it too."""

    @classmethod
    def installed(cls, allow_imports: str | Iterable[str] = (), *, skip_imports: bool = False) -> Registry:
        """Return a registry of all plugins of installed packages; none of them is loaded yet."""
        registry = cls(installed_catalogue(), allow_imports, skip_imports)
        for entry in entry_points_of(PLUGIN_GROUP):
            # A package may be on the path twice; its entries are then equal but for the place.
            first = registry._entry_points.setdefault(entry.name, entry)
            if first.value != entry.value:
                registry._rivals.setdefault(entry.name, entry)
        return registry

    @checked_except("factory")
    def register(self, name: str, factory: Factory) -> None:
        """Add an out-of-tree plugin under *name*.

        Raises :class:`PluginError` if the name is taken or the class breaks the contract.
        """
        if not name:
            raise PluginError("a plugin needs a name; register it under the name that profiles will use")
        if ":" in name:
            raise PluginError(f"plugin {name}: a name with a colon is an import path; choose another name")
        if name in self:
            raise PluginError(f"plugin {name} is registered already; choose another name")
        check_plugin_class(name, factory)
        self._factories[name] = factory

    def register_passed(self, name: str, factory: Factory) -> None:
        """Like :meth:`register`, but the class that a package offers under *name* may be passed as well.

        What the program passes, such as an instance, then stands in for the entry point.
        """
        if name not in self._factories and self._offers(name, plugin_class_of(factory)):
            del self._entry_points[name]
        self.register(name, factory)

    def _offers(self, name: str, plugin_class: type | None) -> bool:
        """Return whether the entry point *name* of another package is that of *plugin_class*."""
        entry = self._entry_points.get(name)
        if entry is None or plugin_class is None or name in self._rivals or self.catalogue.get(name):
            return False
        try:
            return load_entry(name, entry) is plugin_class
        except PluginError:
            return False  # register() refuses the name; the entry point is reported where it is used

    @checked
    def factory(self, name: str) -> Factory:
        """Return what makes the plugin *name*.

        Raises :class:`PluginError` if it is unknown, cannot be loaded, breaks the contract, or if two
        packages claim the name.
        """
        factory = self._factories.get(name)
        if factory is not None:
            return factory
        entry = self._import_path(name) if ":" in name else self._entry_points.get(name)
        if entry is None:
            raise PluginError(f"plugin {name} is not installed; installed are {', '.join(self)}")
        if (rival := self._rivals.get(name)) is not None:
            raise PluginError(
                f"plugin {name} is offered by {entry.value} and by {rival.value}; "
                "uninstall one of the packages"
            )
        loaded: Factory = load_entry(name, entry)
        if ":" in name and not inspect.isclass(loaded):
            raise PluginError(
                f"plugin {name}: an import path must name a class of a plugin, not {loaded!r:.80}"
            )
        check_plugin_class(name, loaded)
        self._factories[name] = loaded
        return loaded

    @checked
    def allows(self, name: str) -> bool:
        """Return whether *name* is an import path that may be followed."""
        module, colon, _ = name.partition(":")
        return bool(colon) and any(module == p or module.startswith(f"{p}.") for p in self.allow_imports)

    @checked
    def takes_part(self, name: str) -> bool:
        """Return whether a profile that enables *name* needs the plugin; ``False`` if it is not installed."""
        return name in self or (":" in name and not self.skip_imports)

    def _import_path(self, name: str) -> EntryPoint:
        """Return an entry point for an import path; :class:`PluginError` unless it may be followed."""
        from importlib.metadata import EntryPoint as NewEntryPoint

        entry = NewEntryPoint(name, name, PLUGIN_GROUP)
        if entry.pattern.fullmatch(name) is None:
            raise PluginError(f"plugin {name} is no import path; write package.module:Class")
        if not self.allows(name):
            module = name.partition(":")[0]
            raise PluginError(
                f"plugin {name} is an import path, which is followed only where the caller allows it: "
                f'allow_imports=["{module}"] in Python, --allow-import {module} on the command line'
            )
        return entry

    def args_class(self, name: str) -> type | None:
        """Type of the plugin's args; ``None`` if it takes none, or is made by a plain function."""
        return args_class_of(self.factory(name))

    def points(self, name: str) -> tuple[str, ...]:
        """Return the extension points of the plugin's class; none for a plain function."""
        cls = plugin_class_of(self.factory(name))
        return points_of(cls) if cls is not None else ()

    def full_catalogue(self) -> Catalogue:
        """Return the in-tree plugins as the catalogue describes them, and all others of this registry.

        A plugin that the catalogue does not describe is loaded when its name is first looked up.
        """
        return _RegistryCatalogue(self.catalogue, self)

    def _entry(self, name: str) -> CatalogueEntry:
        if ":" in name and self.skip_imports:
            return CatalogueEntry(name, _ANY_POINT, check_args=_expect_object)
        args_class = self.args_class(name)
        check = _expect_object if ":" in name and args_class is None else None
        factory = self.factory(name)
        if has_args(factory):
            check = _expect_nothing
        elif not takes_args(factory):
            check = _expect_none
        return CatalogueEntry(name, self.points(name) or _ANY_POINT, args_class=args_class, check_args=check)

    def origins(self) -> list[Origin]:
        """Return every plugin with where it comes from, sorted by name."""
        origins = [_origin(entry) for entry in self._entry_points.values()]
        origins += [
            Origin(name, "registered", _target(f))
            for name, f in self._factories.items()
            if name not in self._entry_points
        ]
        return sorted(origins, key=lambda origin: origin.name)

    def __contains__(self, name: object) -> bool:
        return (
            name in self._factories
            or name in self._entry_points
            or (isinstance(name, str) and self.allows(name))
        )

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*self._factories, *self._entry_points}))


@record(eq=False)
class _RegistryCatalogue:
    """A catalogue that also knows the plugins of a registry, each loaded when its name is first looked up."""

    inner: Catalogue
    registry: Registry
    _entries: dict[str, CatalogueEntry] = field(factory=dict)
    _reasons: dict[str, str] = field(factory=dict)
    """Name → why its plugin cannot be loaded."""

    def get(self, name: str) -> CatalogueEntry | None:
        """Return the plugin of that name; ``None`` if there is none, or if it cannot be loaded."""
        entry = self.inner.get(name) or self._entries.get(name)
        if entry is not None or name in self._reasons or not (":" in name or name in self.registry):
            return entry
        try:
            entry = self._entries[name] = self.registry._entry(name)
        except PluginError as error:
            self._reasons[name] = str(error)
        return entry

    def why_not(self, name: str) -> str | None:
        """Return why :meth:`get` has no plugin of that name, ``None`` if no reason is known."""
        return self._reasons.get(name) or self.inner.why_not(name)

    def removed(self, name: str) -> RemovedPlugin | None:
        """Return the former plugin of that name; ``None`` if there was none, or if it exists again."""
        return None if name in self.registry else self.inner.removed(name)

    def defaults(self, gates: FeatureGates = NO_GATES) -> tuple[CatalogueEntry, ...]:
        """Return the plugins enabled by default under these feature gates, in order."""
        return self.inner.defaults(gates)

    def names(self) -> tuple[str, ...]:
        """Return all names but import paths."""
        registered = (name for name in self.registry if ":" not in name)
        return tuple(dict.fromkeys((*self.inner.names(), *registered)))

    def extended(self, entries: Iterable[CatalogueEntry]) -> Catalogue:
        """Return this catalogue with *entries* added; PluginError if a name is taken."""
        added = tuple(entries)
        if taken := sorted({entry.name for entry in added}.intersection(self.names())):
            raise PluginError(
                f"plugins {taken} are in the catalogue twice; give one of each pair another name"
            )
        return _RegistryCatalogue(self.inner.extended(added), self.registry)


def _target(factory: Factory) -> str:
    made_by = plugin_class_of(factory) or factory
    return f"{made_by.__module__}:{getattr(made_by, '__qualname__', type(made_by).__qualname__)}"


def _origin(entry: EntryPoint) -> Origin:
    return Origin(entry.name, package_of(entry), entry.value)
