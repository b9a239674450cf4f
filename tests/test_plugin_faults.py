"""What a fault says: the type, the message, what it was about, and the line of the author's code."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from plugins_builtin.node_name import NodeName
from schedframe import NotFound, Status, evaluate, hookimpl, parse_quantity
from schedframe._base.plugin_faults import fault_text, place_of
from schedframe.errors import PluginError
from schedframe.testing import node, pod


def raised(function: Callable[[], Any]) -> BaseException:
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - what is raised is looked at by the test
        function()
    return caught.value


def line_of(function: Callable[..., Any], offset: int = 1) -> int:
    return inspect.getsourcelines(function)[1] + offset


def installed(package: str, source: str) -> dict[str, Any]:
    """A module of an installed package, as its frames show it."""
    names: dict[str, Any] = {}
    exec(compile(source, f"/venv/lib/python3.11/site-packages/{package}/plugin.py", "exec"), names)
    return names


def looks_up() -> Any:
    return {}["rack"]


def reads_json() -> Any:
    return json.loads("{")


def parses() -> Any:
    return parse_quantity("many")


def gives_numbers() -> Any:
    return Status.unschedulable(5)  # type: ignore[arg-type]


def uses_a_plugin() -> Any:
    return NodeName().filter(None, None)  # type: ignore[arg-type]


@pytest.mark.parametrize("function", [looks_up, reads_json, parses, gives_numbers, uses_a_plugin])
def test_the_innermost_line_of_the_author(function: Callable[[], Any]) -> None:
    """Though the standard library, this one or a plugin that comes with it raised."""
    place = place_of(raised(function))
    assert place == (__file__, line_of(function), function.__name__)


def test_text_of_an_exception() -> None:
    where = f"{Path(__file__).relative_to(Path.cwd())}:{line_of(looks_up)} in looks_up"
    assert fault_text(raised(looks_up)) == f"KeyError: 'rack' ({where})"
    assert fault_text(raised(looks_up), "pod a/b, node n") == f"KeyError: 'rack' (pod a/b, node n, {where})"


def test_without_a_text_or_a_place() -> None:
    assert fault_text(KeyError()) == "KeyError"
    assert fault_text(KeyError("x")) == "KeyError: 'x'"
    assert fault_text(KeyError("x"), "pod a/b") == "KeyError: 'x' (pod a/b)"

    class Odd(Exception):
        def __str__(self) -> str:
            raise ValueError

    assert fault_text(Odd()) == "Odd"


def test_what_the_cluster_or_the_library_said_stays_as_it_is() -> None:
    def refused() -> None:
        raise NotFound("no such pod")

    assert fault_text(raised(refused), "pod a/b") == "no such pod"
    assert fault_text(PluginError("plugin P answered 5; return None"), "pod a/b") == (
        "plugin P answered 5; return None"
    )

    def own() -> None:
        raise PluginError("mine")

    assert fault_text(raised(own)).startswith("PluginError: mine (")


def test_a_plugin_that_is_installed() -> None:
    """Its own package counts, not the libraries that it calls; code of the program counts before both."""
    library = installed("library", "def read(given):\n    return given()\n")
    author = installed("author", "def filter(read, given):\n\n    return read(given)\n")
    place = place_of(raised(lambda: author["filter"](library["read"], {}.popitem)))
    assert place is not None
    assert place.function == "<lambda>"
    own = installed(
        "author",
        "def run(filter, read, errors):\n    try:\n        filter(read, {}.popitem)\n"
        "    except KeyError as error:\n        errors.append(error)\n",
    )
    errors: list[BaseException] = []
    own["run"](author["filter"], library["read"], errors)
    place = place_of(errors[0])
    assert place is not None
    assert (place.file.endswith("site-packages/author/plugin.py"), place.line) == (True, 3)


def test_an_exception_that_was_raised_before() -> None:
    """Python keeps the frames of the first time behind those of the second."""
    error = LookupError("shared")

    def first(self: Any, pod: Any) -> None:
        raise error

    def second(self: Any, pod: Any) -> None:
        raise error

    places = []
    for function in (first, second, first):
        plugin = type("P", (), {"filter": hookimpl(function)})
        evaluation = evaluate([node("n")], pod("p"), plugins=[plugin])
        places.append(str(evaluation).rpartition(" in ")[2].partition(")")[0])
    assert places == ["first", "second", "first"]


def test_a_future_of_another_thread() -> None:
    def waits() -> None:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(looks_up).result()

    place = place_of(raised(waits))
    assert place is not None
    assert place.function == "looks_up"


def test_a_coroutine() -> None:
    async def inner() -> None:
        await asyncio.sleep(0)
        looks_up()

    async def outer() -> None:
        await asyncio.create_task(inner())

    place = place_of(raised(lambda: asyncio.run(outer())))
    assert place is not None
    assert place.function == "looks_up"


def test_a_working_directory_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(OSError):  # noqa: PT011 - the premise of the test
        os.getcwd()
    assert f"({__file__}:{line_of(looks_up)} in looks_up)" in fault_text(raised(looks_up))
