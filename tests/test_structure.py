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


def test_docstrings_begin_with_a_noun_or_a_verb() -> None:
    clauses = structure.clauses()
    assert not clauses, "\n".join(clauses)


def test_numbers_are_few_and_explained() -> None:
    assert not structure.unexplained_numbers()
    assert len(structure.tuning_constants()) <= MAX_TUNING_CONSTANTS


def test_files_and_functions_are_short() -> None:
    assert not structure.long_files()
    assert not structure.long_functions()
    assert not structure.many_parameters()
