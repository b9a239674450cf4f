"""The public names: exported once, imported when first used, and typed by a generated stub."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import schedframe
from schedframe import _moved
from tests.public_stub import STUB

ROOT = Path(schedframe.__file__).parents[1]
MOST_NAMES = 130
FOLDERS = ("schedframe", "plugins_builtin", "examples", "tests", "docs")


def stub_names() -> dict[str, str]:
    """Return the package of each name in the stub."""
    statements = ast.parse(STUB.read_text(encoding="utf-8")).body
    imports = [node for node in statements if isinstance(node, ast.ImportFrom)]
    return {alias.asname or "": node.module or "" for node in imports for alias in node.names}


def test_the_stub_agrees_with_the_list() -> None:
    expected = {**schedframe._PACKAGE_OF, "__version__": "_version"}
    moved, new = _moved._PACKAGE_OF, _moved._NEW_NAMES
    former = {f"_{new[name]}" if name in new else name: package for name, package in moved.items()}
    assert stub_names() == expected | former, "run: python -m tests.public_stub"
    assert set(schedframe.__all__) == set(expected)
    assigned = [each for each in ast.parse(STUB.read_text()).body if isinstance(each, ast.Assign)]
    values = {ast.unparse(each.targets[0]): each.value for each in assigned}
    assert sorted(ast.literal_eval(values.pop("__all__"))) == schedframe.__all__
    assert {name: ast.unparse(value) for name, value in values.items()} == {n: f"_{new[n]}" for n in new}


def test_the_top_level_stays_small() -> None:
    assert len(schedframe.__all__) <= MOST_NAMES


@pytest.mark.parametrize("name", sorted(schedframe._PACKAGE_OF))
def test_a_name_is_the_one_of_its_package(name: str) -> None:
    package = importlib.import_module(f"schedframe.{schedframe._PACKAGE_OF[name]}")
    assert name in package.__all__
    assert getattr(schedframe, name) is getattr(package, name)


@pytest.mark.parametrize("name", sorted(_moved._PACKAGE_OF))
def test_a_name_that_moved_works_and_warns(name: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"schedframe.{name} has moved") as caught:
        value = getattr(schedframe, name)
    assert caught[0].filename == __file__
    package = importlib.import_module(f"schedframe.{_moved._PACKAGE_OF[name]}")
    assert value is getattr(package, _moved._NEW_NAMES.get(name, name))
    assert name not in schedframe.__all__
    assert name not in vars(schedframe)


def test_a_statement_that_imports_a_moved_name_warns_at_its_line() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(compile("\n\nfrom schedframe import CSINode", "a_plugin.py", "exec"), {})
    assert {(each.filename, each.lineno) for each in caught} == {("a_plugin.py", 3)}


def test_packages_load_when_they_are_used() -> None:
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


def test_all_plugins_and_names_load_without_a_deprecation_warning() -> None:
    code = (
        "from schedframe import *\n"
        "from importlib.metadata import entry_points\n"
        "for entry in entry_points(group='schedframe.plugins'):\n"
        "    if entry.value.startswith('plugins_builtin.'):\n"
        "        entry.load()\n"
    )
    command = [sys.executable, "-W", "error:schedframe:DeprecationWarning", "-c", code]
    subprocess.run(command, check=True, cwd=ROOT)


def test_nothing_in_the_tree_imports_a_name_that_moved() -> None:
    statement = re.compile(r"from schedframe import (\([^)]*\)|[^(\n]*)")
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    for path in [*paths, ROOT / "README.md"]:
        if path.suffix in (".py", ".md", ".txt") and path != Path(__file__):
            for names in statement.findall(path.read_text(encoding="utf-8")):
                old = set(re.findall(r"\w+", names)) & set(_moved._PACKAGE_OF)
                assert not old, f"{path.relative_to(ROOT)}: import {sorted(old)} from the packages"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Schedular'"):
        _ = schedframe.Schedular  # type: ignore[attr-defined]  # that is the test
    assert "Scheduler" in dir(schedframe)
