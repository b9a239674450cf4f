"""What all tests of the queue are given."""

from __future__ import annotations

import pytest

from .support import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()
