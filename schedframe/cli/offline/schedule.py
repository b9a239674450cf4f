"""The commands ``schedule`` and ``config``, without options and output."""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path

from ...api import Pod
from ...config import EffectiveConfig, dump_config, load_config
from ...controllers import Workloads
from ...errors import InputError
from ...framework import Registry
from ..exits import reading, writing
from ..gates import parsed_gates
from ..output.terminal import note, progress
from .options import ScheduleOptions
from .outcome import Outcome
from .scheduling import faults_shown, left_out, schedule
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


def configuration(
    file: Path | None, registry: Registry, feature_gates: Sequence[str] = (), *, read_files: bool = True
) -> EffectiveConfig:
    """Return the effective configuration of *file*, or the default one. Raises ConfigError, InputError."""
    if file is not None:
        with reading(str(file)), file.open(encoding="utf-8") as stream:
            stream.read()
    gates = parsed_gates(feature_gates)
    catalogue = registry.full_catalogue()
    return load_config(file, catalogue=catalogue, feature_gates=gates, read_files=read_files)


def effective_config(file: Path | None) -> str:
    """Return the effective configuration as YAML text. Raises ConfigError, InputError."""
    return dump_config(configuration(file, Registry.installed(skip_imports=True), read_files=False))


def write_text(path: Path, text: str) -> None:
    """Write a file; :class:`InputError` if that cannot be done."""
    with writing(str(path)):
        path.write_text(text, encoding="utf-8")


def note_left_out(config: EffectiveConfig, plugins: Container[str]) -> None:
    """Note the plugins that *config* enables and that are not among *plugins*."""
    absent = left_out(config, plugins)
    if paths := [name for name in absent if ":" in name]:
        note(f"import paths, which are not followed here and so not checked: {', '.join(paths)}")
    if names := [name for name in absent if ":" not in name]:
        note(f"enabled but not part of this release, so left out: {', '.join(names)}")
