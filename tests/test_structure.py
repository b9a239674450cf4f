"""The limits of the style guide and the layers of the architecture, measured on the source tree."""

from __future__ import annotations

from . import structure
from .structure import MAX_RETIRED_WORDS, MAX_TUNING_CONSTANTS


def test_imports_have_no_circles() -> None:
    circles = structure.circles()
    assert not circles, circles


def test_retired_words_are_rare() -> None:
    words = structure.retired_words()
    assert len(words) <= MAX_RETIRED_WORDS, "\n".join(words)


def test_tuning_constants_stand_in_policy_files() -> None:
    constants = structure.tuning_constants()
    elsewhere = [name for name in constants if "/policy.py:" not in name]
    assert not elsewhere, elsewhere
    assert len(constants) <= MAX_TUNING_CONSTANTS


def test_files_and_functions_are_short() -> None:
    assert not structure.long_files()
    assert not structure.long_functions()
    assert not structure.many_parameters()


def test_exemptions_name_what_exists() -> None:
    """An exemption that has lost its object is removed."""
    functions = {name for name, _ in structure.functions()}
    assert structure.LONG_FUNCTIONS.keys() | structure.MANY_PARAMETERS.keys() <= functions
    assert structure.LONG_FILES.keys() <= {one.path for one in structure.sources(structure.TREE)}
    assert structure.FORMULA_CONSTANTS.keys() <= {name for name, _ in structure.numbers()}
