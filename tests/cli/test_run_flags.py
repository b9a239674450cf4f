"""Flags of kube-scheduler: the notations that it takes, those without a use, and what they change."""

from __future__ import annotations

import inspect
import logging
from pathlib import Path

import pytest
import yaml

from schedframe._version import __version__
from schedframe.cli.main import run
from schedframe.cli.run import command as run_command
from schedframe.cli.run.field_flags import feature_gates, with_flags
from schedframe.cli.run.flags_of_kube_scheduler import (
    INAPPLICABLE,
    in_own_notation,
    inapplicable_flag,
)
from schedframe.cli.run.options import RunOptions
from schedframe.cli.run.serving_settings import CacheTimes, serving_settings
from schedframe.config import load_config
from schedframe.errors import InputError


@pytest.mark.parametrize(
    ("given", "own"),
    [
        ("run --leader-elect", "run --leader-elect=true"),
        ("run --leader-elect --profiling --config f", "run --leader-elect=true --profiling=true --config f"),
        ("run --leader-elect false", "run --leader-elect false"),
        ("run --leader-elect=false --v=2", "run --leader-elect=false"),
        ("run --v=4", "run -v"),
        ("run -v=10 --seed 1", "run -vv --seed 1"),
        ("run -v", "run -v"),
        ("run --v 7 --seed 1", "run -vv --seed 1"),
        ("run -v 2 --seed 1", "run --seed 1"),
        ("run --leader_elect=false --a=b_c", "run --leader-elect=false --a=b_c"),
        ("run --tracing --config f", "run --tracing=true --config f"),
        ("explain --profiling", "explain --profiling"),
    ],
)
def test_notations_of_kube_scheduler(given: str, own: str) -> None:
    assert in_own_notation(given.split()) == own.split()


def test_flags_without_a_use_are_refused_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    for flag in INAPPLICABLE:
        assert inapplicable_flag(["run", f"{flag}=x"]) is not None
        assert inapplicable_flag(["explain", flag]) is None
    assert run(["run", "--cert-dir", "/tmp"]) == 2
    expected = "--cert-dir does not apply: a certificate made at the start is kept in memory"
    assert expected in capsys.readouterr().err


def test_every_flag_of_kube_scheduler_is_known() -> None:
    """The list is what the help of kube-scheduler v1.36.2 names."""
    recorded = (Path(__file__).parent / "flags-of-kube-scheduler-v1.36.2.txt").read_text().split()
    assert len(recorded) == 60
    names = inspect.signature(run_command.run).parameters
    taken = {f"--{name.replace('_', '-')}" for name in names}
    taken |= {"--v", "--version", "--help", "--logging-format"}
    assert [flag for flag in recorded if flag not in taken and flag not in INAPPLICABLE] == []
    assert not taken & INAPPLICABLE.keys()
    assert all(INAPPLICABLE.values())


