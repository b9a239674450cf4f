"""Installed plugin packages that cannot be loaded concern only the profiles that name their plugins."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from schedframe import ConfigError, Enabled, Registry, Simulation, __version__, evaluate, hookimpl
from schedframe.cli.plugins import plugin_rows, plugins_json, plugins_table
from schedframe.errors import PluginError
from schedframe.testing import node, pod
from tests.configurations import configuration, enabling

GOOD = """
from schedframe import hookimpl

class Rank:
    @hookimpl
    def score(self) -> int:
        return 7
"""
NODES = [node("a"), node("b")]

Install = Callable[..., None]
_FITS = f"schedframe>={__version__}"


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """``install("rank_package", source, "schedframe>=0.1")``: a package with a plugin ``Rank``."""
    monkeypatch.syspath_prepend(tmp_path)
    known = set(sys.modules)

    def put(module: str, source: str | None, requires: str = _FITS) -> None:
        if source is not None:
            (tmp_path / f"{module}.py").write_text(source, encoding="utf-8")
        info = tmp_path / f"{module}-2.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {module}\nVersion: 2.0\nRequires-Dist: {requires}\n",
            encoding="utf-8",
        )
        (info / "entry_points.txt").write_text(
            f"[schedframe.plugins]\nRank = {module}:Rank\n", encoding="utf-8"
        )

    yield put
    for name in set(sys.modules) - known:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(sys.modules[name].__file__):
            del sys.modules[name]


def config(*plugins: str) -> dict[str, Any]:
    return configuration(enabling(*plugins))


BROKEN = {
    "syntax": ("def x(:\n", r"SyntaxError: .*\(.*rank_syntax\.py, line 1\)"),
    "import": ("import no_such_module\n", "ModuleNotFoundError: No module named 'no_such_module'"),
    "exits": ("import sys\nsys.exit('usage: …')\n", "SystemExit: usage: …"),
    "raises": ("raise RuntimeError('no licence')\n", "RuntimeError: no licence"),
    "renamed": (
        GOOD.replace("Rank", "Ranks"),
        r"AttributeError: module 'rank_renamed' has no attribute 'Rank'; did you mean \"Ranks\"\?",
    ),
    "absent": (None, "ModuleNotFoundError: No module named 'rank_absent'"),
    "no_hooks": ("class Rank:\n    pass\n", "Rank implements no extension point"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_package_concerns_only_profiles_that_name_its_plugin(install: Install, kind: str) -> None:
    source, cause = BROKEN[kind]
    install(f"rank_{kind}", source)
    assert evaluate(NODES, pod("p")).best == ["a", "b"]
    assert evaluate(NODES, pod("p"), config("TaintToleration")).best == ["a", "b"]
    with pytest.raises(ConfigError, match=cause) as caught:
        evaluate(NODES, pod("p"), config("Rank"))
    message = str(caught.value)
    assert "profiles[0].plugins.multiPoint.enabled" in message
    assert "needs schedframe" not in message
    with pytest.raises(PluginError, match=cause):
        Registry.installed().factory("Rank")


@pytest.mark.parametrize("kind", BROKEN)
def test_the_list_of_plugins_shows_the_error_of_a_broken_package(install: Install, kind: str) -> None:
    source, _ = BROKEN[kind]
    install(f"rank_{kind}", source)
    rows = plugin_rows()
    broken = [row for row in rows if row.problem]
    assert [(row.name, row.source) for row in broken] == [("Rank", f"rank_{kind} 2.0")]
    assert broken[0].problem in "\n".join(plugins_table(rows))
    shown = {row["name"]: row for row in json.loads(plugins_json(rows))}
    assert shown["Rank"]["problem"] == broken[0].problem


def test_a_package_that_no_profile_names_is_not_imported(install: Install) -> None:
    install("rank_watched", GOOD)
    evaluate(NODES, pod("p"))
    assert "rank_watched" not in sys.modules
    assert evaluate(NODES, pod("p"), config("Rank")).scores["Rank"] == {"a": 7, "b": 7}
    assert "rank_watched" in sys.modules


@pytest.mark.parametrize(
    "requires",
    [
        "schedframe",
        "schedframe>=0.0.1",
        "schedframe[cli]>=0.0.1",
        f"schedframe (=={__version__})",
        "schedframe~=0.0",
        'schedframe>=99; extra == "new"',
    ],
)
def test_a_version_that_fits_is_never_the_reason(install: Install, requires: str) -> None:
    install("rank_fits", "import no_such_module\n", requires=requires)
    with pytest.raises(PluginError, match=r"No module named 'no_such_module'$"):
        Registry.installed().factory("Rank")


@pytest.mark.parametrize("requires", ["schedframe>=99", "schedframe[cli]>=0.0.1,<0.0.2", "schedframe (>=99)"])
def test_a_version_that_does_not_fit_is_named(install: Install, requires: str) -> None:
    install("rank_old", "import no_such_module\n", requires=requires)
    with pytest.raises(PluginError, match=r"\(rank_old 2\.0 needs .*, and this is "):
        Registry.installed().factory("Rank")


def test_two_packages_that_claim_one_name_concern_only_its_users(install: Install) -> None:
    install("rank_one", GOOD)
    install("rank_two", GOOD)
    assert evaluate(NODES, pod("p")).best == ["a", "b"]
    with pytest.raises(ConfigError, match=r"plugin Rank is offered by .*; uninstall one of the packages"):
        evaluate(NODES, pod("p"), config("Rank"))
    assert [row.name for row in plugin_rows() if "is offered by" in row.problem] == ["Rank"]


def test_a_broken_plugin_is_still_a_taken_name(install: Install) -> None:
    install("rank_taken", "def x(:\n")
    with pytest.raises(PluginError, match="plugin Rank is registered already"):
        Registry.installed().register("Rank", object)
    with pytest.raises(ConfigError, match='did you mean "Rank"'):
        Simulation(NODES, config("Rankk"))


@pytest.mark.parametrize("form", ["class", "instance", "partial", "enabled"])
def test_the_class_of_an_installed_package_can_be_passed(install: Install, form: str) -> None:
    install("rank_passed", GOOD)
    cls = importlib.import_module("rank_passed").Rank
    forms = {"class": cls, "instance": cls(), "partial": partial(cls), "enabled": Enabled(cls, weight=3)}
    scores = evaluate(NODES, pod("p"), plugins=[forms[form]]).scores
    assert scores["Rank"] == dict.fromkeys(("a", "b"), 21 if form == "enabled" else 7)


def test_another_class_cannot_take_the_name_of_an_installed_plugin(install: Install) -> None:
    install("rank_theirs", GOOD)
    other = type("Rank", (importlib.import_module("rank_theirs").Rank,), {})
    with pytest.raises(PluginError, match="plugin Rank is registered already; choose another name"):
        evaluate(NODES, pod("p"), plugins=[other])


def test_an_installed_class_cannot_be_passed_twice(install: Install) -> None:
    install("rank_twice", GOOD)
    cls = importlib.import_module("rank_twice").Rank
    with pytest.raises(PluginError, match="plugin Rank is registered already"):
        evaluate(NODES, pod("p"), plugins=[cls, cls()])


def test_passing_beside_a_broken_package_of_that_name(install: Install) -> None:
    install("rank_syntax", "def x(:\n")
    with pytest.raises(PluginError, match="plugin Rank is registered already"):
        evaluate(NODES, pod("p"), plugins=[type("Rank", (), {"score": hookimpl(lambda self: 1)})])
