"""Old names keep working and say what to write in their place."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from schedframe.queue import PriorityQueue
from schedframe.simulate import Evaluation
from schedframe.state import DerivedArrays, NodeTable, PodGroup, PodGroups
from schedframe.testing import World
from schedframe.why import Change, ChangeKind

from .cycle.build import make_pod

RENAMED = [
    ("schedframe.embed", "Apart", "AntiAffinity"),
    ("schedframe.embed", "Needs", "Requirements"),
    ("schedframe.embed", "Together", "Affinity"),
    ("schedframe.embed", "Why", "PlacementFailure"),
    ("schedframe.state", "DistinctColumn", "DictionaryColumn"),
    ("schedframe.state", "TermKind", "TermClass"),
    ("schedframe.state", "standing_in", "substituted_row"),
]


@pytest.mark.parametrize(("package", "old", "new"), RENAMED)
def test_an_old_name_is_the_new_one_with_a_warning(package: str, old: str, new: str) -> None:
    module = importlib.import_module(package)
    with pytest.warns(DeprecationWarning, match=rf"{package}\.{old} is now {package}\.{new}") as caught:
        value = getattr(module, old)
    assert value is getattr(module, new)
    assert caught[0].filename == __file__
    assert old not in dir(module)


def test_any_other_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'DistinctColum'"):
        importlib.import_module("schedframe.state").DistinctColum  # noqa: B018  # reading it is the test


def aliases(obj: Any, **names: str) -> list[Any]:
    """Cases: object, old attribute, new attribute."""
    return [pytest.param(obj, old, new, id=f"{type(obj).__name__}.{old}") for old, new in names.items()]


GROUP = PodGroup("default", {}, None, False, make_pod())
ATTRIBUTES = [
    *aliases(World((), choices=(1, 2)), picks="choices", pick="choice"),
    *aliases(
        NodeTable(),
        amounts_at="row_state",
        exchange_log="replaced_log",
        following="derived_arrays",
        following_if_busy="derived_arrays_if_busy",
        latest="last_assume",
        quantities="state_columns",
    ),
    *aliases(GROUP, kind="term_class"),
    *aliases(
        PodGroups.of(NodeTable()),
        kinds="term_classes",
        kinds_since="term_classes_since",
        kinds_version="term_classes_version",
    ),
    *aliases(Evaluation(make_pod(), "default-scheduler"), told="plugin_explanations"),
    *aliases(Change(ChangeKind.WAIT_FOR_DELETION, "wait", steps=2.0), edits="steps"),
]


@pytest.mark.parametrize(("obj", "old", "new"), ATTRIBUTES)
def test_an_old_attribute_is_the_new_one_with_a_warning(obj: Any, old: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=rf"\.{old} is now {new}") as caught:
        value = getattr(obj, old)
    assert value == getattr(obj, new)
    assert caught[0].filename == __file__


def test_old_keywords_are_taken_for_the_new_ones() -> None:
    with pytest.warns(DeprecationWarning, match="picks=. is now choices="):
        assert World((), picks=(3,)).choices == (3,)  # type: ignore[call-arg]  # the old keyword is the test
    with pytest.warns(DeprecationWarning, match="edits=. is now steps="):
        change = Change(ChangeKind.WAIT_FOR_DELETION, "wait", edits=2.0)  # type: ignore[call-arg]
    assert change.steps == 2.0
    with pytest.warns(
        DeprecationWarning, match="PriorityQueue.initial_backoff.: pass QueueOptions"
    ) as caught:
        PriorityQueue(initial_backoff=3.0)
    assert caught[0].filename == __file__


def test_derived_arrays_with_the_old_methods_work() -> None:
    with pytest.warns(DeprecationWarning, match=r"Old\.[a-z_]+ is now [a-z_]+") as caught:

        class Old(DerivedArrays):
            done = 0

            def lay_out(self) -> None: ...

            def fill(self, index: Any) -> None:
                self.done += 1

            def fill_row(self, row: int) -> None: ...

    assert [each.filename for each in caught] == [__file__] * 3
    arrays = Old(NodeTable())  # type: ignore[abstract]
    arrays.sync()
    assert arrays.done == 1
