"""A bind plugin after one that binds every pod is never called, which the log and ``config check`` say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from schedframe import Registry, Status
from schedframe.cli.config_check import check_config

from .build import PROFILE, World, config_with, make_node, make_pod, plugin_class

Skipping = plugin_class("Skipping", bind=lambda self: Status.skip())
NEVER = (
    f"profile {PROFILE}: Skipping is never called at bind: DefaultBinder comes before and binds every pod; "
    "disable DefaultBinder under plugins.bind, and enable it again after the others if it is to stay"
)


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]


def test_a_binder_after_the_default_one_is_named_once(caplog: pytest.LogCaptureFixture) -> None:
    world = World({"Skipping": Skipping})
    world.create(make_node(), make_pod())
    world.settle()
    world.settle()
    assert said(caplog) == [NEVER]
    assert world.node_of() == "n"


@pytest.mark.parametrize("order", [["Skipping", "DefaultBinder"], ["DefaultBinder"]])
def test_nothing_is_said_of_binders_that_are_called(
    order: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    world = World({"Skipping": Skipping}, only={"bind": order})
    world.create(make_node(), make_pod())
    world.settle()
    assert said(caplog) == []
    assert world.node_of() == "n"


def test_a_reload_names_it_too(caplog: pytest.LogCaptureFixture) -> None:
    world = World({"Skipping": Skipping}, only={"bind": ["Skipping", "DefaultBinder"]})
    world.settle()
    world.scheduler.reload(config_with("Skipping"))
    world.settle()
    assert said(caplog) == [NEVER]


def test_a_check_of_the_configuration_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    installed = Registry.installed()
    installed.register("Skipping", Skipping)
    monkeypatch.setattr(Registry, "installed", lambda *_, **__: installed)
    path = tmp_path / "config.yaml"
    path.write_text(json.dumps(config_with("Skipping")))
    assert "good; profiles" in check_config(path)
    assert NEVER in capsys.readouterr().err.replace("\n", " ")
