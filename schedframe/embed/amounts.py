"""Exact amounts of any resource: translates the caller's ``gpu`` and 0.5 to an integer of the core."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from numbers import Integral
from typing import Final

from attrs import field

from .._base.brief import shown
from .._base.value import value
from ..api import Quantity, parse_quantity
from ..errors import InputError

Amount = int | float | str | Decimal | Fraction | Quantity
"""A number, or text such as ``"500m"`` and ``"1.5Gi"``. A float means its shortest notation: 0.1 is 1/10."""

_Given = tuple[str, type, Amount]
"""Name of a resource, type of an amount and the amount."""
_PLAIN: Final = frozenset({int, float, str})
_MOST_KNOWN: Final = 4096
"""Translated amounts that are kept."""

PREFIX: Final = "embed/"
"""Prefix of resource names without a domain, which the core does not count."""
_NATIVE_STEPS: Final[Mapping[str, Fraction]] = {
    "cpu": Fraction(1, 1000),
    "memory": Fraction(1),
    "ephemeral-storage": Fraction(1),
}
_DEFAULT_STEP: Final = Fraction(1, 1000)
_NANO: Final = 10**9
_MOST_BITS: Final = 1000
"""Bits of a number that is written out: Python writes none of thousands of digits."""
_LARGEST: Final = (2**63 - 1) // 100
"""Largest amount in steps: scores multiply amounts by 100 in 64 bits."""


def resource_name(name: str) -> str:
    """Return the name of the resource *name* in the core, and so in a configuration.

    ``cpu``, ``memory``, ``ephemeral-storage`` and names with a domain (``nvidia.com/gpu``) stay; every other
    name gets the domain ``embed``. Raises :class:`InputError` for names that would be ambiguous then.
    """
    if name in _NATIVE_STEPS:
        return name
    if not name:
        raise InputError("", "a resource has no name", "give it one, such as 'gpu'")
    if "/" not in name:
        return PREFIX + name
    if name.startswith((PREFIX, "requests.")):
        raise InputError("", f"the domain of the resource {name!r} is taken", "rename it")
    return name


@value(eq=False)
class Amounts:
    """Translates amounts to the integers of the core, and refuses amounts that it cannot count exactly.

    ``steps``: resource → the smallest step in which it is counted. By default a thousandth, but a whole byte
    for ``memory`` and ``ephemeral-storage``; larger steps allow larger amounts.
    """

    steps: Mapping[str, Amount] = field(factory=dict)
    _steps: dict[str, Fraction] = field(init=False)
    _known: dict[_Given, tuple[str, Quantity] | None] = field(factory=dict)
    """Of amounts that were translated lately, which most tasks share; ``None``: zero."""

    @_steps.default
    def _exact_steps(self) -> dict[str, Fraction]:
        exact = {}
        for name, step in self.steps.items():
            path = f"steps[{name!r}]"
            if name in _NATIVE_STEPS:
                raise InputError(path, f"the step of {name} is {_NATIVE_STEPS[name]}, always", "leave it out")
            exact[name] = _exact(step, path)
            if not exact[name]:
                raise InputError(path, "a step of 0 counts nothing", "take a number above 0, such as 0.001")
        return exact

    def quantities(self, amounts: Mapping[str, Amount], path: str) -> dict[str, Quantity]:
        """Return the amounts under the core's names, without zeros. Raises :class:`InputError`."""
        quantities = {}
        known = self._known
        for name, amount in amounts.items():
            kind = type(amount)
            if kind not in _PLAIN:
                translated = self._translated(name, amount, path)
            else:
                # With its type, as True is no amount and equal to 1.
                given = name, kind, amount
                if given in known:
                    translated = known[given]
                else:
                    translated = self._translated(name, amount, path)
                    if len(known) >= _MOST_KNOWN:
                        known.clear()
                    known[given] = translated
            if translated is not None:
                quantities[translated[0]] = translated[1]
        return quantities

    def _translated(self, name: str, amount: Amount, path: str) -> tuple[str, Quantity] | None:
        """Return the name in the core and the amount; ``None`` for zero."""
        where = f"{path}[{name!r}]"
        exact = _exact(amount, where)
        try:
            core_name = resource_name(name)
        except InputError as error:
            raise error.at(path) from None
        return (core_name, self._quantity(name, exact, where)) if exact else None

    def _quantity(self, name: str, amount: Fraction, path: str) -> Quantity:
        native = _NATIVE_STEPS.get(name)
        step = native or self._steps.get(name, _DEFAULT_STEP)
        steps = amount / step
        if steps > _LARGEST:
            fix = "take a larger unit" if native else f"give a larger step: steps={{{name!r}: …}}"
            raise InputError(path, f"{_text(amount)} is more than {_LARGEST} steps of {_text(step)}", fix)
        if steps.denominator != 1:
            fix = "round it" if native else f"round it, or give a smaller step: steps={{{name!r}: …}}"
            raise InputError(path, f"{_text(amount)} is not a multiple of {_text(step)}", fix)
        return Quantity(int(amount * _NANO)) if native else Quantity.of(steps.numerator)


def _exact(amount: Amount, path: str) -> Fraction:
    """Return *amount* as a fraction, not below 0. Raises :class:`InputError` for anything else."""
    if isinstance(amount, str | Quantity):
        try:
            return _not_negative(_of_text(amount) if isinstance(amount, str) else _of(amount), amount, path)
        except InputError as error:
            raise error if error.path else error.at(path) from None
    number = isinstance(amount, Integral | Fraction) and not isinstance(amount, bool)
    if not number and not (isinstance(amount, float | Decimal) and math.isfinite(amount)):
        raise InputError(
            path, f"{shown(amount)} is not an amount", "give a number, or text such as '500m' or '2Gi'"
        )
    if isinstance(amount, float):
        exact = Fraction(float.__repr__(amount))  # of a subclass too, such as NumPy's, which writes its name
    else:
        exact = Fraction(amount if isinstance(amount, Decimal | Fraction) else int(amount))
    return _not_negative(exact, amount, path)


@lru_cache(maxsize=4096)
def _of_text(text: str) -> Fraction:
    return _of(parse_quantity(text))


def _of(quantity: Quantity) -> Fraction:
    return Fraction(quantity.nano, _NANO)


def _not_negative(exact: Fraction, amount: Amount, path: str) -> Fraction:
    if exact < 0:
        raise InputError(
            path,
            f"{amount if isinstance(amount, str | Quantity) else shown(amount)} is below 0",
            "give 0 or more",
        )
    return exact


def _text(amount: Fraction) -> str:
    """Return a short text; fractions that decimals cannot express stay fractions."""
    if max(amount.numerator, amount.denominator).bit_length() > _MOST_BITS:
        return "the amount"
    if amount.denominator == 1 or Fraction(repr(float(amount))) != amount:
        return str(amount)
    return repr(float(amount))
