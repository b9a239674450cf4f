"""Statuses as numbers, so that a column can say why each row is rejected."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from attrs import define, field

from ...framework import Code, Status

Codes = npt.NDArray[np.int32]

NO_NODE = -1
"""The code of a row without a node."""
NOBODY = 1 << 30
"""Stands for "no plugin rejects this row" among the places in the profile's order."""
MOST_STATUSES = 4096
"""So many distinct statuses are more than rejections of pods alike come with."""


@define(eq=False)
class Numbering:
    """Codes: 0 passes, *k* is rejected with ``statuses[k - 1]``, -1 has no node. Numbers are never reused."""

    order: dict[str, int]
    """Filter plugin → its place in the profile."""
    statuses: list[Status] = field(factory=list)
    numbers: dict[Status, int] = field(factory=dict)
    _places: list[int] = field(factory=lambda: [NOBODY])

    def number_of(self, status: Status) -> int:
        """The code that stands for *status*."""
        number = self.numbers.get(status)
        if number is None:
            self.statuses.append(status)
            number = self.numbers[status] = len(self.statuses)
            self.register()
        return number

    def register(self) -> bool:
        """Take notice of statuses that were appended; whether none of them is an error."""
        sound = True
        for status in self.statuses[len(self._places) - 1 :]:
            self._places.append(self.order.get(status.plugin, NOBODY))
            sound &= status.code is not Code.ERROR
        return sound

    def place_of(self, code: int) -> int:
        """Place in the profile of the plugin behind *code*, a large number if there is none."""
        return self._places[code]

    def places_of(self, codes: Codes) -> npt.NDArray[np.int64]:
        """As :meth:`place_of` for many."""
        return np.array([*self._places, NO_NODE], np.int64)[codes]
