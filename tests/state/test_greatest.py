"""greatest: as the method max of an array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from schedframe.state.greatest import greatest


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint64])
@given(data=st.data())
def test_equals_max(dtype: type[np.generic], data: st.DataObject) -> None:
    values: Any = data.draw(arrays.arrays(dtype, st.integers(1, 40)))
    assert greatest(values) == values.max()
    assert greatest(values[::2]) == values[::2].max()


def test_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="empty sequence"):
        greatest(np.empty(0, np.int64))
