"""``schedframe new-plugin``: what it writes is a package that passes its own tests, once installed."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from schedframe.cli.new_plugin import PluginNames, create_package
from schedframe.errors import InputError

from .conftest import Cli

SCRIPTS = Path(sys.executable).parent


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new package."""
    return create_package("gpu Rank-2", tmp_path_factory.mktemp("new"))[0].parent


@pytest.fixture(scope="module")
def installed(package: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which it is installed: its metadata, as an installer writes them, and its sources."""
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    site = tmp_path_factory.mktemp("site")
    metadata = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    sections = (
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in points.items())
        for group, points in project["entry-points"].items()
    )
    (metadata / "entry_points.txt").write_text("\n".join(sections))
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(package / "src"), str(site)])}


def run_in(package: Path, environment: dict[str, str], *command: str) -> str:
    done = subprocess.run(
        command, cwd=package, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_it_passes_its_own_tests(package: Path, installed: dict[str, str]) -> None:
    output = run_in(package, installed, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert "passed" in output
    assert "skipped" not in output


def test_it_is_found_under_its_name(package: Path, installed: dict[str, str]) -> None:
    listed = run_in(package, installed, str(SCRIPTS / "schedframe"), "plugins")
    (row,) = (line for line in listed.splitlines() if line.startswith("GpuRank2 "))
    assert "gpu-rank-2 0.1.0" in row
    assert "filter score" in row


@pytest.mark.slow
def test_it_is_typed_and_tidy(package: Path, installed: dict[str, str], tmp_path: Path) -> None:
    run_in(package, installed, sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path))
    run_in(package, installed, sys.executable, "-m", "ruff", "check", "--no-cache", ".")
    run_in(package, installed, sys.executable, "-m", "ruff", "format", "--no-cache", "--check", ".")


@pytest.mark.slow
def test_the_longest_name_is_tidy_too(tmp_path: Path) -> None:
    create_package("a" * 36, tmp_path)
    run_in(tmp_path, dict(os.environ), sys.executable, "-m", "ruff", "check", "--no-cache", ".")
    run_in(tmp_path, dict(os.environ), sys.executable, "-m", "ruff", "format", "--no-cache", "--check", ".")


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("rack-rank", PluginNames("rack-rank", "rack_rank", "RackRank")),
        ("RackRank", PluginNames("rack-rank", "rack_rank", "RackRank")),
        ("rack_rank", PluginNames("rack-rank", "rack_rank", "RackRank")),
        ("Rack rank", PluginNames("rack-rank", "rack_rank", "RackRank")),
        ("rank", PluginNames("rank", "rank", "Rank")),
        ("GPUShare2", PluginNames("gpu-share-2", "gpu_share_2", "GPUShare2")),
    ],
)
def test_names_are_spelled_as_each_place_wants_them(name: str, names: PluginNames) -> None:
    assert PluginNames.of(name) == names


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "'' is no name for a plugin; use letters and digits"),
        ("2fast", "'2fast' is no name"),
        ("../up", "'../up' is no name"),
        ("a" * 40 + "!", "aaa!' is no name"),  # took days, as backtracking doubled with each letter
        ("class", "class is taken"),
        ("numpy", "a module named numpy is installed, which the package would hide"),
        ("schedframe", "schedframe is taken"),
        ("node-name", "a plugin named NodeName is installed"),
        ("a" * 37, "is too long; use at most 36 letters"),
    ],
)
def test_names_that_cannot_be_used(name: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        PluginNames.of(name)


def test_the_command_says_what_it_wrote_and_what_is_next(tmp_path: Path, cli: Cli) -> None:
    done = cli("new-plugin", "rack-rank", "--directory", str(tmp_path))
    assert done.code == 0
    *written, empty, following = done.out.splitlines()
    assert all(Path(line).is_file() for line in written)
    assert str(tmp_path / "rack-rank" / "src" / "rack_rank" / "plugin.py") in written
    assert empty == ""
    assert following == f"Next: cd {tmp_path / 'rack-rank'} && pip install -e '.[test]' && pytest"


def test_nothing_is_written_over(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "rack-rank").mkdir()
    assert cli("new-plugin", "rack-rank", "--directory", str(tmp_path)).code == 0  # an empty folder is fine
    done = cli("new-plugin", "rack-rank", "--directory", str(tmp_path))
    assert done.code == 2
    assert done.err.startswith(f"{tmp_path / 'rack-rank'}: is there already; choose another name")


def test_a_place_that_cannot_be_written_to(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "file").write_text("")
    done = cli("new-plugin", "rack-rank", "--directory", str(tmp_path / "file"))
    assert done.code == 2
    assert "cannot be written" in done.err
