"""Exact amounts in the notation of Kubernetes: ``500m``, ``2``, ``1.5Gi``, ``1e3``.

Rules of k8s.io/apimachinery/pkg/api/resource: at most nine decimal digits (rounded away from zero), at most
±(2^63-1), and the notation that was read is the one that is written.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Annotated, Final

from attrs import field

from .._base.annotations import HOW_TO_GIVE, Instead
from .._base.brief import shown
from .._base.checked import check_arguments
from .._base.value import value
from .._base.wording import described
from ..errors import InputError

DECIMAL_SI: Final = "DecimalSI"
BINARY_SI: Final = "BinarySI"
DECIMAL_EXPONENT: Final = "DecimalExponent"

_NANO: Final = 10**9
_MILLI: Final = 10**6
_MAX: Final = 2**63 - 1
_MAX_NANO: Final = _MAX * _NANO
_MAX_LENGTH: Final = 256

_TEXT: Final = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([A-Za-z]*)([+-]?[0-9]*)", re.ASCII)
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_SUFFIX: Final = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_BINARY_SUFFIX: Final = ("", *_BINARY)
_BILLIONTHS: Final = Instead(lambda value: f"an int of billionths, or parse_quantity({described(value)})")


@value(eq=False, weakref_slot=False, repr=False)
class Quantity:
    """An amount, exact to a billionth. Compared by amount, whatever the notation.

    ``nano`` is the amount in billionths, ``format`` the notation in which it is written.
    """

    nano: Annotated[int, _BILLIONTHS] = 0
    format: str = field(default=DECIMAL_SI)

    @classmethod
    def of(cls, amount: int, format: str = DECIMAL_SI) -> Quantity:
        """Return *amount* whole units."""
        if not isinstance(amount, int):
            check_arguments(Quantity.of, amount)
        return cls(amount * _NANO, format)

    @classmethod
    def of_milli(cls, amount: int, format: str = DECIMAL_SI) -> Quantity:
        """Return *amount* thousandths, such as milli-CPU."""
        if not isinstance(amount, int):
            check_arguments(Quantity.of_milli, amount)
        return cls(amount * _MILLI, format)

    def in_thousandths(self) -> Quantity:
        """Return the amount away from zero to thousandths, as an API server stores it; itself if it is so."""
        nano = self.nano
        if nano % _MILLI == 0:
            return self
        return Quantity((-(-nano // _MILLI) if nano > 0 else nano // _MILLI) * _MILLI, self.format)

    def value(self) -> int:
        """Return whole units, rounded away from zero, at most ±(2^63-1)."""
        return _scaled(self.nano, _NANO)

    def milli_value(self) -> int:
        """Return thousandths, rounded away from zero, at most ±(2^63-1)."""
        return _scaled(self.nano, _MILLI)

    def __eq__(self, other: object) -> bool:
        return self.nano == other.nano if isinstance(other, Quantity) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.nano)

    def __lt__(self, other: Quantity) -> bool:
        return self.nano < other.nano if isinstance(other, Quantity) else NotImplemented

    def __le__(self, other: Quantity) -> bool:
        return self.nano <= other.nano if isinstance(other, Quantity) else NotImplemented

    def __gt__(self, other: Quantity) -> bool:
        return self.nano > other.nano if isinstance(other, Quantity) else NotImplemented

    def __ge__(self, other: Quantity) -> bool:
        return self.nano >= other.nano if isinstance(other, Quantity) else NotImplemented

    def __bool__(self) -> bool:
        return self.nano != 0

    def __add__(self, other: Quantity) -> Quantity:
        """Return the exact sum, without a limit; zero takes the notation of the other."""
        if not isinstance(other, Quantity):
            return NotImplemented
        return Quantity(self.nano + other.nano, self.format if self.nano else other.format)

    def __sub__(self, other: Quantity) -> Quantity:
        """Return the exact difference; zero takes the notation of the other."""
        if not isinstance(other, Quantity):
            return NotImplemented
        return Quantity(self.nano - other.nano, self.format if self.nano else other.format)

    def __neg__(self) -> Quantity:
        return Quantity(-self.nano, self.format)

    def __str__(self) -> str:
        """Return the canonical form: no fraction, the largest suffix without loss."""
        return _canonical(self.nano, self.format)

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"


HOW_TO_GIVE[Quantity] = lambda value: f"parse_quantity({described(value)})"
ZERO: Final = Quantity()


def _scaled(nano: int, unit: int) -> int:
    if nano >= 0:
        return min(-(-nano // unit), _MAX)
    return max(nano // unit, -_MAX)


def _canonical(nano: int, notation: str) -> str:
    if nano == 0:
        return "0"
    sign, nano = ("-", -nano) if nano < 0 else ("", nano)
    if notation == BINARY_SI and nano >= 1024 * _NANO and nano % _NANO == 0:
        amount, step = nano // _NANO, 0
        while amount % 1024 == 0 and step < len(_BINARY):
            amount //= 1024
            step += 1
        return f"{sign}{amount}{_BINARY_SUFFIX[step]}"
    exponent = -9
    while nano % 1000 == 0 and (notation == DECIMAL_EXPONENT or exponent < _DECIMAL["E"]):
        nano //= 1000
        exponent += 3
    if notation == DECIMAL_EXPONENT:
        return f"{sign}{nano}e{exponent}" if exponent else f"{sign}{nano}"
    return f"{sign}{nano}{_DECIMAL_SUFFIX[exponent]}"


def parse_quantity(value: str | int | float) -> Quantity:
    """Return the amount of *value*; numbers of YAML are read in their shortest notation.

    Raises :class:`InputError` (without a path) for anything that is not a quantity.
    """
    if type(value) is str:
        return _parse(value)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InputError("", f"{shown(value)} is not a quantity", _FIX)
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError("", f"{value!r} is not a quantity", _FIX)
    if isinstance(value, int):
        return Quantity(max(-_MAX, min(_MAX, value)) * _NANO)
    return _parse(repr(value) if isinstance(value, float) else str(value))


_FIX: Final = "write a number with an optional suffix, such as 500m, 2, 1.5Gi or 1e3"


@lru_cache(maxsize=8192)
def _parse(text: str) -> Quantity:
    match = _TEXT.fullmatch(text) if len(text) <= _MAX_LENGTH else None
    if match is None:
        raise _refusal(text)
    sign, whole, fraction, suffix, digits = match.groups(default="")
    if not whole and not fraction:
        raise _refusal(text)
    binary = _BINARY.get(suffix) if not digits else None
    if binary is not None:
        notation, exponent = BINARY_SI, 0
    elif not digits and suffix in _DECIMAL:
        notation, exponent = DECIMAL_SI, _DECIMAL[suffix]
    elif suffix in ("e", "E") and digits.lstrip("+-"):
        notation, exponent = DECIMAL_EXPONENT, int(digits)
    else:
        raise _refusal(text)
    mantissa = int(whole + fraction) << (binary or 0)
    nano = _to_nano(mantissa, exponent - len(fraction))
    return Quantity(-nano if sign == "-" else nano, notation)


def _to_nano(mantissa: int, exponent: int) -> int:
    """Return ``mantissa × 10^exponent`` in billionths, rounded up, at most 2^63-1 units."""
    if mantissa == 0:
        return 0
    shift = exponent + 9
    if shift >= 0:
        # beyond this no mantissa stays under the limit; the power would only cost memory
        return min(mantissa * 10**shift, _MAX_NANO) if shift <= len(str(_MAX_NANO)) else _MAX_NANO
    if -shift > _MAX_LENGTH * 2:
        return 1
    divisor: int = 10**-shift
    return min(-(-mantissa // divisor), _MAX_NANO)


_MISTAKES: Final = (
    (re.compile(r"[0-9.]+K"), "thousands are k, kibi is Ki"),
    (
        re.compile(r"[0-9.]+(?:[kKMGTPE]i?[bB]|[kmgtpe]i)"),
        "suffixes are k, M, G, T, P, E or Ki, Mi, Gi, Ti, Pi, Ei",
    ),
    (re.compile(r"[0-9.]+\s+\S+"), "leave out the space before the suffix"),
    (re.compile(r"[0-9]*,[0-9,]+\S*"), "write the decimal point as . and no thousands separators"),
    (re.compile(r"\s*"), _FIX),
    (re.compile(r"\s+.*|.*\s+", re.DOTALL), "leave out the space around it"),
)


def _refusal(text: str) -> InputError:
    for pattern, fix in _MISTAKES:
        if pattern.fullmatch(text):
            return InputError("", f"{shown(text)} is not a quantity", fix)
    return InputError("", f"{shown(text)} is not a quantity", _FIX)
