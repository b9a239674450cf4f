"""Tests of the server need its extra."""

from __future__ import annotations

import pytest

for name in ("starlette", "uvicorn", "aiohttp", "msgspec"):
    pytest.importorskip(name, reason="the extra serve is not installed")
