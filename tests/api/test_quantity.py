from __future__ import annotations

from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe.api import Quantity, parse_quantity
from schedframe.errors import InputError
from tests.api.strategies import quantities, quantity_texts

LARGEST = 2**63 - 1


@pytest.mark.parametrize(
    ("text", "milli", "whole", "written"),
    [
        ("0", 0, 0, "0"),
        ("100m", 100, 1, "100m"),
        ("1", 1000, 1, "1"),
        ("1000m", 1000, 1, "1"),
        ("1500m", 1500, 2, "1500m"),
        ("0.5", 500, 1, "500m"),
        (".5", 500, 1, "500m"),
        ("5.", 5000, 5, "5"),
        ("+3", 3000, 3, "3"),
        ("-3", -3000, -3, "-3"),
        ("-1500m", -1500, -2, "-1500m"),
        ("0.0001", 1, 1, "100u"),
        ("1u", 1, 1, "1u"),
        ("1n", 1, 1, "1n"),
        ("1500", 1_500_000, 1500, "1500"),
        ("1000", 1_000_000, 1000, "1k"),
        ("1k", 1_000_000, 1000, "1k"),
        ("2M", 2 * 10**9, 2 * 10**6, "2M"),
        ("3G", 3 * 10**12, 3 * 10**9, "3G"),
        ("4T", 4 * 10**15, 4 * 10**12, "4T"),
        ("5P", 5 * 10**18, 5 * 10**15, "5P"),
        ("6E", LARGEST, 6 * 10**18, "6E"),
        ("1Ki", 1024_000, 1024, "1Ki"),
        ("1.5Gi", 1536 * 2**20 * 1000, 1536 * 2**20, "1536Mi"),
        ("1024Mi", 2**30 * 1000, 2**30, "1Gi"),
        ("1023", 1_023_000, 1023, "1023"),
        ("0.5Ki", 512_000, 512, "512"),
        ("0.1Ki", 102_400, 103, "102400m"),
        ("1Ti", 2**40 * 1000, 2**40, "1Ti"),
        ("1Pi", 2**50 * 1000, 2**50, "1Pi"),
        ("1Ei", LARGEST, 2**60, "1Ei"),
        ("1e3", 1_000_000, 1000, "1e3"),
        ("1E3", 1_000_000, 1000, "1e3"),
        ("12e6", 12 * 10**9, 12 * 10**6, "12e6"),
        ("5e-3", 5, 1, "5e-3"),
        ("15e+2", 1_500_000, 1500, "1500"),
    ],
)
def test_reads_and_writes_every_notation(text: str, milli: int, whole: int, written: str) -> None:
    amount = parse_quantity(text)
    assert amount.milli_value() == milli
    assert amount.value() == whole
    assert str(amount) == written


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "abc",
        "1 Gi",
        "1gi",
        "1K",
        "1GB",
        "1,5",
        "1.2.3",
        ".",
        "-",
        "1e",
        "1e+",
        "1e3m",
        "1ki",
        "0x10",
        "1_0",
        "١",
    ],
)
def test_refuses_what_is_no_quantity(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_quantity(text)
    assert caught.value.fix


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("1K", "Ki"),
        ("64MB", "Mi"),
        ("2gi", "Gi"),
        ("1 Gi", "space"),
        ("1,000", "separators"),
        ("lots", "500m"),
    ],
)
def test_the_fix_fits_the_mistake(text: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_quantity(text)
    assert hint in caught.value.fix


@pytest.mark.parametrize("value", [True, None, [], float("nan"), float("inf")])
def test_refuses_values_that_are_no_numbers(value: object) -> None:
    with pytest.raises(InputError):
        parse_quantity(value)  # type: ignore[arg-type]  # that is what is tested


def test_takes_the_numbers_of_yaml() -> None:
    assert parse_quantity(2) == parse_quantity("2")
    assert parse_quantity(0.1) == parse_quantity("100m")
    assert parse_quantity(1e21) == parse_quantity("1e21")


def test_what_is_finer_than_a_nano_is_rounded_away_from_zero() -> None:
    assert parse_quantity("0.0000000001") == Quantity(1)
    assert parse_quantity("-0.0000000001") == Quantity(-1)
    assert parse_quantity("1e-400") == Quantity(1)
    assert parse_quantity("1e-99999999999999999999") == Quantity(1)
    assert parse_quantity("0e-99999999999999999999") == Quantity(0)


def test_what_is_too_large_is_capped() -> None:
    for text in ("9223372036854775808", "100E", "8Ei", "1e30", "1e999999999999", "9" * 200):
        assert parse_quantity(text).value() == LARGEST
        assert parse_quantity(f"-{text}").value() == -LARGEST
    assert parse_quantity(10**30).value() == LARGEST


def test_sums_are_not_capped_but_their_values_are() -> None:
    most = parse_quantity("8Ei")
    assert (most + most).value() == LARGEST
    assert most + most - most == most


def test_overlong_text_is_refused_quickly() -> None:
    with pytest.raises(InputError) as caught:
        parse_quantity("9" * 1_000_000)
    assert len(str(caught.value)) < 200


def test_equal_amounts_in_other_notations_are_equal_and_hash_alike() -> None:
    assert parse_quantity("1Ki") == parse_quantity("1024")
    assert hash(parse_quantity("1Ki")) == hash(parse_quantity("1024"))
    assert parse_quantity("1") != 1


def test_equal_texts_are_one_object() -> None:
    assert parse_quantity("123Mi") is parse_quantity("123Mi")


def test_zero_takes_the_notation_of_what_is_added() -> None:
    assert str(parse_quantity("0") + parse_quantity("2Gi")) == "2Gi"
    assert str(parse_quantity("1Gi") + parse_quantity("1G")) == "2073741824"


def _fraction(text: str) -> Fraction:
    suffixes = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
    for binary, power in (("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)):
        if text.endswith(binary):
            return Fraction(text[:-2].rstrip(".") or "0") * (1 << power)
    if text[-1] in suffixes:
        power_of_ten: Fraction = Fraction(10) ** suffixes[text[-1]]
        return Fraction(text[:-1].rstrip(".") or "0") * power_of_ten
    number, _, exponent = text.lower().partition("e")
    scale: Fraction = Fraction(10) ** int(exponent or "0")
    return Fraction(number.rstrip(".")) * scale


@given(quantity_texts)
def test_parsing_is_exact(text: str) -> None:
    exact = _fraction(text)
    sign = -1 if exact < 0 else 1
    nano = min(ceil(abs(exact) * 10**9), LARGEST * 10**9)
    assert parse_quantity(text).nano == sign * nano


@given(quantities)
def test_what_is_written_is_read_back(amount: Quantity) -> None:
    again = parse_quantity(str(amount))
    assert again == amount
    assert str(again) == str(amount)


@given(quantities, quantities)
def test_arithmetic_and_order_are_those_of_fractions(left: Quantity, right: Quantity) -> None:
    a, b = Fraction(left.nano, 10**9), Fraction(right.nano, 10**9)
    assert Fraction((left + right).nano, 10**9) == a + b
    assert Fraction((left - right).nano, 10**9) == a - b
    assert (-left).nano == -left.nano
    assert bool(left) == (a != 0)
    assert (left < right, left <= right, left > right, left >= right, left == right) == (
        a < b,
        a <= b,
        a > b,
        a >= b,
        a == b,
    )


@given(st.integers(-(2**62), 2**62))
def test_values_round_away_from_zero(nano: int) -> None:
    exact, amount = Fraction(nano, 10**9), Quantity(nano)
    sign = -1 if nano < 0 else 1
    assert amount.value() == sign * ceil(abs(exact))
    assert amount.milli_value() == sign * ceil(abs(exact) * 1000)
