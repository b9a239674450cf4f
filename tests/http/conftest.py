"""Tests of HTTP need its parser."""

from __future__ import annotations

import pytest

pytest.importorskip("httptools", reason="neither the extra kubernetes nor extenders is installed")
