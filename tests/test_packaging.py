"""What is installed: no optional dependency at import, marked types, names that exist, plugins by name."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint, distribution
from pathlib import Path

import pytest

import plugins_builtin
import schedframe
from plugins_builtin.catalogue import CATALOGUE

ROOT = Path(__file__).parents[1]
OPTIONAL = {"aiohttp", "httptools", "hypothesis", "msgspec", "pytest", "rich", "typer", "uvloop"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def imported_by(statement: str) -> set[str]:
    """Top-level modules that are there after *statement* in a fresh interpreter."""
    program = f"{statement}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("module", ["schedframe", "plugins_builtin.catalogue"])
def test_import_needs_no_optional_dependency(module: str) -> None:
    assert imported_by(f"import {module}") & OPTIONAL == set()


def test_optional_means_optional() -> None:
    required = {requirement.partition(">")[0].lower() for requirement in PROJECT["dependencies"]}
    assert required & OPTIONAL == set()


@pytest.mark.parametrize("package", [schedframe, plugins_builtin])
def test_types_are_marked(package: object) -> None:
    assert (Path(package.__file__).parent / "py.typed").exists()  # type: ignore[attr-defined]  # of a module


def test_public_names_exist_once() -> None:
    assert len(schedframe.__all__) == len(set(schedframe.__all__))
    missing = [name for name in schedframe.__all__ if not hasattr(schedframe, name)]
    assert missing == []


def test_every_package_of_the_source_is_a_package() -> None:
    for package in ("schedframe", "plugins_builtin"):
        for folder in {path.parent for path in (ROOT / package).rglob("*.py")}:
            assert (folder / "__init__.py").exists(), f"{folder} has modules but is no package"


def test_the_installed_distribution_is_this_source() -> None:
    installed = distribution("schedframe")
    assert installed.version == schedframe.__version__
    declared = {
        (group, name, value)
        for group, entries in PROJECT["entry-points"].items()
        for name, value in entries.items()
    }
    declared |= {("console_scripts", name, value) for name, value in PROJECT["scripts"].items()}
    found = {(entry.group, entry.name, entry.value) for entry in installed.entry_points}
    assert found == declared, "the installation is older than pyproject.toml; install again"


def plugin_entries() -> list[EntryPoint]:
    entries = PROJECT["entry-points"]["schedframe.plugins"]
    return [EntryPoint(name, value, "schedframe.plugins") for name, value in entries.items()]


@pytest.mark.parametrize("entry", plugin_entries(), ids=lambda entry: entry.name)
def test_plugins_are_found_under_the_names_of_the_reference(entry: EntryPoint) -> None:
    plugin = entry.load()
    assert plugin.__name__ == entry.name
    is_former = entry.value.startswith("plugins_builtin.legacy.")
    known = CATALOGUE.removed(entry.name) if is_former else CATALOGUE.get(entry.name)
    assert known is not None


def schedframe_imports(path: Path) -> list[tuple[str, str]]:
    """(module, name) for everything that *path* imports from schedframe."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if (
            isinstance(node, ast.ImportFrom)
            and not node.level
            and (node.module or "").partition(".")[0] == "schedframe"
        ):
            found += [(node.module or "", alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names if alias.name.startswith("schedframe.")]
    return found


PACKAGES = ("schedframe", *(f"schedframe.{package}" for package in schedframe._PACKAGES))
PUBLIC = {
    "plugins_builtin": PACKAGES,
    "examples": (
        *PACKAGES,
        "schedframe.cluster.kubernetes",
        "schedframe.embed",
        "schedframe.testing",
        "schedframe.testing.strategies",
    ),
}


FORMER = Path("plugins_builtin", "legacy")
"""Beside former plugins it has former configurations and flags, which share readers with those of today."""


@pytest.mark.parametrize("folder", PUBLIC)
def test_plugins_and_examples_use_public_names_only(folder: str) -> None:
    for path in sorted((ROOT / folder).rglob("*.py")):
        where = path.relative_to(ROOT)
        if where.is_relative_to(FORMER) and "plugins" not in where.parts:
            continue
        for module, name in schedframe_imports(path):
            assert module in PUBLIC[folder], f"{where} imports from {module}"
            if f"{module}.{name}" not in PUBLIC[folder]:
                public = importlib.import_module(module).__all__
                assert name in public, f"{where} imports {name}, which is not public in {module}"


def test_scripts_lead_to_functions() -> None:
    for target in PROJECT["scripts"].values():
        module, _, function = target.partition(":")
        assert callable(getattr(importlib.import_module(module), function))
