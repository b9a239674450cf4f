"""The scripts of docs/_tools, to be tested from inside or run as programs."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / "docs" / "_tools"


def import_tool(name: str) -> Any:
    """Import a script as a module; scripts import each other by their plain names."""
    if str(TOOLS) not in sys.path:
        sys.path.append(str(TOOLS))
    return importlib.import_module(name)


def run_tool(name: str, *options: str) -> list[str]:
    """Run a script on this checkout; return the lines of its output."""
    command = [sys.executable, str(TOOLS / name), *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
