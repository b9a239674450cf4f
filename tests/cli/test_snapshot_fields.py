"""A snapshot has the texts of fields that scheduling reads; with hidden names, none at all."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

from schedframe.api import KINDS, from_manifest
from schedframe.api.codec import _fields
from schedframe.api.validation.published import published_name, published_types
from schedframe.cli.offline.anonymize import Anonymizer
from schedframe.cli.offline.snapshot import snapshot_of
from schedframe.cli.offline.snapshot_fields import KEPT, READ_KINDS, Sort, parts

from .taken import Manifest, snapshots

# ---- what remains ------------------------------------------------------------------------------------------

FREE = frozenset({"parameters", "rawData", "data"})
"""Published fields that take any object."""
CHECKED = {"operator": "In"}
"""Texts that the decoder checks."""
LEFT_OUT = frozenset(
    {("PodGroupSchedulingPolicy", "basic"), ("PodGroupResourceClaim", "resourceClaimTemplateName")}
)
"""Of two fields of which exactly one may be set."""


class Canaries:
    """Objects of each kind with a text of its own in each field that Kubernetes has, also in keys."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self.fields: dict[str, tuple[str, ...]] = {}
        """Text → path of the field."""

    def of(self, kind: str) -> Manifest:
        cls = KINDS[kind]
        made: Manifest = self._made(published_name(cls), (kind,))
        return {**made, "kind": kind, "apiVersion": cls.API_VERSION}

    def _text(self, path: tuple[str, ...]) -> str:
        text = f"canary{next(self._numbers):05d}"
        self.fields[text] = path
        return text

    def _made(self, code: str, path: tuple[str, ...]) -> Any:
        if code.startswith("["):
            return [self._made(code[1:], path)]
        if code.startswith("{"):
            return {self._text(path): self._made(code[1:], path)}
        if code == "a" and path[-1] in FREE:
            return {"canary": self._text(path)}
        simple = {"n": 1, "b": True, "t": "2026-01-31T12:00:00Z", "a": "1"}
        if code in simple:
            return simple[code]
        if code == "s":
            return CHECKED.get(path[-1]) or self._text(path)
        name = code.rpartition(".")[2]
        return {
            key: self._made(each, (*path, key))
            for key, each in published_types()[code].items()
            if (name, key) not in LEFT_OUT
        }


def canaries() -> tuple[Canaries, list[Any]]:
    made = Canaries()
    objects = []
    for kind in KINDS:
        manifest = made.of(kind)
        if kind in ("PodGroup", "Workload"):
            manifest["spec"].pop("disruptionMode", None)
        objects.append(from_manifest(manifest, strict=False))
    return made, objects


def is_kept(path: tuple[str, ...]) -> bool:
    """Whether the table has the field at *path*."""
    cls = KINDS[path[0]]
    for name in path[1:]:
        if name not in KEPT.get(cls, {}):
            return False
        if KEPT[cls][name] not in (Sort.PARTS, Sort.POD_CONDITIONS):
            return True
        cls = parts(cls)[name]
    return True


def test_a_snapshot_has_texts_of_fields_that_scheduling_reads_only() -> None:
    made, objects = canaries()
    plain, _, _ = snapshots(objects)
    text = json.dumps(plain)
    remaining = [path for canary, path in made.fields.items() if canary in text]
    assert len(made.fields) > 1000
    assert len(remaining) > 100
    assert [path for path in remaining if not is_kept(path)] == []
    assert not any(path[-1] in ("parameters", "volumeAttributes", "annotations") for path in remaining)


def test_no_text_remains_where_names_are_hidden() -> None:
    made, objects = canaries()
    _, hidden, _ = snapshots(objects)
    text = json.dumps(hidden)
    assert [path for canary, path in made.fields.items() if canary in text] == []
    assert "canary" not in text


def test_annotations_are_kept_by_name() -> None:
    key = "example.com/rack"
    node = {
        "kind": "Node",
        "metadata": {"name": "a", "annotations": {key: "7", "vault.kubernetes.io/token": "t"}},
    }
    obj = from_manifest(node)
    declaring = type("Declaring", (), {"reads_annotations": (key,)})
    for plugins, keep in (([declaring], ()), ([], (key,))):
        (manifest,) = snapshot_of([obj], plugins, keep)
        assert manifest["metadata"]["annotations"] == {key: "7"}
    (manifest,) = snapshot_of([obj], [], [key], Anonymizer())
    assert list(manifest["metadata"]["annotations"]) == [key]
    assert manifest["metadata"]["annotations"][key] != "7"


def test_the_table_has_fields_of_the_classes_only() -> None:
    for cls, sorts in KEPT.items():
        assert set(sorts) <= {each.key for each in _fields(cls)}, cls
        for name, sort in sorts.items():
            assert sort is not Sort.PARTS or parts(cls)[name] in KEPT, (cls, name)
    assert set(KINDS) - set(READ_KINDS) == {"Workload"}
