"""Tests of the real cluster need its extra."""

from __future__ import annotations

import pytest

pytest.importorskip("aiohttp", reason="the extra kubernetes is not installed")
pytest.importorskip("msgspec", reason="the extra kubernetes is not installed")
