"""Tests of the double need the extra of the real cluster."""

from __future__ import annotations

import pytest

pytest.importorskip("aiohttp", reason="the extra kubernetes is not installed")
pytest.importorskip("msgspec", reason="the extra kubernetes is not installed")