@pytest.mark.parametrize("flag", ["--version", "--version=raw", "--version=true"])
def test_run_says_its_version(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", flag]) == 0
    assert capsys.readouterr().out == f"schedframe {__version__}\n"


@pytest.mark.parametrize("flag", ["--v=2", "--logging-format=json", "--help"])
def test_flags_with_other_names_are_taken(flag: str, tmp_path: Path) -> None:
    assert run(["run", flag, "--write-config-to", str(tmp_path / "c.yaml")]) == 0


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("--secure-port", "70000"),
        ("--secure-port", "-1"),
        ("--grace", "nan"),
        ("--grace", "inf"),
        ("--grace", "-1"),
        ("--sync-timeout", "nan"),
        ("--sync-timeout", "inf"),
        ("--bind-address", "example.com"),
        ("--bind-address", "[::1]"),
        ("--tls-min-version", "VersionTLS10"),
        ("--tls-cert-file", "only-one-of-two"),
        ("--profiling", "maybe"),
        ("--leader-elect", "maybe"),
        ("--authentication-token-webhook-cache-ttl", "soon"),
        ("--authorization-webhook-cache-authorized-ttl", "-1s"),
        ("--authorization-always-allow-paths", "/a*b"),
    ],
)
def test_wrong_values_are_refused_at_once(
    flag: str, value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", f"{flag}={value}", "--write-config-to", str(tmp_path / "c.yaml")]) == 2
    assert flag in capsys.readouterr().err


def test_settings_of_the_server() -> None:
    settings = serving_settings(
        RunOptions(
            profiling="T",
            bind_address="::",
            authorization_webhook_cache_authorized_ttl="0s",
            authorization_always_allow_paths="healthz, /debug/*,",
        )
    )
    assert settings.profiling
    assert settings.cache_times == CacheTimes(token=10.0, allowed=0.0, denied=10.0)
    assert settings.always_allowed == ("/healthz", "/debug/*")


def test_every_flag_of_the_help_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "--help"]) == 0
    shown = capsys.readouterr().out
    heads = [line for line in shown.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert heads[:6] == [
        "Options:",
        "Leader election:",
        "Serving:",
        "Access to the server:",
        "Tracing:",
        "Deprecated:",
    ]
    assert not [flag for flag in INAPPLICABLE if f"{flag} " in shown]


def test_the_configuration_with_flags_is_written(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    flags = ["--leader-elect-lease-duration", "20s", "--kube-api-qps", "7", "--scheduler-name", "mine"]
    assert run(["run", "--write-config-to", str(file), *flags]) == 0
    written = yaml.safe_load(file.read_text())
    assert written["leaderElection"]["leaseDuration"] == "20s"
    assert written["clientConnection"]["qps"] == 7
    assert written["profiles"][0]["schedulerName"] == "mine"
    again = tmp_path / "again.yaml"
    assert run(["run", "--config", str(file), "--write-config-to", str(again)]) == 0
    assert again.read_text() == file.read_text()


def test_flags_are_validated_with_the_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "--leader-elect-lease-duration", "5s"]) == 2
    assert "leaderElection.leaseDuration" in capsys.readouterr().err
    assert run(["run", "--leader-elect-resource-lock", "endpoints"]) == 2
    assert "the only kind of lock left" in capsys.readouterr().err


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_requests_a_second_are_a_finite_number(
    value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "c.yaml"
    assert run(["run", f"--kube-api-qps={value}", "--write-config-to", str(path)]) == 2
    assert "clientConnection.qps: invalid value" in capsys.readouterr().err
    assert not path.exists()


def test_deprecated_flags_warn_and_give_way_to_a_configuration(caplog: pytest.LogCaptureFixture) -> None:
    config = load_config(None).config
    options = RunOptions(kube_api_burst=9, kube_api_content_type="x", contention_profiling="true")
    with caplog.at_level(logging.WARNING):
        assert with_flags(config, options).client_connection.burst == 9
    assert [record.args[0] for record in caplog.records if isinstance(record.args, tuple)] == [
        "kube-api-burst",
        "kube-api-content-type",
        "contention-profiling",
    ]
    given = RunOptions(kube_api_burst=9, config=Path("config.yaml"))
    assert with_flags(config, given).client_connection.burst == 100


def test_feature_gates(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        gates = feature_gates(RunOptions(feature_gates=["KubeletPSI=true", "DRADeviceTaints=true"]))
    assert gates.enabled("DRADeviceTaints")
    assert "KubeletPSI" in caplog.text
    with pytest.raises(InputError, match="--feature-gates"):
        feature_gates(RunOptions(feature_gates=["DRADeviceTaints=false"]))
    assert run(["run", "--feature-gates", "A=true,B=true"]) == 2


def test_feature_gates_change_the_default_profile(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    gates = ["--feature-gates", "GenericWorkload=true", "--feature-gates", "GangScheduling=true"]
    assert run(["run", "--write-config-to", str(file), *gates]) == 0
    assert "GangScheduling" in file.read_text()
    with_flag = ["--leader-elect=false", "--write-config-to", str(file)]
    assert run(["run", *gates, *with_flag]) == 0
    assert file.read_text().count("name: GangScheduling") == 1
