"""``schedframe explain POD``: why one pod is where it is, in the cluster of manifests or in a real one."""

from __future__ import annotations

from ...api.yaml_writer import to_yaml
from ...errors import InputError
from ...framework import Registry
from ...why import Explanation
from ...why.explain import explain_in
from ...why.explanation import Verdict
from ...why.subject import SubjectOptions
from ..configurations import configuration
from ..output.forms import ExplainForm
from ..output.terminal import note, progress
from .options import ExplainOptions
from .scheduling import faults_shown
from .sources import read_manifests


def run_explain(options: ExplainOptions) -> Explanation:
    """Read, and explain. Raises ConfigError, InputError."""
    imports = options.allow_import or ()
    config = configuration(options.config, Registry.installed(imports), options.feature_gates or ())
    live = options.live
    there = live.read("explain --kubeconfig") if live is not None else ()
    with progress("reading manifests") as advance:
        manifests = read_manifests(options.files or [], advance, options.source, there)
    for line in manifests.notes():
        note(line)
    with faults_shown(options.verbose):
        try:
            copied = SubjectOptions(
                config,
                allow_imports=imports,
                after=options.after,
                seed=options.seed,
                without=manifests.without,
                given=manifests.given,
                prepare=options.what_if.apply,
            )
            return explain_in(manifests.objects, options.pod, copied, options.changes, options.nearest)
        except InputError as error:
            raise (_as_argument(error) if error.path == "pod" else error) from None


def _as_argument(error: InputError) -> InputError:
    return InputError("POD", error.problem, error.fix)


def has_node(explanation: Explanation) -> bool:
    """Return whether the pod has a node, or would get one."""
    return explanation.verdict in (Verdict.PLACED, Verdict.FITS)


def is_faulty(explanation: Explanation) -> bool:
    """Return whether a plugin failed, so that it is not known whether the pod would get a node."""
    return explanation.verdict is Verdict.FAILED


def form(explanation: Explanation, wanted: ExplainForm) -> str:
    """Return the answer on stdout."""
    if wanted is ExplainForm.TEXT:
        return str(explanation)
    if wanted is ExplainForm.YAML:
        return to_yaml(explanation.to_dict())
    return explanation.to_json()
