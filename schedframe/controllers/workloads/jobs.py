"""Jobs and cron jobs: pods that run to completion."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from attrs import evolve

from ...api import INDEXED, SUCCEEDED, CronJob, Job, Pod, PodTemplateSpec
from ...errors import InputError
from ..names import LONGEST_PREFIX, uid_of, with_uid
from ..owners import owner_reference
from .existing import Existing
from .pods import PodMaker, check_count, check_selector, check_template, with_labels

COMPLETION_INDEX: Final = "batch.kubernetes.io/job-completion-index"
"""Label and annotation of a pod of an indexed job: its index."""

RUN: Final = 1
"""Takes the place of the time in the name of the job of a cron job; time stands still."""


def pods_of_job(owner: Job, existing: Existing) -> Iterator[Pod]:
    """Yield the pods that run at first, or that are missing now: as many as may run at a time.

    Nothing if the job is suspended or has ended. Raises :class:`InputError` as the API server refuses it.
    """
    template = _template(owner)
    parallelism = check_count("spec.parallelism", _or_one(owner.spec.parallelism))
    if owner.spec.completions is not None:
        check_count("spec.completions", owner.spec.completions)
    if owner.spec.suspend or _has_ended(owner):
        return
    maker = PodMaker(owner, template, existing)
    running = len(existing.active_pods_of(owner))
    if owner.spec.completion_mode == INDEXED:
        yield from _indexed(maker, owner, parallelism - running)
        return
    left = _left(owner, existing)
    wanted = parallelism if left is None else min(parallelism, left)
    for number in range(wanted - running):
        yield maker.make(maker.generated(f"{owner.name}-", str(number)))


def _or_one(number: int | None) -> int:
    return 1 if number is None else number


def _template(owner: Job) -> PodTemplateSpec:
    """Return the template with the labels that jobs select their pods by; as it is with a manual selector."""
    template = check_template(owner.spec.template)
    if owner.spec.manual_selector:
        check_selector(owner.spec.selector, template)
        return template
    labels = {"controller-uid": uid_of(owner), "job-name": owner.name}
    labels |= {f"batch.kubernetes.io/{key}": value for key, value in labels.items()}
    return with_labels(template, labels)


def _has_ended(owner: Job) -> bool:
    return any(c.type in ("Complete", "Failed") and c.status == "True" for c in owner.status.conditions)


def _left(owner: Job, existing: Existing) -> int | None:
    """Return how many pods have yet to succeed; ``None``: no number is set.

    One that runs without a number and has succeeded once starts no more pods.
    """
    succeeded = max(owner.status.succeeded, _succeeded(owner, existing))
    if owner.spec.completions is not None:
        return max(0, owner.spec.completions - succeeded)
    if owner.spec.parallelism is None:
        return max(0, 1 - succeeded)
    return 0 if succeeded else None


def _succeeded(owner: Job, existing: Existing) -> int:
    return sum(pod.status.phase == SUCCEEDED for pod in existing.pods_of(owner))


def _indexed(maker: PodMaker, owner: Job, count: int) -> Iterator[Pod]:
    """Yield pods for the first *count* indexes that have none and are not completed."""
    done = _indexes(owner.status.completed_indexes)
    for pod in maker.existing.pods_of(owner):
        if pod.status.phase == SUCCEEDED or not (pod.is_terminated or pod.is_terminating):
            done |= _indexes(pod.metadata.annotations.get(COMPLETION_INDEX, ""))
    missing = (number for number in range(owner.spec.completions or 0) if number not in done)
    for index in islice(missing, max(0, count)):
        ending = f"-{index}-"
        prefix = owner.name[: LONGEST_PREFIX - len(ending)] + ending
        mark = {COMPLETION_INDEX: str(index)}
        spec = evolve(maker.template.spec, hostname=f"{owner.name}-{index}")
        yield maker.make(maker.generated(prefix, str(index)), labels=mark, annotations=mark, spec=spec)


def _indexes(text: str) -> set[int]:
    """Return the numbers of a text such as ``0-2,5``."""
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first.isdecimal():
            end = int(last) if last.isdecimal() else int(first)
            found.update(range(int(first), end + 1))
    return found


def pods_of_cron_job(owner: CronJob, existing: Existing) -> Iterator[Pod]:
    """Yield the pods of one run of a cron job; nothing if it is suspended or has a job already.

    Raises :class:`InputError` as the API server refuses it.
    """
    model = owner.spec.job_template
    metadata = evolve(
        model.metadata,
        name=f"{owner.name}-{RUN}",
        namespace=owner.metadata.namespace,
        uid="",
        owner_references=(owner_reference(owner),),
    )
    job: Job = with_uid(Job(metadata, model.spec))
    if owner.spec.suspend or existing.has_dependents(owner):
        return
    try:
        yield from pods_of_job(job, existing)
    except InputError as error:
        raise InputError(f"spec.jobTemplate.{error.path}", error.problem, error.fix) from None
