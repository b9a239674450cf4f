"""A part of the library that needs an extra says so when it is imported without it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from schedframe._extras import require


def test_a_missing_package_is_reported_with_the_command_that_helps() -> None:
    require("cli", "nothing", "sys", "json")
    with pytest.raises(ModuleNotFoundError) as caught:
        require("serve", "serving", "json", "no_such_package")
    assert str(caught.value) == "serving needs no_such_package: pip install 'schedframe[serve]'"
    assert caught.value.name == "no_such_package"


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (
            "schedframe.cluster.kubernetes",
            "a real cluster needs msgspec: pip install 'schedframe[kubernetes]'",
        ),
        ("schedframe.serve", "serving over HTTP needs msgspec: pip install 'schedframe[serve]'"),
    ],
)
def test_packages_name_the_extra_that_they_need(module: str, message: str) -> None:
    code = (
        "import importlib.util as u, importlib\n"
        "find = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'msgspec' else find(name, *rest)\n"
        f"importlib.import_module({module!r})\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == f"ModuleNotFoundError: {message}"
