"""Plugins that say which versions they work with."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe import Registry, __version__
from schedframe.errors import PluginError
from schedframe.framework.requirement import check_requirement

from .fakes import plugin_class


def made_for(stated: Any) -> type[Any]:
    return plugin_class("Dated", score=lambda self: 0, requires_schedframe=stated)


@pytest.mark.parametrize(
    "stated", [">=0.3", ">=0.3,<0.5", "==0.4", "==0.4.0", "!=0.3", " >= 0.3 , < 1 ", ">0.3.9", "<=0.4"]
)
@pytest.mark.parametrize("version", ["0.4", "0.4.0", "0.4.0.dev3", "0.4rc1"])
def test_versions_that_fit(stated: str, version: str) -> None:
    check_requirement("Dated", made_for(stated), version)


@pytest.mark.parametrize("stated", [">=0.5", ">=0.3,<0.4", "==0.3", "!=0.4", ">0.4", "<0.4", "<=0.3.10"])
def test_versions_that_do_not_fit(stated: str) -> None:
    with pytest.raises(PluginError) as error:
        check_requirement("Dated", made_for(stated), "0.4.0")
    assert str(error.value) == (
        f"plugin Dated needs schedframe {stated}, and this is 0.4.0; install a schedframe that fits, or a "
        "release of Dated that was made for 0.4.0"
    )


def test_numbers_are_compared_as_numbers() -> None:
    check_requirement("Dated", made_for(">=0.9"), "0.10")


@pytest.mark.parametrize("stated", ["0.3", "~=0.3", ">=zero", "", 3, ">=0.3;"])
def test_what_is_no_requirement(stated: Any) -> None:
    with pytest.raises(PluginError, match=r"write conditions as in '>=0\.3,<0\.5'"):
        check_requirement("Dated", made_for(stated))


def test_a_plugin_that_states_nothing_works_with_all() -> None:
    check_requirement("Undated", plugin_class(score=lambda self: 0))


def test_registration_asks() -> None:
    with pytest.raises(PluginError, match=f"needs schedframe >=99, and this is {__version__}"):
        Registry.installed().register("Dated", made_for(">=99"))
