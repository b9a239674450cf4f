"""``schedframe compare --config A --config B FILE…``: two configurations on the same pods."""

from __future__ import annotations

from collections.abc import Iterator

from ...capacity.configurations import ConfigurationComparison, compare_configurations
from ...framework import Registry
from ...simulate.amounts import amount_text
from ..configurations import configuration, note_left_out
from ..output.answers import answer_lines
from ..output.terminal import columns, note, progress
from .capacity_options import CompareOptions
from .scheduling import faults_shown
from .sources import read_manifests


def run_comparison(options: CompareOptions) -> list[str]:
    """Return the lines of the comparison. Raises ConfigError, InputError, ClusterError."""
    registry = Registry.installed(options.allow_import or ())
    configs = {
        str(file): configuration(file, registry, options.feature_gates or ()) for file in options.config or ()
    }
    live = options.live
    there = live.read("compare --kubeconfig") if live is not None else ()
    with progress("reading manifests") as advance:
        manifests = read_manifests(options.words or [], advance, options.source, there)
    for line in manifests.notes():
        note(line)
    for config in configs.values():
        note_left_out(config, registry)
    with faults_shown(options.verbose):
        answer = compare_configurations(
            manifests.objects, configs, seed=options.seed, registry=registry, without=manifests.without
        )
    return answer_lines(answer.to_dict(), options.output, lambda: comparison_lines(answer, options.pods))


def comparison_lines(answer: ConfigurationComparison, most: int) -> Iterator[str]:
    """Yield both runs side by side, then the pods that are placed otherwise."""
    one, two = answer.runs
    rows = [
        (text, str(a), str(b))
        for text, a, b in (
            ("nodes in use", one.nodes_in_use, two.nodes_in_use),
            ("pods placed", one.placed, two.placed),
            ("pods pending", one.pending, two.pending),
            ("pods preempted", one.preempted, two.preempted),
        )
    ]
    rows += [
        (f"{name} left", amount_text(name, each.free), amount_text(name, two.left[name].free))
        for name, each in one.left.items()
    ]
    yield from columns(rows, ("", f"A: {one.name}", f"B: {two.name}"), right=(1, 2))
    yield ""
    total = answer.same + len(answer.pods)
    yield f"{len(answer.pods)} of {total} pods are placed otherwise"
    if answer.pods and most:
        yield ""
        shown = [(each.pod, *(node or "-" for node in each.nodes), each.why) for each in answer.pods[:most]]
        yield from columns(shown, ("POD", "A", "B", "WHY B"), cut=True)
    if len(answer.pods) > most:
        yield f"… and {len(answer.pods) - most} more pods"
