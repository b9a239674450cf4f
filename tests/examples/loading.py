"""Modules of the examples, to be tested from inside."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


def load(path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module in *path*, which can be imported by its name until the test is over."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, path.stem, module)
    spec.loader.exec_module(module)
    return module
