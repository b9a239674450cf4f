from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe.framework import Normalization, normalize_by_max

scores = st.lists(st.integers(-1000, 10**12), max_size=8)


def go_style(raw: list[int], reverse: bool) -> list[int]:
    """The rule, score by score; Go rounds towards zero."""
    highest = max([0, *raw])
    if highest == 0:
        return [100] * len(raw) if reverse else raw
    scaled = [abs(100 * score) // highest * (1 if score >= 0 else -1) for score in raw]
    return [100 - score for score in scaled] if reverse else scaled


@given(scores, st.booleans())
def test_against_the_rule(raw: list[int], reverse: bool) -> None:
    array = np.array(raw, np.int64)
    assert normalize_by_max(array, reverse=reverse) is array
    assert array.tolist() == go_style(raw, reverse)


@given(scores, st.sampled_from(Normalization))
def test_declared_normalization_is_the_same(raw: list[int], how: Normalization) -> None:
    reverse = how is Normalization.BY_MAX_REVERSED
    assert how.apply(np.array(raw, np.int64)).tolist() == go_style(raw, reverse)


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=8), st.sampled_from(Normalization))
def test_a_copy_scaled_by_a_known_maximum(raw: list[int], how: Normalization) -> None:
    array = np.array(raw, np.int64)
    assert how.scaled(array, max(raw)).tolist() == go_style(raw, how is Normalization.BY_MAX_REVERSED)
    assert array.tolist() == raw


@pytest.mark.parametrize(
    ("raw", "plain", "reverse"),
    [([0, 0], [0, 0], [100, 100]), ([1, 2, 3], [33, 66, 100], [67, 34, 0]), ([5], [100], [0])],
)
def test_examples(raw: list[int], plain: list[int], reverse: list[int]) -> None:
    assert normalize_by_max(np.array(raw)).tolist() == plain
    assert normalize_by_max(np.array(raw), reverse=True).tolist() == reverse
