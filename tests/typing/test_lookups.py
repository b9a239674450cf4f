"""Lookups by kind have the class of the kind."""

from __future__ import annotations

import builtins
import typing
from pathlib import Path
from typing import get_args, get_overloads, get_type_hints

from schedframe import api
from schedframe.api import KINDS, ObjectLookup

from .checker import code_of, errors_in, expected_errors

SOURCE = """
from schedframe import ClusterPort, InMemoryCluster, Node, ObjectStore, Pod
from schedframe.api import PersistentVolumeClaim

cluster = InMemoryCluster()
pod: Pod | None = cluster.get("Pod", "default/a")
pods: list[Pod] = cluster.list("Pod")
wrong: Node | None = cluster.get("Pod", "default/a")  # assignment
also: list[Node] = cluster.list("Pod")  # assignment
cluster.get("Pod", "default/a").name  # union-attr


def look(port: ClusterPort, objects: ObjectStore, own: str) -> None:
    node: Node | None = port.get("Node", "n")
    claim: PersistentVolumeClaim | None = objects.get("PersistentVolumeClaim", "default/c")
    other: Node | None = objects.get("PersistentVolumeClaim", "default/c")  # assignment
    unknown: int = objects.list(own)[0]
"""


def test_mypy_knows_the_class_of_each_kind(tmp_path: Path) -> None:
    expected = expected_errors(SOURCE)
    found = errors_in({"look.py": SOURCE}, tmp_path)
    assert [(line, code_of(message)) for _, line, message in found] == expected


def test_every_kind_has_its_overload() -> None:
    for method in (ObjectLookup.get, ObjectLookup.list):
        kinds = {}
        for overload in get_overloads(method):
            hints = get_type_hints(overload, {"builtins": builtins}, vars(typing) | vars(api))
            if get_args(hints["kind"]):
                kinds[get_args(hints["kind"])[0]] = get_args(hints["return"])[0]
        assert kinds == KINDS
