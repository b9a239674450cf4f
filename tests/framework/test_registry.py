from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import Any

import pytest
from attrs import define, frozen

from schedframe.config import CatalogueEntry, PluginCatalogue
from schedframe.errors import PluginError
from schedframe.framework import Registry, hookimpl
from schedframe.framework import registry as module
from schedframe.framework.registry import PLUGIN_GROUP

from .fakes import plugin, plugin_class


@frozen
class Args:
    limit: int = 0


@define(eq=False)
class Entered:
    """Reached through an entry point."""

    args: Args

    @hookimpl
    def score(self) -> int:
        return self.args.limit


@define(eq=False)
class Refused:
    """Reached through an entry point, and no plugin."""


HERE = "tests.framework.test_registry"


@pytest.fixture
def entry_points(monkeypatch: pytest.MonkeyPatch) -> list[EntryPoint]:
    """The entry points of all installed packages."""
    found: list[EntryPoint] = []

    monkeypatch.setattr(module, "entry_points_of", lambda group: found)
    monkeypatch.setattr(
        module, "installed_catalogue", lambda: PluginCatalogue([CatalogueEntry("InTree", ("filter",))])
    )
    return found


def offer(name: str, target: str) -> EntryPoint:
    return EntryPoint(name, target, PLUGIN_GROUP)


def test_installed_plugins_are_loaded_when_they_are_used(entry_points: list[EntryPoint]) -> None:
    entry_points += [offer("Entered", f"{HERE}:Entered"), offer("Broken", "no.such.module:Plugin")]
    registry = Registry.installed()
    assert list(registry) == ["Broken", "Entered"]
    assert "Broken" in registry
    assert registry.factory("Entered") is Entered
    assert registry.factory("Entered") is Entered
    assert registry.points("Entered") == ("score",)
    assert registry.args_class("Entered") is Args
    with pytest.raises(
        PluginError, match=r"plugin Broken cannot be loaded from no\.such\.module:Plugin"
    ) as caught:
        registry.factory("Broken")
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def test_a_class_behind_an_entry_point_is_checked(entry_points: list[EntryPoint]) -> None:
    entry_points.append(offer("Refused", f"{HERE}:Refused"))
    with pytest.raises(PluginError, match="Refused implements no extension point"):
        Registry.installed().factory("Refused")


def test_two_packages_that_claim_one_name(entry_points: list[EntryPoint]) -> None:
    entry_points += [offer("Twice", "a:Plugin"), offer("Twice", "b:Plugin")]
    with pytest.raises(
        PluginError, match="plugin Twice is offered by a:Plugin and by b:Plugin; uninstall one"
    ):
        Registry.installed().factory("Twice")


def test_one_package_found_twice_on_the_path(entry_points: list[EntryPoint]) -> None:
    entry_points += [offer("Once", "a:Plugin"), offer("Once", "a:Plugin")]
    assert list(Registry.installed()) == ["Once"]


def test_registering_a_class_and_a_function() -> None:
    registry = Registry(PluginCatalogue())
    registry.register("Class", Entered)
    registry.register("Function", lambda args, handle: plugin(filter=lambda self: None))
    assert registry.points("Class") == ("score",)
    assert registry.points("Function") == ()
    assert registry.args_class("Function") is None
    assert list(registry) == ["Class", "Function"]


def test_refusals() -> None:
    registry = Registry(PluginCatalogue())
    registry.register("Taken", Entered)
    with pytest.raises(PluginError, match="plugin Taken is registered already; choose another name"):
        registry.register("Taken", Entered)
    with pytest.raises(PluginError, match="a plugin needs a name; register it under the name that profiles"):
        registry.register("", Entered)
    with pytest.raises(PluginError, match=r"Fake\.filters is no extension point; did you mean filter\?"):
        registry.register("Odd", plugin_class(filters=lambda self: None))
    with pytest.raises(PluginError, match="is not callable"):
        registry.register("Odd", plugin(filter=lambda self: None))
    with pytest.raises(PluginError, match="plugin Unknown is not installed; installed are Taken"):
        registry.factory("Unknown")
    assert list(registry) == ["Taken"]


def test_a_name_of_an_installed_plugin_is_taken(entry_points: list[EntryPoint]) -> None:
    entry_points.append(offer("Entered", f"{HERE}:Entered"))
    with pytest.raises(PluginError, match="plugin Entered is registered already"):
        Registry.installed().register("Entered", Entered)


def test_where_plugins_come_from(entry_points: list[EntryPoint]) -> None:
    def make(args: Any, handle: Any) -> Any: ...

    class Maker:
        def __call__(self, args: Any, handle: Any) -> Any: ...

    entry_points.append(offer("Entered", f"{HERE}:Entered"))
    registry = Registry.installed()
    registry.register("Made", make)
    registry.register("Called", Maker())
    registry.factory("Entered")
    assert [(origin.name, origin.source, origin.target) for origin in registry.origins()] == [
        ("Called", "registered", f"{HERE}:test_where_plugins_come_from.<locals>.Maker"),
        ("Entered", "unknown package", f"{HERE}:Entered"),
        ("Made", "registered", f"{HERE}:test_where_plugins_come_from.<locals>.make"),
    ]


def test_the_catalogue_with_everything_that_was_registered(entry_points: list[EntryPoint]) -> None:
    registry = Registry.installed()
    registry.register("InTree", plugin_class(score=lambda self: 1))
    registry.register("Class", Entered)
    registry.register("Function", lambda args, handle: None)
    catalogue = registry.full_catalogue()
    assert set(catalogue.names()) == {"InTree", "Class", "Function"}
    entry = catalogue.get("Class")
    assert entry is not None
    assert (entry.points, entry.args_class) == (("score",), Args)
    in_tree = catalogue.get("InTree")
    assert in_tree is not None
    assert in_tree.points == ("filter",)
    made = catalogue.get("Function")
    assert made is not None
    assert "filter" in made.points
    assert not {"queueSort", "bind"} & set(made.points)
