"""Wrong types anywhere in a manifest are an :class:`InputError`, never an exception of another type."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from schedframe.api import ClusterObject, UnknownKindError, from_manifest, load_manifests, to_manifest
from schedframe.errors import InputError
from tests.api.strategies import objects
from tests.profiles import many

Manifest = dict[str, Any]
Slot = tuple[Any, Any]
"""A container and the key or index of one of its members."""

MUTATIONS = 3

wrong_values = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, -1, 2**31, 2**63, 10**30, 0.5, float("inf"), float("nan")]),
    st.sampled_from(["", " ", "-1", "1e9999", "100Pi", "\x00", "\ud800", "v1", "List"]),
    st.builds(list),
    st.builds(dict),
    st.builds(lambda: [None]),
    st.builds(lambda: [[]]),
    st.builds(lambda: [{}]),
    st.builds(lambda: {"": None}),
    st.builds(lambda: {"name": []}),
    st.builds(lambda: {"name": {"name": {}}}),
)
wrong_keys = st.sampled_from([None, 5, True, 0.5, ("a", "b"), "", "name", "items", "\x00"])


def slots(value: Any) -> Iterator[Slot]:
    """Return every member of *value* and of the containers in it."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from slots(value[key])


def mutate(manifest: Manifest, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
    """Replace one member at any depth by a value of another type, or put it under another key."""
    container, key = draw(st.sampled_from(list(slots(manifest))))
    if isinstance(container, dict) and draw(st.integers(0, 4)) == 0:
        container[draw(wrong_keys)] = container.pop(key)
    else:
        container[key] = draw(wrong_values)


@st.composite
def mutated(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Manifest:
    manifest = copy.deepcopy(to_manifest(draw(objects)))
    for _ in range(draw(st.integers(1, MUTATIONS))):
        if manifest:
            mutate(manifest, draw)
    return manifest


@many
@given(mutated())
@example({"apiVersion": [], "kind": "Pod"})
@example({"apiVersion": {}, "kind": "Pod"})
@example({"apiVersion": "v1", "kind": []})
@example({"apiVersion": "v1", "kind": {"name": []}})
def test_a_mutated_manifest_is_read_or_refused_as_input(manifest: Manifest) -> None:
    with suppress(InputError):
        made = from_manifest(manifest)
        assert isinstance(made, ClusterObject)
        assert to_manifest(made)


@given(st.lists(mutated(), max_size=3), wrong_values, wrong_values)
def test_a_mutated_list_is_read_or_refused_as_input(items: list[Manifest], kind: Any, version: Any) -> None:
    text = json.dumps(
        {"apiVersion": version, "kind": kind or "List", "items": items}, skipkeys=True, ensure_ascii=True
    )
    with suppress(InputError):
        for location, made in load_manifests(text, on_unknown="skip"):
            assert location
            assert isinstance(made, ClusterObject)


@pytest.mark.parametrize("wrong", [5, 1.5, True, [], ["v1"], {}, {"v1": None}])
@pytest.mark.parametrize("key", ["apiVersion", "kind"])
def test_a_wrong_type_of_version_or_kind_names_the_key(key: str, wrong: Any) -> None:
    manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, key: wrong}
    for default in ("", "Pod"):
        with pytest.raises(InputError) as caught:
            from_manifest(manifest, kind=default)
        assert not isinstance(caught.value, UnknownKindError)
        assert caught.value.path == key
        assert caught.value.fix
