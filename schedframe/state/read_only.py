"""Read-only views of arrays."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

Scalar = TypeVar("Scalar", bound=np.generic)


def read_only(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """Return a view of *array* that cannot be written to and follows its changes."""
    view = array.view()
    view.flags.writeable = False
    return view
