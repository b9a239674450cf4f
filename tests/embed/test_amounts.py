"""Amounts are exact, or refused with the field and a way out."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe import InputError, Quantity
from schedframe.api import is_scalar_resource
from schedframe.embed import Amount, Amounts, resource_name


def of(name: str, amount: Amount, **steps: Amount) -> int:
    """How often the amount counts its step; the core's own units for cpu and memory."""
    (quantity,) = Amounts(steps).quantities({name: amount}, "requests").values()
    return quantity.milli_value() if name == "cpu" else quantity.value()


@pytest.mark.parametrize(
    ("amount", "thousandths"),
    [
        (2, 2000),
        (0.5, 500),
        (0.1, 100),
        ("500m", 500),
        ("1.5Gi", 1536 * 1024 * 1024),
        (Decimal("0.001"), 1),
        (Fraction(1, 8), 125),
        (Quantity.of(3), 3000),
    ],
)
def test_all_forms_of_numbers(amount: Amount, thousandths: int) -> None:
    if amount != "1.5Gi":
        assert of("gpu", amount) == of("cpu", amount) == thousandths
    else:
        assert of("memory", amount) == thousandths
        assert of("gpu", amount) == thousandths * 1000


@pytest.mark.parametrize("amount", [0, 0.0, "0", Decimal(0), Fraction(0)])
def test_nothing_is_left_out(amount: Amount) -> None:
    assert Amounts().quantities({"gpu": amount, "cpu": amount}, "requests") == {}


@pytest.mark.parametrize(
    ("name", "amount", "problem"),
    [
        ("gpu", -1, "-1 is below 0"),
        ("gpu", "-1m", "-1m is below 0"),
        ("gpu", Quantity.of(-1), "-1 is below 0"),
        ("gpu", True, "True is not an amount"),
        ("gpu", None, "None is not an amount"),
        ("gpu", float("nan"), "nan is not an amount"),
        ("gpu", Decimal("Infinity"), "Decimal('Infinity') is not an amount"),
        ("gpu", "two", "'two' is not a quantity"),
        ("gpu", Fraction(1, 3), "1/3 is not a multiple of 0.001"),
        ("gpu", 0.0001, "0.0001 is not a multiple of 0.001"),
        ("memory", 0.5, "0.5 is not a multiple of 1"),
        ("cpu", "1u", "1e-06 is not a multiple of 0.001"),
        ("gpu", 10**30, "more than 92233720368547758 steps of 0.001"),
        ("memory", 10**320, "more than 92233720368547758 steps of 1"),
    ],
)
def test_what_cannot_be_counted_is_refused(name: str, amount: Any, problem: str) -> None:
    with pytest.raises(InputError) as refused:
        Amounts().quantities({name: amount}, "requests")
    assert refused.value.path == f"requests['{name}']"
    assert problem in refused.value.problem
    assert refused.value.fix


def test_steps_change_what_can_be_counted() -> None:
    assert of("gpu", Fraction(1, 3), gpu=Fraction(1, 6)) == 2
    assert of("bytes", 10**15, bytes=1) == 10**15
    with pytest.raises(InputError, match=r"capacity\['bytes'\]: 1.5 is not a multiple of 1"):
        Amounts({"bytes": 1}).quantities({"bytes": 1.5}, "capacity")


@pytest.mark.parametrize(
    ("steps", "problem"), [({"gpu": 0}, "counts nothing"), ({"cpu": 1}, "always"), ({"gpu": "x"}, "quantity")]
)
def test_impossible_steps_are_refused(steps: dict[str, Amount], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        Amounts(steps)


@pytest.mark.parametrize(
    "name", ["gpu", "license.example", "GPU memory", "nvidia.com/gpu", "slots", "requests.cpu", "héhé"]
)
def test_every_name_is_one_that_the_core_counts(name: str) -> None:
    assert is_scalar_resource(resource_name(name))


@pytest.mark.parametrize("name", ["", "embed/gpu", "requests.nvidia.com/gpu"])
def test_ambiguous_names_are_refused(name: str) -> None:
    with pytest.raises(InputError) as refused:
        Amounts().quantities({name: 1}, "requests")
    assert refused.value.path.startswith("requests")


AMOUNTS = st.one_of(
    st.integers(0, 10**12),
    st.floats(0, 10**9).map(lambda number: round(number, 3)),
    st.decimals(0, 10**9, places=3),
    st.integers(0, 10**12).map(lambda milli: f"{milli}m"),
)


@given(AMOUNTS, AMOUNTS)
def test_sums_and_order_are_those_of_the_numbers(one: Amount, other: Amount) -> None:
    def exact(amount: Amount) -> Fraction:
        if isinstance(amount, str):
            return Fraction(amount.removesuffix("m")) / 1000
        assert not isinstance(amount, Quantity)
        return Fraction(str(amount))

    amounts = Amounts()
    counted = [
        amounts.quantities({"x": each}, "requests").get("embed/x", Quantity()) for each in (one, other)
    ]
    assert Fraction((counted[0] + counted[1]).nano, 10**12) == exact(one) + exact(other)
    assert (counted[0] < counted[1]) == (exact(one) < exact(other))
