"""The command ``schedule``, without options and output."""

from __future__ import annotations

from ...api import Pod
from ...config import dump_config
from ...controllers import Workloads
from ...errors import InputError
from ...framework import Registry
from ..configurations import configuration, note_left_out, write_text
from ..output.terminal import note, progress
from .options import ScheduleOptions
from .outcome import Outcome
from .scheduling import faults_shown, schedule
from .sources import Manifests, read_manifests


def run_schedule(options: ScheduleOptions) -> Outcome:
    """Read, schedule, and write notes to stderr."""
    registry = Registry.installed(options.allow_import or ())
    config = configuration(options.config, registry, options.feature_gates or ())
    if options.write_config_to is not None:
        write_text(options.write_config_to, dump_config(config))
    live = options.live
    there = live.read("schedule --kubeconfig") if live is not None else ()
    with progress("reading manifests") as advance:
        manifests = read_manifests(options.files or [], advance, options.source, there)
    for line in manifests.notes():
        note(line)
    note_left_out(config, registry)
    pending = sum(isinstance(obj, Pod) and not obj.node_name for obj in manifests.objects)
    if live is None:
        _check_pods(manifests, options)
    if not pending:
        note("nothing to schedule: no object is a pod without a node")
    with faults_shown(options.verbose), progress("scheduling pods", pending) as advance:
        outcome = schedule(
            manifests,
            config,
            registry,
            seed=options.seed,
            explain=options.explain,
            advance=advance,
            what_if=options.what_if,
        )
    if outcome.faults and not options.verbose:
        note(f"plugins failed: {', '.join(outcome.faults)}; -v shows the tracebacks")
    return outcome


def _check_pods(manifests: Manifests, options: ScheduleOptions) -> None:
    """Raise :class:`InputError` if there is no pod, and objects of other kinds were skipped."""
    if not manifests.skipped or options.workloads is Workloads.IGNORE:
        return
    if not any(isinstance(obj, Pod) for obj in manifests.objects):
        problem, fix = "there are no pods in it, and other kinds were skipped", "add pods or workloads"
        raise InputError("", problem, fix, location=", ".join(options.files or []))
