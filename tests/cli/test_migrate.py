"""``schedframe config migrate``."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import indent

import pytest

from plugins_builtin.legacy.flags import FORMER_FLAGS, TAKEN_BY_RUN

from .conftest import Cli

Write = Callable[[str, str], str]

POLICY = """\
kind: Policy
apiVersion: v1
predicates:
- {name: PodFitsResources}
priorities:
- {name: MostRequestedPriority, weight: 2}
- {name: a, weight: 97, argument: {labelPreference: {label: a, presence: true}}}
- {name: b, weight: 89, argument: {labelPreference: {label: b, presence: true}}}
"""


def test_a_policy_becomes_a_configuration_that_check_accepts(cli: Cli, write: Write) -> None:
    migrated = cli("config", "migrate", write("policy.yaml", POLICY))
    assert migrated.code == 0
    lines = migrated.out.splitlines()
    assert lines[0] == "# Migrated from Policy v1."
    assert "# predicates[0]: PodFitsResources → NodeResourcesFit" in lines
    assert "NOT KEPT: priorities: NodeLabel scores its labels with equal weights" in migrated.err
    checked = cli("config", "check", write("config.yaml", migrated.out))
    assert (checked.code, checked.out) == (0, "config.yaml: good; profiles: default-scheduler\n")


def test_a_config_map_on_standard_input(cli: Cli) -> None:
    config_map = f"kind: ConfigMap\napiVersion: v1\ndata:\n  policy.cfg: |\n{indent(POLICY, '    ')}"
    migrated = cli("config", "migrate", "-", stdin=config_map)
    assert migrated.code == 0
    assert migrated.out.startswith("# Migrated from Policy v1.\n")


@pytest.mark.parametrize("version", ["v1", "kubescheduler.config.k8s.io/v1beta3"])
def test_other_commands_name_the_one_that_converts(cli: Cli, write: Write, version: str) -> None:
    failed = cli("config", "check", write("old.yaml", f"kind: Policy\napiVersion: {version}\n"))
    assert failed.code == 2
    assert "schedframe config migrate converts older versions and policies" in failed.err


OLDER = """\
apiVersion: kubescheduler.config.k8s.io/{version}
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: packer
  plugins:
    score: {{enabled: [{{name: {name}, weight: 3}}]}}
extenders:
- urlPrefix: https://rank.example.com
  filterVerb: filter
  enableHttps: true
  TLSConfig: {{CAFile: /nowhere/ca.crt}}
"""


@pytest.mark.parametrize("version", ["v1alpha2", "v1beta1", "v1beta2", "v1beta3"])
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("FitLimits", "there is no such plugin"),
        ("TargetLoadPacking", "this is a plugin of kubernetes-sigs/scheduler-plugins"),
        ("mine.plugins:Rank", "import paths"),
    ],
)
def test_plugins_and_files_that_are_not_here_do_not_matter(
    cli: Cli, write: Write, version: str, name: str, reason: str
) -> None:
    migrated = cli("config", "migrate", write("old.yaml", OLDER.format(version=version, name=name)))
    assert migrated.code == 0
    assert f"name: {name}" in migrated.out.replace('"', "")
    assert "caFile: /nowhere/ca.crt" in migrated.out
    warnings = [line for line in migrated.err.splitlines() if line.startswith("warning: ")]
    if ":" in name:
        assert not warnings
    else:
        (warning,) = warnings
        assert f"'{name}': {reason}" in warning
        assert f"# TO DO: {warning.removeprefix('warning: ')}" in migrated.out.splitlines()


def test_what_no_version_reads_is_still_refused(cli: Cli, write: Write) -> None:
    text = OLDER.format(version="v1beta3", name="NodeAffinity").replace("filterVerb", "filtrVerb")
    failed = cli("config", "migrate", write("old.yaml", text))
    assert (failed.code, failed.out) == (2, "")
    assert "extenders[0].filtrVerb: unknown field" in failed.err


def test_an_algorithm_provider(cli: Cli, write: Write) -> None:
    migrated = cli("config", "migrate", "--algorithm-provider", "ClusterAutoscalerProvider")
    assert "type: MostAllocated" in migrated.out
    assert cli("config", "check", write("config.yaml", migrated.out)).code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give a FILE or --algorithm-provider"),
        (("--algorithm-provider", "Other"), "Other is neither DefaultProvider nor ClusterAutoscalerProvider"),
        (("no-such-file.yaml",), "cannot be read"),
    ],
)
def test_bad_usage(cli: Cli, arguments: tuple[str, ...], message: str) -> None:
    failed = cli("config", "migrate", *arguments)
    assert failed.code == 2
    assert message in failed.err


REFUSED = [
    *(("schedule", flag) for flag in FORMER_FLAGS),
    *(("run", flag) for flag in FORMER_FLAGS if flag not in TAKEN_BY_RUN),
]


@pytest.mark.parametrize(("command", "flag"), REFUSED)
def test_former_flags_are_refused_with_their_successor(cli: Cli, command: str, flag: str) -> None:
    for arguments in ([flag, "x"], [f"{flag}=x"]):
        failed = cli(command, *arguments)
        assert failed.code == 2
        assert failed.err == f"Error: {flag} became configuration: {FORMER_FLAGS[flag]}\n"


def test_what_follows_two_dashes_is_no_flag(cli: Cli) -> None:
    failed = cli("schedule", "--", "--disable-preemption")
    assert "became configuration" not in failed.err
