"""A misspelt kind is an error wherever a kind is named; an empty answer would hide it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import pytest
from attrs import frozen

from schedframe import InMemoryCluster
from schedframe.api import KINDS, NamespacedObject, ObjectMeta
from schedframe.errors import InputError


@frozen
class Licence(NamespacedObject):
    """A kind of the program's own."""

    KIND: ClassVar[str] = "Licence"
    API_VERSION: ClassVar[str] = "example.com/v1"
    metadata: ObjectMeta


CALLS: dict[str, Callable[[InMemoryCluster, str], object]] = {
    "get": lambda cluster, kind: cluster.get(kind, "x"),
    "list": lambda cluster, kind: cluster.list(kind),
    "watch": lambda cluster, kind: cluster.watch(lambda event: None, [kind]),
    "delete": lambda cluster, kind: cluster.delete(kind, "x"),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("kind", "meant"),
    [("pods", "Pod"), ("Nod", "Node"), ("deploymint", "Deployment"), ("licences", "Licence")],
)
def test_an_unknown_kind_is_an_error_that_names_the_nearest(call: str, kind: str, meant: str) -> None:
    with pytest.raises(InputError, match=rf'kind: there is no kind "{kind}"; did you mean {meant}\?'):
        CALLS[call](InMemoryCluster(), kind)


def test_known_kinds_without_objects_are_empty() -> None:
    cluster = InMemoryCluster()
    for kind in (*KINDS, "Deployment", "Licence"):
        assert cluster.list(kind) == []
        assert cluster.get(kind, "x") is None


def test_a_kind_like_no_other() -> None:
    with pytest.raises(InputError, match="define a class with that KIND first"):
        InMemoryCluster().list("Qqqqqqqqqqqq")
