"""The plugins known from elsewhere: packages, as if they were installed, and what their pages say."""

from __future__ import annotations

import ast
import importlib
import os
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import schedframe
from schedframe import InMemoryCluster, Scheduler, from_manifest

from .installing import installed
from .running import EXAMPLES, shell

PLUGINS = EXAMPLES / "plugins"
PUBLIC = ("schedframe", "schedframe.testing", *(f"schedframe.{package}" for package in schedframe._PACKAGES))
PACKAGES = sorted(path.parent for path in PLUGINS.glob("*/pyproject.toml"))
_YAML = re.compile(r"^```yaml\n(.*?)^```", re.DOTALL | re.MULTILINE)

each_package = pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)


def project(package: Path) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Package → what is wrong with its tests. All are installed, and run in one process: that is quicker."""
    folder = tmp_path_factory.mktemp("ported")
    paths = []
    for package in PACKAGES:
        paths += installed(package, folder / "site")["PYTHONPATH"].split(os.pathsep)
        paths.append(str(package / "tests"))
    options = "-rfE --tb=short -p no:cacheprovider -p no:xdist --import-mode=importlib"
    tests = " ".join(f"{package.name}/tests" for package in PACKAGES)
    path = os.pathsep.join(dict.fromkeys(paths))
    pytest_command = f"'{sys.executable}' -m pytest {options} -c /dev/null --rootdir=. {tests}"
    done = shell(f"PYTHONPATH='{path}' {pytest_command}", PLUGINS, started=True)
    if done.returncode == 0:
        return {}
    names = [package.name for package in PACKAGES]
    blamed = [name for name in names if f" {name}/tests" in done.stdout] or names
    return dict.fromkeys(blamed, done.stdout + done.stderr)


@each_package
@pytest.mark.slow
def test_its_own_tests_pass(package: Path, reports: dict[str, str]) -> None:
    assert package.name not in reports, reports[package.name]


@each_package
def test_it_imports_nothing_of_schedframe_but_public_names(package: Path) -> None:
    modules = sorted(package.rglob("*.py"))
    assert modules
    for path in modules:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
                assert not any(name.startswith("schedframe.") for name in names), path
            elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "schedframe":
                assert node.module in PUBLIC, path
                public = {*importlib.import_module(node.module).__all__, "strategies"}
                assert {alias.name for alias in node.names} <= public, path


@each_package
def test_it_is_listed_and_typed_and_says_how_to_install_it(package: Path) -> None:
    assert f"({package.name}/README.md)" in (PLUGINS / "README.md").read_text(encoding="utf-8")
    assert f"pip install ./examples/plugins/{package.name}" in (package / "README.md").read_text()
    assert (package / "src" / project(package)["project"]["name"].replace("-", "_") / "py.typed").exists()


@each_package
def test_configurations_and_manifests_of_its_page_are_accepted(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(package / "src"))
    before = set(sys.modules)
    try:
        entries = project(package)["project"]["entry-points"]
        plugins = dict(loaded(entries["schedframe.plugins"]))
        kinds = [cls for _, cls in loaded(entries.get("schedframe.kinds", {}))]
        seen = 0
        for text in _YAML.findall((package / "README.md").read_text(encoding="utf-8")):
            for document in yaml.safe_load_all(text):
                if document["kind"] == "KubeSchedulerConfiguration":
                    seen += 1
                    with Scheduler(InMemoryCluster(), document, plugins=plugins) as scheduler:
                        (framework,) = scheduler.core.frameworks.values()
                        assert set(plugins) <= set(framework.plan.plugins)
                else:
                    from_manifest(document, kinds=kinds)
        assert seen
    finally:
        for name in set(sys.modules) - before:
            if name.startswith("schedframe_"):
                del sys.modules[name]


def loaded(entries: dict[str, str]) -> Iterator[tuple[str, Any]]:
    for name, target in entries.items():
        module, _, attribute = target.partition(":")
        yield name, getattr(importlib.import_module(module), attribute)
