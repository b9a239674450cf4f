"""The contract may grow, and take arguments back, without breaking plugins that were written before."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from schedframe.framework.hookspecs import Hookspecs
from schedframe.framework.markers import PROJECT
from schedframe.framework.points import HOOK_ARGUMENTS

from .fakes import plan_of, plugin

OLD = DeprecationWarning("the argument pod of score goes away in 2.0; read the state instead")


@pytest.fixture
def deprecated_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    """score, with its argument ``pod`` on the way out."""
    options: dict[str, Any] = getattr(Hookspecs.score, f"{PROJECT}_spec")
    monkeypatch.setitem(options, "warn_on_impl_args", {"pod": OLD})


@pytest.mark.usefixtures("deprecated_pod")
def test_only_plugins_that_name_a_deprecated_argument_are_warned() -> None:
    with pytest.warns(DeprecationWarning, match="the argument pod of score goes away in 2.0") as caught:
        plan = plan_of(Old=plugin(score=lambda self, pod, node_info: 7))
    assert [warning.filename for warning in caught] == [__file__]  # where the plugin is defined
    assert plan.score[0].score is not None
    assert plan.score[0].score(None, None, None) == 7
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan_of(New=plugin(score=lambda self, node_info: 7))


def test_arguments_that_a_plugin_does_not_know_are_not_passed() -> None:
    assert HOOK_ARGUMENTS["score"] == ("state", "pod", "node_info")
    plan = plan_of(Before=plugin(score=lambda self, node_info: node_info))
    assert plan.score[0].score is not None
    assert plan.score[0].score("state", "pod", "info") == "info"
