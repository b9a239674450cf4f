"""The order, nesting and files of manifests change nothing about what is read."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from schedframe.api import to_manifest
from schedframe.cli.offline.sources import read_manifests

from .manifests import node, pod


def _workload(kind: str, version: str, name: str, **spec: Any) -> dict[str, Any]:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main"}]}}
    metadata = {"generateName": name} if name.endswith("-") else {"name": name}
    manifest: dict[str, Any] = {"apiVersion": version, "kind": kind, "metadata": metadata}
    if kind == "Job":
        template["spec"]["restartPolicy"] = "Never"
        del template["metadata"]["labels"]
        return {**manifest, "spec": {"template": template, **spec}}
    return {**manifest, "spec": {"selector": {"matchLabels": labels}, "template": template, **spec}}


MANIFESTS = [
    node("a"),
    node("b"),
    pod("web"),
    pod("old", on="a"),
    _workload("Deployment", "apps/v1", "d", replicas=2),
    _workload("DaemonSet", "apps/v1", "s"),
    _workload("Job", "batch/v1", "run-"),
    _workload("Job", "batch/v1", "run-"),
    _workload("Job", "batch/v1", "run-", parallelism=2),
    {"apiVersion": "monitoring.coreos.com/v1", "kind": "ServiceMonitor", "metadata": {"name": "m"}},
    {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "m"}},
]


@st.composite
def files(draw: st.DrawFn) -> list[str]:
    """Return texts of files with all manifests: documents of objects, lists and lists in lists."""
    trees: list[Any] = draw(st.permutations(MANIFESTS))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(trees)))
        end = draw(st.integers(start, len(trees)))
        inner = trees[start:end]
        kinds = {each["kind"] for each in inner}
        versions = {each["apiVersion"] for each in inner}
        typed = len(kinds) == len(versions) == 1 and "List" not in kinds
        trees[start:end] = [_list_of(inner, typed=typed)]
    texts: list[list[str]] = [[] for _ in range(draw(st.integers(1, 3)))]
    for tree in trees:
        draw(st.sampled_from(texts)).append(json.dumps(tree))
    return ["\n---\n".join(each) for each in texts if each]


def _list_of(items: list[Any], *, typed: bool) -> dict[str, Any]:
    if not typed:
        return {"apiVersion": "v1", "kind": "List", "items": items}
    bare = [
        {key: value for key, value in item.items() if key not in ("kind", "apiVersion")} for item in items
    ]
    return {"apiVersion": items[0]["apiVersion"], "kind": f"{items[0]['kind']}List", "items": bare}


def read(texts: list[str]) -> tuple[Counter[str], Counter[str]]:
    """Return the objects that are made of the files, and the kinds that are skipped."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{number}.yaml" for number in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text, encoding="utf-8")
        manifests = read_manifests([str(path) for path in paths], lambda: None)
    objects = Counter(json.dumps(to_manifest(obj), sort_keys=True) for obj in manifests.objects)
    return objects, manifests.skipped


EXPECTED = read([json.dumps(each) for each in MANIFESTS])


@given(files())
def test_the_same_objects_are_read(texts: list[str]) -> None:
    assert read(texts) == EXPECTED


def test_all_of_them_are_read() -> None:
    objects, skipped = EXPECTED
    kinds = Counter(json.loads(each)["kind"] for each in objects.elements())
    assert kinds["Pod"] == 2 + 2 + 2 + 1 + 1 + 2
    assert skipped == {"monitoring.coreos.com/v1/ServiceMonitor": 1, "Secret": 1}
