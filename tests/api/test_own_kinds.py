"""Kinds of packages: their classes, their manifests, and classes that are refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint
from typing import Any, ClassVar

import pytest
from attrs import field, frozen

from schedframe import (
    InMemoryCluster,
    InputError,
    ObjectMeta,
    PluginError,
    Quantity,
    from_manifest,
    load_manifests,
    to_manifest,
)
from schedframe.api import (
    ClusterObject,
    NamespacedObject,
    UnknownKindError,
    check_kind,
    installed_kinds,
    kinds,
)


@frozen
class CrateSpec:
    room: Mapping[str, Quantity] = field(factory=dict)
    max_items: int = 0


@frozen
class Crate(NamespacedObject):
    KIND: ClassVar[str] = "Crate"
    API_VERSION: ClassVar[str] = "store.example/v1"
    __hash__ = NamespacedObject.__hash__

    metadata: ObjectMeta = field(factory=ObjectMeta)
    spec: CrateSpec = field(factory=CrateSpec)


@frozen
class OtherService(NamespacedObject):
    """A kind with the name of a built-in kind, in another group."""

    KIND: ClassVar[str] = "mesh.example/Service"
    API_VERSION: ClassVar[str] = "mesh.example/v1"
    __hash__ = NamespacedObject.__hash__

    metadata: ObjectMeta = field(factory=ObjectMeta)
    port: int = 0


CRATE = {
    "apiVersion": "store.example/v1",
    "kind": "Crate",
    "metadata": {"name": "a", "namespace": "shop"},
    "spec": {"room": {"cpu": "1500m"}, "maxItems": 3},
}
MESH = {"apiVersion": "mesh.example/v1", "kind": "Service", "metadata": {"name": "a"}, "port": 80}


def test_a_manifest_of_an_own_kind_becomes_a_value_and_back() -> None:
    crate = from_manifest(CRATE, kinds=[Crate])
    assert isinstance(crate, Crate)
    assert (crate.key, crate.spec.max_items) == ("shop/a", 3)
    assert crate.spec.room["cpu"].milli_value() == 1500
    assert to_manifest(crate) == CRATE


def test_kinds_of_one_name_are_distinguished_by_their_group() -> None:
    core = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}}
    assert isinstance(from_manifest(MESH, kinds=[OtherService]), OtherService)
    assert not isinstance(from_manifest(core, kinds=[OtherService]), OtherService)
    assert to_manifest(from_manifest(MESH, kinds=[OtherService])) == MESH


def test_an_unknown_kind_stays_unknown_and_a_wrong_type_has_its_path() -> None:
    with pytest.raises(UnknownKindError):
        from_manifest(CRATE)
    with pytest.raises(InputError, match=r"spec\.maxItems"):
        from_manifest({**CRATE, "spec": {"maxItems": "many"}}, kinds=[Crate])


def test_manifests_are_loaded_with_own_kinds() -> None:
    items = "items: [{metadata: {name: a}}, {metadata: {name: b}}]"
    text = f"apiVersion: store.example/v1\nkind: CrateList\n{items}"
    assert [obj.name for _, obj in load_manifests(text, kinds=[Crate])] == ["a", "b"]


def test_a_cluster_takes_values_of_any_kind_and_manifests_of_its_declared_kinds() -> None:
    cluster = InMemoryCluster([CRATE, MESH], kinds=(Crate, OtherService))
    assert cluster.get("Crate", "shop/a").spec.max_items == 3
    assert cluster.get("mesh.example/Service", "default/a").port == 80
    events = []
    cluster.watch(lambda event: events.append((event.type, event.kind)), ["Crate"])
    cluster.update(Crate(ObjectMeta(name="a", namespace="shop")))
    cluster.delete("Crate", "shop/a")
    assert events == [("ADDED", "Crate"), ("MODIFIED", "Crate"), ("DELETED", "Crate")]


@pytest.fixture
def forget_kinds() -> Iterator[None]:
    """Look installed kinds up again, in this test and after it."""
    for each in (installed_kinds, kinds._installed_kinds):
        each.cache_clear()
    yield
    for each in (installed_kinds, kinds._installed_kinds):
        each.cache_clear()


@pytest.mark.usefixtures("forget_kinds")
def test_kinds_of_installed_packages_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("Crate", f"{__name__}:Crate", "schedframe.kinds")
    monkeypatch.setattr(EntryPoint, "load", lambda self: Crate)
    monkeypatch.setattr(kinds, "entry_points_of", lambda group: [entry])
    assert isinstance(from_manifest(CRATE), Crate)


@pytest.mark.usefixtures("forget_kinds")
@pytest.mark.parametrize("target", ["no_such_package:Barrel", f"{__name__}:NotThere", "builtins:int"])
def test_a_kind_that_cannot_be_loaded_concerns_only_its_manifests(
    monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    entries = [EntryPoint("Barrel", target, "schedframe.kinds")]
    entries.append(EntryPoint("Crate", f"{__name__}:Crate", "schedframe.kinds"))
    monkeypatch.setattr(kinds, "entry_points_of", lambda group: entries)
    assert isinstance(from_manifest(CRATE), Crate)
    with pytest.raises(UnknownKindError):
        from_manifest({**CRATE, "kind": "Box"})
    for _ in range(2):
        with pytest.raises(PluginError, match=f"kind Barrel cannot be loaded from {target}: "):
            from_manifest({**CRATE, "kind": "Barrel"})


def _kind(base: type = ClusterObject, **members: Any) -> Any:
    return frozen(type("Odd", (base,), {"__annotations__": {}, "__module__": __name__, **members}))


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (int, "inherits NamespacedObject"),
        (_kind(API_VERSION="v1"), "has no KIND"),
        (_kind(KIND="Odd"), "has no API_VERSION"),
        (_kind(KIND="a.example/Odd", API_VERSION="b.example/v1"), "of another group"),
        (_kind(KIND="Service", API_VERSION="mesh.example/v1"), "put the group"),
    ],
)
def test_what_is_no_kind_is_refused_with_a_fix(cls: Any, message: str) -> None:
    with pytest.raises(PluginError, match=message):
        check_kind(cls)
