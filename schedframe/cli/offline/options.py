"""The options of ``schedframe schedule`` and ``schedframe explain``; typer reads types and help from here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..._base.value import record
from ...config.feature_gates import VERSION
from ...controllers import PARTS, Workloads
from ...controllers.switches import names_of
from ..output.forms import ExplainForm, Form
from .live import LiveSource
from .sources import SourceOptions, Validate
from .what_if import NODE_PREFIX, WhatIf

ConfigFile = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="KubeSchedulerConfiguration.")
]
ValidateOption = Annotated[
    Validate,
    typer.Option(
        "--validate",
        help="What to do about manifests that Kubernetes would refuse: unknown fields, keys that are there "
        "twice, values outside an enumeration.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Decides between nodes of equal score.")]
AllowImports = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-import",
        metavar="PREFIX",
        help="Follow import paths of plugins in the configuration into this module or package.",
    ),
]

HowWorkloads = Annotated[
    Workloads,
    typer.Option(
        "--workloads",
        help="Pods of Deployments, Jobs and the like: auto makes those of workloads without pods, "
        "expand also missing ones, ignore none.",
    ),
]

Without = Annotated[
    list[str] | None,
    typer.Option(
        "--without",
        metavar="node/NAME|PART,…",
        help="A node that is taken out first: its pods wait again. Or what is not played for the manifests: "
        + ", ".join(PARTS)
        + "; or all. May be repeated.",
    ),
]
Add = Annotated[
    list[str] | None,
    typer.Option("--add", metavar="N=NODE", help="First add N empty nodes like this one. May be repeated."),
]
Scale = Annotated[
    list[str] | None,
    typer.Option(
        "--scale",
        metavar="WORKLOAD=N",
        help="First give a workload that many pods, as deployment/web=20. May be repeated.",
    ),
]

Files = Annotated[
    list[str] | None, typer.Argument(metavar="FILE", help="Manifests, YAML or JSON; a folder; - is stdin.")
]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Show faults of plugins with tracebacks on stderr.")
]
ConfigCopy = Annotated[
    Path | None,
    typer.Option("--write-config-to", metavar="FILE", help="Also write the effective configuration there."),
]
ExplainPod = Annotated[
    str | None,
    typer.Option(
        "--explain",
        metavar="[POD]",
        help="Explain node by node, and what would help: one pod, as it was at its turn; without POD all "
        "that stay pending.",
    ),
]
Kubeconfig = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE", help="Read this real cluster too, and change nothing of it. May be repeated."
    ),
]
Context = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Read the real cluster of this context; of --kubeconfig, or where kubectl looks."
    ),
]
Gates = Annotated[
    list[str] | None,
    typer.Option(
        "--feature-gates",
        metavar="NAME=BOOL,…",
        help=f"Feature gates of Kubernetes v{VERSION}. May be repeated.",
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="With a real cluster: say where the pods would go.")]
Changes = Annotated[
    int, typer.Option("--changes", metavar="N", min=0, help="Kinds of changes to find that would help.")
]
Nearest = Annotated[int, typer.Option("--nearest", metavar="N", min=0, help="Nearest nodes to report.")]
After = Annotated[
    bool, typer.Option("--after", help="First place the pending pods, and explain the pod after that.")
]


@record(frozen=True, kw_only=True)
class ClusterOptions:
    """Options of the commands that read a cluster: its source, changes to it, how its scheduler decides."""

    allow_import: AllowImports = None
    seed: Seed = 0
    validate: ValidateOption = Validate.STRICT
    verbose: Verbose = False
    workloads: HowWorkloads = Workloads.AUTO
    without: Without = None
    add: Add = None
    scale: Scale = None
    kubeconfig: Kubeconfig = None
    context: Context = None
    feature_gates: Gates = None

    @property
    def source(self) -> SourceOptions:
        """Return how to read manifests. Raises :class:`InputError` for an unknown part."""
        return SourceOptions(self.workloads, self.validate, names_of(parts_in(self.without)))

    @property
    def what_if(self) -> WhatIf:
        """Return what is changed before anything is asked. Raises :class:`InputError`."""
        return WhatIf.parsed(self.add or (), nodes_in(self.without), self.scale or ())

    @property
    def live(self) -> LiveSource | None:
        """The real cluster to read, of which nothing is changed; ``None``: none is named."""
        return live_source(self.kubeconfig, self.context)


@record(frozen=True, kw_only=True)
class ScheduleOptions(ClusterOptions):
    """The options of ``schedframe schedule``."""

    files: Files = None
    config: ConfigFile = None
    output: Annotated[Form, typer.Option("--output", "-o", help="How the answer is written.")] = Form.TABLE
    explain: ExplainPod = None
    write_config_to: ConfigCopy = None
    dry_run: DryRun = False

    def check(self) -> None:
        """Raise an error of usage if something is missing, or does not go together."""
        if self.live is not None and not self.dry_run:
            raise typer.BadParameter(
                "schedule changes nothing of a real cluster; say that this is meant by --dry-run"
            )
        if self.explain is not None and self.output is Form.BINDINGS:
            raise typer.BadParameter(
                "--explain has no place among bindings; use -o table, wide, json or yaml"
            )
        check_files(self.files, self.live)


@record(frozen=True, kw_only=True)
class ExplainOptions(ClusterOptions):
    """The options of ``schedframe explain``."""

    pod: Annotated[str, typer.Argument(metavar="POD", help="The pod: name or namespace/name.")]
    files: Files = None
    config: ConfigFile = None
    output: Annotated[ExplainForm, typer.Option("--output", "-o", help="How the answer is written.")] = (
        ExplainForm.TEXT
    )
    changes: Changes = 5
    nearest: Nearest = 5
    after: After = False

    def check(self) -> None:
        """Raise an error of usage if something is missing."""
        check_files(self.files, self.live)


def _entries(without: list[str] | None) -> list[str]:
    return [name for text in without or () for name in text.split(",")]


def parts_in(without: list[str] | None) -> list[str]:
    """Return the parts that ``--without`` names."""
    return [name for name in _entries(without) if not name.startswith(NODE_PREFIX)]


def nodes_in(without: list[str] | None) -> list[str]:
    """Return the nodes that ``--without`` names."""
    return [name for name in _entries(without) if name.startswith(NODE_PREFIX)]


def live_source(kubeconfig: list[str] | None, context: str | None) -> LiveSource | None:
    """Return the real cluster that the options name, ``None`` if they name none."""
    return None if kubeconfig is None and context is None else LiveSource(kubeconfig or [], context)


def check_files(files: list[str] | None, live: LiveSource | None) -> None:
    """Raise an error of usage if there is nothing to read."""
    if not files and live is None:
        raise typer.BadParameter("name at least one file with manifests, or - for standard input")
    if "" in (files or ()):
        raise typer.BadParameter("an empty text names no FILE; . is the working directory")
