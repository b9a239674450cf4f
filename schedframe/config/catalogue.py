"""Descriptions of plugins, as data: config never imports the plugins themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, Final, Literal, Protocol

from attrs import field

from .._base.entry_points import entry_points_of
from .._base.value import record
from ..errors import PluginError
from .errors import FieldError
from .feature_gates import NO_GATES, FeatureGates

POINTS: Final = (
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
    "placementGenerate",
    "placementScore",
)
"""Extension points by their names in documents, in the order of calls for a pod, then for a pod group."""

WEIGHTED_POINTS: Final = frozenset({"score", "placementScore"})
ENTRY_POINT_GROUP: Final = "schedframe.catalogues"

ArgsCheck = Callable[[Any, str], Iterable[FieldError]]
"""Takes the args and their path in the document, returns all errors in them."""


@record(frozen=True)
class RegisteredEvent:
    """A change in the cluster after which a plugin may let a pod pass that it rejected before.

    ``resource`` and ``actions`` are spelled as in event labels (``Node``, ``UpdateNodeTaint``); several
    actions are one registration for any of them. ``hint`` is False where the plugin has no say and the pod is
    always tried again.
    """

    resource: str
    actions: tuple[str, ...]
    hint: bool = True


def _in_order(points: Iterable[str]) -> tuple[str, ...]:
    named = set(points)
    if unknown := sorted(named.difference(POINTS)):
        raise PluginError(f"there are no extension points {unknown}; use some of {', '.join(POINTS)}")
    return tuple(point for point in POINTS if point in named)


@record(frozen=True)
class GatedArgs:
    """Changes of a feature gate to the arguments of a plugin.

    :param with_defaults: gives the args with what is filled in when the gate is on.
    :param check_enabled: finds what types cannot express when the gate is on.
    :param check_disabled: finds what must not be set when it is off.
    """

    gate: str
    with_defaults: Callable[[Any], Any]
    check_enabled: ArgsCheck
    check_disabled: ArgsCheck


@record(frozen=True)
class CatalogueEntry:
    """One plugin. PluginError for extension points that do not exist.

    :param points: the extension points it implements.
    :param default_order: its place among the plugins enabled by default; None if it is not one of them.
    :param weight: its default weight; None means 1.
    :param args_class: attrs class of its arguments, whose defaults are the plugin's; None: it takes any, as
        they are.
    :param args_kind: ``kind`` of the arguments in the document. Such arguments are part of the v1 API and
        decoded with it; those of a plugin without a kind are structured when the configuration is validated.
    :param check_args: finds what types cannot express.
    :param args_checked: ``validate``: whenever they are configured; ``build``: only if the plugin is enabled.
    :param events: the cluster events it registers.
    :param feature_gate: the gate without which it is not enabled by default; empty: none.
    :param gated_args: how a feature gate changes its arguments.
    :param with_ignored_resources: gives the args with these resources ignored. Set for the plugin that has to
        leave alone what extenders manage (``ignoredByScheduler``).
    """

    name: str
    points: tuple[str, ...] = field(converter=_in_order)
    default_order: int | None = None
    weight: int | None = None
    args_class: type[Any] | None = None
    args_kind: str = ""
    check_args: ArgsCheck | None = None
    args_checked: Literal["validate", "build"] = "validate"
    events: tuple[RegisteredEvent, ...] = ()
    feature_gate: str = ""
    gated_args: GatedArgs | None = None
    with_ignored_resources: Callable[[Any, tuple[str, ...]], Any] | None = None


@record(frozen=True)
class RemovedPlugin:
    """A former plugin: refused with the name of its successor.

    ``refused_at`` is the stage at which an extension point (or plugin config) that names it is refused.
    """

    name: str
    successor: str
    refused_at: Literal["validate", "build"] = "build"


class Catalogue(Protocol):
    """The look-ups of plugins by config."""

    def get(self, name: str) -> CatalogueEntry | None:
        """Return the plugin of that name, None if there is none."""

    def removed(self, name: str) -> RemovedPlugin | None:
        """Return the former plugin of that name, None if there was none."""

    def why_not(self, name: str) -> str | None:
        """Return why there is no plugin of that name, None if no reason is known."""

    def defaults(self, gates: FeatureGates = NO_GATES) -> tuple[CatalogueEntry, ...]:
        """Return the plugins enabled by default under these feature gates, in order."""

    def names(self) -> tuple[str, ...]:
        """Return all names, for suggestions."""

    def extended(self, entries: Iterable[CatalogueEntry]) -> Catalogue:
        """Return this catalogue with *entries* added; PluginError if a name is taken."""


@record(eq=False, init=False)
class PluginCatalogue:
    """A :class:`Catalogue` made of entries. PluginError for two entries of one name."""

    entries: tuple[CatalogueEntry, ...]
    _by_name: dict[str, CatalogueEntry]
    _removed: dict[str, RemovedPlugin]
    _defaults: tuple[CatalogueEntry, ...]

    def __init__(self, entries: Iterable[CatalogueEntry] = (), removed: Iterable[RemovedPlugin] = ()) -> None:
        self.entries = tuple(entries)
        self._by_name = {entry.name: entry for entry in self.entries}
        if len(self._by_name) < len(self.entries):
            names = [entry.name for entry in self.entries]
            twice = sorted({name for name in names if names.count(name) > 1})
            raise PluginError(
                f"plugins {twice} are in the catalogue twice; give one of each pair another name"
            )
        self._removed = {plugin.name: plugin for plugin in removed}
        by_default = [(e.default_order, e.name) for e in self.entries if e.default_order is not None]
        self._defaults = tuple(self._by_name[name] for _, name in sorted(by_default))

    def get(self, name: str) -> CatalogueEntry | None:
        """Return the plugin of that name, None if there is none."""
        return self._by_name.get(name)

    def removed(self, name: str) -> RemovedPlugin | None:
        """Return the former plugin of that name, None if there was none or if it exists again."""
        return None if name in self._by_name else self._removed.get(name)

    def why_not(self, name: str) -> str | None:
        """Return how to enable import paths, None for other names."""
        if ":" in name:
            return (
                "import paths are followed by a registry of plugins, where allowed; give load_config the "
                "full_catalogue() of one: Registry.installed(allow_imports=[...])"
            )
        return None

    def defaults(self, gates: FeatureGates = NO_GATES) -> tuple[CatalogueEntry, ...]:
        """Return the plugins enabled by default under these feature gates, in order."""
        return tuple(
            [each for each in self._defaults if not each.feature_gate or gates.enabled(each.feature_gate)]
        )

    def names(self) -> tuple[str, ...]:
        """Return all names, in the order of the entries."""
        return tuple(self._by_name)

    def extended(self, entries: Iterable[CatalogueEntry]) -> PluginCatalogue:
        """Return this catalogue with *entries* added; PluginError if a name is taken."""
        added = tuple(entries)
        return PluginCatalogue((*self.entries, *added), self._removed.values()) if added else self


@cache
def installed_catalogue() -> PluginCatalogue:
    """Return one catalogue of all entry points ``schedframe.catalogues`` of installed distributions.

    Cached for the process.
    """
    catalogues: list[PluginCatalogue] = [
        point.load()
        for point in sorted(entry_points_of(ENTRY_POINT_GROUP), key=lambda entry: (entry.name, entry.value))
    ]
    return PluginCatalogue(
        (entry for catalogue in catalogues for entry in catalogue.entries),
        (plugin for catalogue in catalogues for plugin in catalogue._removed.values()),
    )
