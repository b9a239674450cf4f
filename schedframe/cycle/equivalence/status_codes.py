"""StatusCodes: rejection statuses as small integers, so that a column can say why each row is rejected."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from attrs import field

from ..._base.value import record
from ...framework import Status

Codes = npt.NDArray[np.int32]

NO_NODE = -1
"""The code of a row without a node."""
NO_PLUGIN = 1 << 30
"""The position of "no plugin" in the order of the profile: behind all plugins."""


class EvaluationFailed(Exception):
    """A plugin raised, or gave an answer that the contract does not allow.

    No fault of the cache: the class is not cacheable then, and the full search reports the plugin.
    """


@record(eq=False)
class StatusCodes:
    """Code 0 passes, *k* stands for ``statuses[k - 1]``, -1 has no node. Codes are never reused."""

    order: dict[str, int]
    """Filter plugin → its position in the profile."""
    statuses: list[Status] = field(factory=list)
    codes: dict[Status, int] = field(factory=dict)

    def code_of(self, status: Status) -> int:
        """Return the code of *status*; O(1)."""
        code = self.codes.get(status)
        if code is None:
            self.statuses.append(status)
            code = self.codes[status] = len(self.statuses)
        return code

    def positions_of(self, codes: Codes) -> npt.NDArray[np.int64]:
        """Return the positions in the profile of the plugins that reject with *codes*; O(codes + statuses).

        :data:`NO_PLUGIN` for code 0.
        """
        positions = [self.order.get(status.plugin, NO_PLUGIN) for status in self.statuses]
        return np.array([NO_PLUGIN, *positions, NO_NODE], np.int64)[codes]
