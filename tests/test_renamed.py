"""Old names keep working and say what to write in their place."""

from __future__ import annotations

import importlib

import pytest

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
