"""The public names: loaded when first used, and each what its import statement says it is."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import schedframe

SOURCE = Path(schedframe.__file__)


def imported_names() -> dict[str, str]:
    """Public name → the module that the import statement for type checkers takes it from."""
    found = {}
    for node in ast.walk(ast.parse(SOURCE.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module:
            for alias in node.names:
                found[alias.asname or alias.name] = f"schedframe.{node.module}"
    return found


def test_every_public_name_has_an_import_and_the_other_way_round() -> None:
    assert set(imported_names()) == set(schedframe.__all__)


@pytest.mark.parametrize("name", sorted(schedframe.__all__))
def test_a_name_is_what_its_import_says(name: str) -> None:
    module = importlib.import_module(imported_names()[name])
    assert getattr(schedframe, name) is getattr(module, name)


def test_parts_load_when_they_are_used() -> None:
    code = (
        "import sys, schedframe\n"
        "loaded = {m for m in sys.modules if m.startswith('schedframe.')}\n"
        "assert loaded == {'schedframe._version'}, loaded\n"
        "assert 'numpy' not in sys.modules\n"
        "schedframe.Pod\n"
        "assert 'schedframe.api' in sys.modules and 'schedframe.cycle' not in sys.modules\n"
        "assert schedframe.cycle.Scheduler is schedframe.Scheduler\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Schedular'"):
        _ = schedframe.Schedular
    assert "Scheduler" in dir(schedframe)
