from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe.framework.adapter import adapt

ARGUMENTS = ("state", "pod", "rows", "node_name")


@given(st.permutations(ARGUMENTS), st.integers(0, 4), st.integers(0, 4))
def test_any_subset_in_any_order(order: list[str], count: int, defaults: int) -> None:
    named = tuple(order[:count])
    text = ", ".join(name if i < count - defaults else f"{name}=None" for i, name in enumerate(named))
    function: Any = eval(f"lambda {text}: ({''.join(name + ', ' for name in named)})")
    adapted = adapt(function, named, ARGUMENTS)
    values = dict(zip(ARGUMENTS, "abcd", strict=True))
    assert adapted(*values.values()) == tuple(values[name] for name in named)


def test_a_function_that_names_all_arguments_stays_itself() -> None:
    def full(state: Any, pod: Any) -> None: ...

    assert adapt(full, ("state", "pod"), ("state", "pod")) is full


@pytest.mark.parametrize(
    ("named", "specified"), [(("other",), ("pod",)), (("pod",), ("pod", "not an identifier"))]
)
def test_names_that_cannot_be(named: tuple[str, ...], specified: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="are not among"):
        adapt(print, named, specified)
