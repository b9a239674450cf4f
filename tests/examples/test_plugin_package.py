"""The plugin package: found once it is installed, and not before; its own tests pass."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from .installing import installed
from .running import EXAMPLES, ROOT, documented, matches, shell

PACKAGE = EXAMPLES / "05-plugin-package"


@pytest.fixture
def with_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in installed(PACKAGE, tmp_path / "site").items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("with_the_package")
def test_commands_after_the_installation_print_what_is_documented() -> None:
    (command, shown), *others = documented(PACKAGE / "README.md", language="text")
    assert not others
    done = shell(command, ROOT, started=True)
    assert matches(shown, done.stdout), f"$ {command}\n{done.stdout}\n{done.stderr}"


@pytest.mark.usefixtures("with_the_package")
@pytest.mark.slow
def test_its_own_tests_pass(tmp_path: Path) -> None:
    options = f"-q -p no:cacheprovider -p no:xdist --basetemp='{tmp_path / 'tmp'}'"
    done = shell(f"'{sys.executable}' -m pytest {options}", PACKAGE, started=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_without_the_package_the_configuration_is_refused() -> None:
    command, _ = documented(PACKAGE / "README.md", language="text")[0]
    done = shell(command, ROOT)
    assert done.returncode == 2
    assert "Maintenance" in done.stderr
