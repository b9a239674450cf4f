"""Random numbers by (seed, purpose, entity): they do not depend on the order in which they are drawn.

The bits are those of Philox, a counter-based generator whose stream NumPy guarantees. Distributions are
computed number by number with functions of :mod:`math`, so that neither versions of NumPy nor vector
instructions change them.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from .columns import Ints

if TYPE_CHECKING:
    from statistics import NormalDist

Floats = npt.NDArray[np.float64]

_BLOCK: Final = 4
"""Numbers that Philox makes at one value of its counter."""
_SMALLEST: Final = 2.0**-54
"""Half of the distance of two uniform numbers: added where 0 has no image."""


class Draws:
    """Random numbers of one seed. ``purpose`` is a text and numbers, such as ``"failure", 3``."""

    def __init__(self, seed: int) -> None:
        self._seed: Final = seed

    def uniform(self, count: int, *purpose: str | int) -> Floats:
        """Return a number in [0, 1) for each entity from 0 to *count*, exclusive. O(count)."""
        return _as_floats(self._generator(purpose).random_raw(count))

    def uniform_of(self, entity: int, *purpose: str | int) -> float:
        """Return the number of one entity; that of :meth:`uniform` at its place. O(1)."""
        generator = self._generator(purpose)
        generator.advance(entity // _BLOCK)
        block = _as_floats(generator.random_raw(_BLOCK))
        return float(block[entity % _BLOCK])

    def order(self, count: int, *purpose: str | int) -> Ints:
        """Return the numbers from 0 to *count*, exclusive, in random order."""
        return np.argsort(self._generator(purpose).random_raw(count), kind="stable").astype(np.int64)

    def exponential(self, count: int, *purpose: str | int) -> list[float]:
        """Return numbers of the exponential distribution with mean 1."""
        return [exponential(each) for each in self.uniform(count, *purpose).tolist()]

    def normal(self, count: int, *purpose: str | int) -> list[float]:
        """Return numbers of the standard normal distribution."""
        return [normal(each) for each in self.uniform(count, *purpose).tolist()]

    def _generator(self, purpose: tuple[str | int, ...]) -> np.random.Philox:
        from hashlib import sha256

        text = "/".join(map(str, (self._seed, *purpose)))
        return np.random.Philox(key=int.from_bytes(sha256(text.encode()).digest()[:16], "little"))


def exponential(uniform: float) -> float:
    """Return the number of the exponential distribution with mean 1 at a uniform one."""
    return -math.log1p(-uniform)


@cache
def _standard_normal() -> NormalDist:
    from statistics import NormalDist

    return NormalDist()


def normal(uniform: float) -> float:
    """Return the number of the standard normal distribution at a uniform one."""
    return _standard_normal().inv_cdf(uniform + _SMALLEST)


def _as_floats(raw: npt.NDArray[np.uint64]) -> Floats:
    result: Floats = (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return result
