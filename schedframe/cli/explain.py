"""``schedframe explain POD``: why one pod is where it is, in the cluster of manifests or in a real one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from ..errors import InputError
from ..framework import Registry
from ..simulate.workloads import Workloads
from ..why import Explanation, explain
from ..why.explanation import Verdict
from .commands import configuration
from .forms import ExplainForm
from .live import LiveSource
from .scheduling import faults_shown
from .sources import Validate, read_manifests
from .terminal import note, progress
from .yaml_text import yaml_text


@frozen
class ExplainRequest:
    """The options of ``schedframe explain``."""

    pod: str
    files: list[str]
    config: Path | None
    allow_imports: list[str]
    changes: int
    nearest: int
    verbose: bool
    workloads: Workloads = Workloads.AUTO
    validate: Validate = Validate.STRICT
    after: bool = False
    seed: int = 0
    live: LiveSource | None = None
    """The real cluster of the pod, of which nothing is changed."""
    feature_gates: Sequence[str] = ()


def run_explain(request: ExplainRequest) -> Explanation:
    """Read, and explain. Raises ConfigError, InputError."""
    registry = Registry.installed(request.allow_imports)
    config = configuration(request.config, registry, request.feature_gates)
    live = request.live.read("explain --kubeconfig") if request.live is not None else ()
    with progress("reading manifests") as advance:
        manifests = read_manifests(request.files, advance, request.workloads, request.validate, live)
    for line in manifests.notes():
        note(line)
    with faults_shown(request.verbose):
        try:
            return explain(
                manifests.objects,
                request.pod,
                config,
                allow_imports=request.allow_imports,
                changes=request.changes,
                nearest=request.nearest,
                after=request.after,
                seed=request.seed,
            )
        except InputError as error:
            raise (_as_argument(error) if error.path == "pod" else error) from None


def _as_argument(error: InputError) -> InputError:
    return InputError("POD", error.problem, error.fix)


def has_node(explanation: Explanation) -> bool:
    """Whether the pod has a node, or would get one."""
    return explanation.verdict in (Verdict.PLACED, Verdict.FITS)


def form(explanation: Explanation, wanted: ExplainForm) -> str:
    """The answer on stdout."""
    if wanted is ExplainForm.TEXT:
        return str(explanation)
    document = explanation.to_dict()
    if wanted is ExplainForm.YAML:
        return yaml_text(document)
    return json.dumps(document, indent=2, ensure_ascii=False)
