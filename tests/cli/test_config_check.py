"""``schedframe config check``: what it reads, and what it notes about a good configuration."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import indent
from typing import Any

import pytest

from schedframe.framework import Registry
from tests.config.certificate import CERTIFICATE

from .conftest import Cli

Write = Callable[[str, str], str]

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
EXTENDER = """\
extenders:
- urlPrefix: https://rank.example.com
  filterVerb: filter
  enableHTTPS: true
  tlsConfig: {certFile: client.crt, keyFile: client.key}
"""


def checked(cli: Cli, write: Write, text: str, *options: str) -> tuple[int, list[str]]:
    """Return the exit code and the lines on stderr."""
    result = cli("config", "check", write("config.yaml", HEAD + text), *options)
    return result.code, result.err.splitlines()


# ---- files ----------------------------------------------------------------------------------------------


def test_certificates_are_read_only_where_an_option_says_so(cli: Cli, write: Write) -> None:
    assert checked(cli, write, EXTENDER) == (0, [])
    code, lines = checked(cli, write, EXTENDER, "--files")
    assert code == 2
    assert [line.partition(": cannot be read")[0] for line in lines] == [
        "config.yaml:7: extenders[0].tlsConfig.certFile: invalid value 'client.crt'",
        "config.yaml:7: extenders[0].tlsConfig.keyFile: invalid value 'client.key'",
    ]
    write("ca.crt", CERTIFICATE.decode())
    trusting = EXTENDER.replace("certFile: client.crt, keyFile: client.key", "caFile: ca.crt")
    assert checked(cli, write, trusting, "--files") == (0, [])
    write("ca.crt", "no certificate")
    assert checked(cli, write, trusting)[0] == 0
    assert "holds no PEM block" in checked(cli, write, trusting, "--files")[1][0]
    assert cli("config", "show", write("config.yaml", HEAD + EXTENDER.replace("client", "none"))).code == 0


def test_settings_that_need_no_file_are_checked_in_any_case(cli: Cli, write: Write) -> None:
    text = EXTENDER.replace("tlsConfig: {", "tlsConfig: {insecure: true, caFile: ca.crt, ")
    code, lines = checked(cli, write, text)
    assert code == 2
    assert "extenders[0].tlsConfig.insecure: forbidden" in lines[0]


# ---- plugins of other projects ----------------------------------------------------------------------------


def enabling(name: str, *points: str) -> str:
    lists = [f"    {point}: {{enabled: [{{name: {name}}}]}}" for point in points]
    return "\n".join(
        ["profiles:", "- plugins:", *lists, "  pluginConfig:", f"  - name: {name}", "    args: {a: 1}"]
    )


@pytest.mark.parametrize(
    ("name", "project", "points"),
    [
        ("Coscheduling", "kubernetes-sigs/scheduler-plugins", ("preFilter", "permit", "reserve")),
        ("CapacityScheduling", "kubernetes-sigs/scheduler-plugins", ("preFilter", "postFilter")),
        ("NodeResourceTopologyMatch", "kubernetes-sigs/scheduler-plugins", ("filter", "score")),
        ("TargetLoadPacking", "kubernetes-sigs/scheduler-plugins", ("score",)),
        ("PreemptionToleration", "kubernetes-sigs/scheduler-plugins", ("multiPoint",)),
        ("LoadAwareScheduling", "koordinator-sh/koordinator", ("filter", "reserve", "score")),
        ("Open-Gpu-Share", "alibaba/open-simulator", ("filter", "reserve")),
        ("binpack", "volcano-sh/volcano", ("score",)),
    ],
)
def test_a_plugin_of_another_project_is_a_note(
    cli: Cli, write: Write, name: str, project: str, points: tuple[str, ...]
) -> None:
    code, lines = checked(cli, write, enabling(name, *points))
    assert lines == [
        f"note: {name} is a plugin of {project}, and not part of this release; its arguments are not checked"
    ]
    assert code == 0


@pytest.mark.parametrize(("point", "default"), [("queueSort", "PrioritySort"), ("bind", "DefaultBinder")])
def test_it_may_sort_the_queue_or_bind(cli: Cli, write: Write, point: str, default: str) -> None:
    name = "QOSSort"
    lists = f"{{enabled: [{{name: {name}}}], disabled: [{{name: {default}}}]}}"
    code, lines = checked(cli, write, f"profiles: [{{plugins: {{{point}: {lists}}}}}]")
    assert (code, len(lines)) == (0, 1)
    assert "QOSSort is a plugin of kubernetes-sigs/scheduler-plugins" in lines[0]


def test_the_rest_of_the_file_is_checked(cli: Cli, write: Write) -> None:
    text = enabling("Coscheduling", "permit") + "\n  percentageOfNodesToScore: 101\n"
    code, lines = checked(cli, write, text)
    assert code == 2
    assert "percentageOfNodesToScore" in lines[-1]


def test_names_that_no_project_has_are_errors_without_a_guess(cli: Cli, write: Write) -> None:
    code, lines = checked(cli, write, enabling("MyToleration", "filter"))
    assert code == 2
    assert lines[0].endswith("there is no such plugin; register it or leave it out")


# ---- what has no effect -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "place", "remark"),
    [
        ("parallelism: 4", "3: parallelism", "has no effect in schedframe"),
        ("enableProfiling: false", "3: enableProfiling", "has no effect in schedframe"),
        (
            "profiles: [{plugins: {filter: {disabled: [{name: TaintTolerations}]}}}]",
            "3: profiles[0].plugins.filter.disabled[0]",
            'has no effect: there is no plugin TaintTolerations; did you mean "TaintToleration"?',
        ),
        (
            "profiles: [{plugins: {score: {disabled: [{name: NodePorts}]}}}]",
            "3: profiles[0].plugins.score.disabled[0]",
            "has no effect: NodePorts does not run at score",
        ),
        (
            "profiles: [{plugins: {score: {disabled: [{name: NodeLabel}]}}}]",
            "3: profiles[0].plugins.score.disabled[0]",
            "has no effect: NodeLabel is not enabled",
        ),
        (
            "profiles: [{plugins: {filter: {enabled: [{name: NodePorts, weight: 3}]}}}]",
            "3: profiles[0].plugins.filter.enabled[0].weight",
            "has no effect at filter, where nothing is scored",
        ),
        (
            "profiles: [{plugins: {multiPoint: {disabled: [{name: InterPodAffinity}]}},"
            " pluginConfig: [{name: InterPodAffinity, args: {}}]}]",
            "3: profiles[0].pluginConfig[0]",
            "has no effect: InterPodAffinity is not enabled",
        ),
        ("extenders: [{urlPrefix: 'http://a'}]", "3: extenders[0]", "is never called: it has no verb"),
        (
            "extenders: [{urlPrefix: 'http://a', filterVerb: f, weight: 2}]",
            "3: extenders[0].weight",
            "has no effect without a prioritizeVerb",
        ),
        (
            "profiles: [{plugins: {multiPoint: {enabled: [{name: EBSLimits}]}}}]",
            "3: profiles[0].plugins.multiPoint.enabled[0]",
            "kube-scheduler v1.36 refuses EBSLimits; it has NodeVolumeLimits",
        ),
        (
            "profiles: [{runAllFilters: true}]",
            "3: profiles[0].runAllFilters",
            "kube-scheduler has no such field",
        ),
    ],
)
def test_remarks_on_a_good_configuration(cli: Cli, write: Write, text: str, place: str, remark: str) -> None:
    assert checked(cli, write, text) == (0, [f"note: config.yaml:{place}: {remark}"])


def test_disabling_what_runs_has_an_effect(cli: Cli, write: Write) -> None:
    names = ("NodePorts", "TaintToleration", "*")
    for name in names:
        assert checked(
            cli, write, f"profiles: [{{plugins: {{filter: {{disabled: [{{name: '{name}'}}]}}}}}}]"
        ) == (0, [])


@pytest.mark.parametrize(
    ("more", "line"),
    [("---\nparallelism: 4\n", 3), ("---\n- {\n", 3), ("---\n", 0), ("---\n# nothing\n", 0), ("", 0)],
)
def test_a_second_document_is_noted(cli: Cli, write: Write, more: str, line: int) -> None:
    notes = (
        [f"note: config.yaml:{line}: a second document begins; only the first one is read"] if line else []
    )
    assert checked(cli, write, more) == (0, notes)


def test_a_config_map_is_named_with_the_command_that_unwraps_it(cli: Cli, write: Write) -> None:
    entry = f"apiVersion: v1\nkind: ConfigMap\ndata:\n  config.yaml: |\n{indent(HEAD, '    ')}"
    file = write("map.yaml", entry)
    result = cli("config", "check", file)
    assert result.code == 2
    assert "map.yaml:2: kind: invalid value 'ConfigMap'" in result.err
    assert "schedframe config migrate takes it out of a ConfigMap" in result.err
    migrated = cli("config", "migrate", file)
    assert migrated.code == 0
    assert cli("config", "check", write("out.yaml", migrated.out)).code == 0


def test_a_template_says_that_it_is_one(cli: Cli, write: Write) -> None:
    for text in (f"{HEAD}{{{{- if .a }}}}\n", f"{HEAD}parallelism: {{{{ .Values.n }}}}\n"):
        result = cli("config", "check", write("template.yaml", text))
        assert result.code == 2
        assert "render the template first" in result.err
        result = cli("schedule", write("template.yaml", text))
        assert "render the template first" in result.err


def test_no_plugin_of_this_release_is_of_another_project() -> None:
    from schedframe.config.elsewhere import project_of

    names: Any = Registry.installed(skip_imports=True).full_catalogue().names()
    assert not [name for name in names if project_of(name)]
