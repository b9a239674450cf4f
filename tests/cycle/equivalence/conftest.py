"""Thresholds of the cache, lowered for small clusters."""

from __future__ import annotations

import pytest

from .comparison import lowered


@pytest.fixture
def matrix_from_two_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let two classes share a matrix, in tables of any size."""
    lowered(monkeypatch, rows_per_class=1 << 20, matrix_min_classes=2)
