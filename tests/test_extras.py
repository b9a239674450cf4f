"""A part of the library that needs an extra says so when it is imported without it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from schedframe._base.extras import require

from .configurations import META


def test_a_missing_package_is_reported_with_the_command_that_helps() -> None:
    require("cli", "nothing", "sys", "json")
    with pytest.raises(ModuleNotFoundError) as caught:
        require("serve", "serving", "json", "no_such_package")
    assert str(caught.value) == "serving needs no_such_package: pip install 'schedframe[serve]'"
    assert caught.value.name == "no_such_package"


def without(missing: str, statement: str) -> subprocess.CompletedProcess[str]:
    """Run *statement* in an interpreter that does not find the package *missing*."""
    code = (
        "import importlib.util as u, importlib\n"
        "find = u.find_spec\n"
        f"u.find_spec = lambda name, *rest: None if name == {missing!r} else find(name, *rest)\n"
        f"{statement}\n"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("module", "missing", "message"),
    [
        (
            "schedframe.cluster.kubernetes",
            "msgspec",
            "a real cluster needs msgspec: pip install 'schedframe[kubernetes]'",
        ),
        (
            "schedframe.serve",
            "msgspec",
            "serving over HTTP needs msgspec: pip install 'schedframe[serve]'",
        ),
        (
            "schedframe.extenders",
            "httptools",
            "an extender over HTTP needs httptools: pip install 'schedframe[extenders]'",
        ),
    ],
)
def test_packages_name_the_extra_that_they_need(module: str, missing: str, message: str) -> None:
    done = without(missing, f"importlib.import_module({module!r})")
    assert done.stderr.splitlines()[-1] == f"ModuleNotFoundError: {message}"


def test_a_configuration_with_extenders_names_the_extra_that_they_need() -> None:
    entry = {"urlPrefix": "http://127.0.0.1:1", "filterVerb": "filter"}
    config = {**META, "extenders": [entry]}
    done = without("httptools", f"import schedframe; schedframe.Simulation([], {config!r})")
    line = done.stderr.splitlines()[-1]
    assert "ConfigBuildError" in line
    assert (
        "extenders: forbidden: an extender over HTTP needs httptools: pip install 'schedframe[extenders]'"
        in line
    )


def test_an_extender_in_this_process_needs_no_extra() -> None:
    done = without(
        "httptools",
        "import schedframe\n"
        "from schedframe.framework import BaseExtender\n"
        "with schedframe.Simulation([], extenders=[BaseExtender()]) as simulation:\n"
        "    print(len(simulation.scheduler.core.extenders))",
    )
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_the_command_that_serves_an_extender_names_the_extra_that_it_needs() -> None:
    done = without(
        "uvicorn", "from schedframe.cli.main import run; raise SystemExit(run(['extender', '--config=x']))"
    )
    assert done.returncode == 2
    assert done.stderr == "serving over HTTP needs uvicorn: pip install 'schedframe[serve]'\n"
