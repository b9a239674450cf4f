"""The questions of ``schedframe capacity``, from the files to the lines of the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from ...capacity import (
    CapacityDrain,
    CapacityFit,
    CapacityLoss,
    DomainLoss,
    Obstacle,
    drain,
    fit,
    loss,
)
from ...fork import Fork
from ...framework import Registry
from ..configurations import configuration, note_left_out
from ..output.answers import answer_lines
from ..output.terminal import Advance, columns, heading, note, progress, success, warning
from .capacity_options import DrainOptions, FitOptions, LossOptions, QuestionOptions
from .scheduling import faults_shown
from .sources import read_manifests

SHOWN_PODS: Final = 10
"""Pods that a line names; the documents have all."""


def fork_of(options: QuestionOptions, files: list[str], command: str) -> Fork:
    """Return a fork of the cluster in *files* and the real one, for *command*; write notes to stderr."""
    registry = Registry.installed(options.allow_import or ())
    config = configuration(options.config, registry, options.feature_gates or ())
    live = options.live
    there = live.read(f"{command} --kubeconfig") if live is not None else ()
    with progress("reading manifests") as advance:
        manifests = read_manifests(files, advance, options.source, there)
    for line in manifests.notes():
        note(line)
    note_left_out(config, registry)
    fork = Fork.of(manifests.objects, config, seed=options.seed, registry=registry, without=manifests.without)
    fork.given = {**fork.given, **manifests.given}
    options.what_if.apply(fork)
    waiting = len(fork.pending())
    if options.after and waiting:
        note(f"pods that wait, which are placed first: {waiting}; --as-it-is leaves them waiting")
    return fork


def up_to(advance: Advance) -> Callable[[int], None]:
    """Return a function that is called with a number of steps, of which the new ones count."""
    done = 0

    def reach(steps: int) -> None:
        nonlocal done
        for _ in range(steps - done):
            advance()
        done = max(done, steps)

    return reach


def run_fit(options: FitOptions) -> tuple[CapacityFit, list[str]]:
    """Return how many more fit, and the lines that say so. Raises ConfigError, InputError, ClusterError."""
    with (
        faults_shown(options.verbose),
        fork_of(options, options.files, "capacity fit") as fork,
        progress("placing rounds", options.most) as advance,
    ):
        answer = fit(
            fork,
            options.asked,
            mix=options.shares,
            most=options.most,
            preempt=options.preempt,
            after=options.after,
            on_round=up_to(advance),
        )
    return answer, answer_lines(answer.to_dict(), options.output, lambda: fit_lines(answer))


def fit_lines(answer: CapacityFit) -> Iterator[str]:
    """Yield how many fit, where, and what stops the next one."""
    for key, count in answer.fits.items():
        yield heading(f"{count} more of {key} fit{'s' * (count == 1)}")
    if len(answer.fits) > 1 or sum(answer.fits.values()) != answer.rounds:
        yield f"in {answer.rounds} round{'s' * (answer.rounds != 1)}"
    if answer.by_node:
        yield ""
        rows = [
            (name, *[str(answer.by_node[name].get(key, 0)) for key in answer.fits]) for name in answer.nodes
        ]
        right = range(1, len(answer.fits) + 1)
        yield from columns(rows, ("NODE", *(key.upper() for key in answer.fits)), right=right)
    if answer.preempted:
        yield ""
        yield heading("PREEMPTED")
        yield from answer.preempted
    if answer.stopped_by is not None:
        yield ""
        yield heading("WHAT STOPS THE NEXT ONE")
        yield from obstacle_lines(answer.stopped_by)


def obstacle_lines(obstacle: Obstacle) -> list[str]:
    """Return the lines about what keeps a pod from a node."""
    return str(obstacle).split("\n")


def run_loss(options: LossOptions) -> tuple[CapacityLoss, list[str]]:
    """Return what each loss costs, and its lines. Raises ConfigError, InputError, ClusterError."""
    with (
        faults_shown(options.verbose),
        fork_of(options, options.files or [], "capacity loss") as fork,
        progress(f"losing {options.by}", len(fork.cluster.list("Node"))) as advance,
    ):
        answer = loss(fork, by=options.by, on_domain=advance, after=options.after)
    return answer, answer_lines(answer.to_dict(), options.output, lambda: loss_lines(answer))


def loss_lines(answer: CapacityLoss) -> Iterator[str]:
    """Yield a line for each domain, the worst first, then the lost pods of each by reason."""
    rows = [
        (each.domain, *map(str, (len(each.nodes), len(each.lost), len(each.rescheduled))))
        for each in answer.domains
    ]
    head = ("DOMAIN", "NODES", "LOST", "RESCHEDULED")
    yield from columns(rows, head, right=(1, 2, 3))
    for each in answer.domains:
        if each.lost:
            yield ""
            yield heading(f"LOST WITH {each.domain}")
            yield from _lost_lines(each)


def _lost_lines(domain: DomainLoss) -> Iterator[str]:
    """Yield each reason with its pods."""
    by_reason: dict[str, list[str]] = {}
    for each in domain.lost:
        by_reason.setdefault(each.message, []).append(each.pod)
    for message, pods in by_reason.items():
        shown = ", ".join(pods[:SHOWN_PODS])
        more = len(pods) - SHOWN_PODS
        yield f"{shown}{f' and {more} more' if more > 0 else ''}: {message}"


def run_drain(options: DrainOptions) -> tuple[CapacityDrain, list[str]]:
    """Return how nodes are drained, and its lines. Raises ConfigError, InputError, ClusterError."""
    with (
        faults_shown(options.verbose),
        fork_of(options, options.files, "capacity drain") as fork,
        progress("moving pods") as advance,
    ):
        answer = drain(
            fork,
            options.names,
            force=options.force,
            delete_local_data=options.delete_emptydir_data,
            on_pod=advance,
            after=options.after,
        )
    return answer, answer_lines(answer.to_dict(), options.output, lambda: drain_lines(answer))


def drain_lines(answer: CapacityDrain) -> Iterator[str]:
    """Yield the steps, what blocks, and the verdict."""
    if answer.steps:
        rows = [
            (str(number), each.pod, each.from_node, each.to_node or "deleted for good")
            for number, each in enumerate(answer.steps, start=1)
        ]
        yield from columns(rows, ("STEP", "POD", "FROM", "TO"), right=(0,))
        yield ""
    if answer.blocked:
        yield heading("BLOCKED")
        for each in answer.blocked:
            yield from str(each).split("\n")
        yield ""
    names = ", ".join(answer.nodes)
    if answer.is_complete:
        yield success(f"{names} can be drained: {len(answer.steps)} pods move")
    else:
        yield warning(f"{names} cannot be drained: {len(answer.blocked)} pods are blocked")
