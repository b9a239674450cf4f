"""LimitRanger: default requests and limits of containers, and bounds for containers, pods and claims.

The defaults are filled in before validation, the bounds checked after it. Amounts are compared as the API
server does: in thousandths, or in whole units if one of them is too large for that. Rules:
plugin/pkg/admission/limitranger.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from attrs import evolve, field

from ..._base.value import record
from ...api import Container, LimitRange, LimitRangeItem, PersistentVolumeClaim, Pod, Quantity, pod_requests
from ...api.resources import pod_limits
from ...api.valuecodecs import at_key
from ...errors import InputError
from .amounts import like, rounded
from .changes import Change, joined
from .contradictions import contradictions, lonely_huge_pages
from .parts import AdmissionPart
from .refusal import AdmissionRefused, raise_all

ANNOTATION: Final = "kubernetes.io/limit-ranger"
"""Annotation of pods to which LimitRanger gave something: what it gave."""

CONTAINER: Final = "Container"
POD: Final = "Pod"
CLAIM: Final = "PersistentVolumeClaim"

_PART: Final = AdmissionPart.LIMIT_RANGER
_MOST_MILLI: Final = (2**63 - 1) // 1000
_POD_LEVEL: Final = ("cpu", "memory")
"""Resources of the pod as a whole that replace the sum over its containers here; huge pages do not."""

Amounts = Mapping[str, Quantity]


@record(frozen=True)
class Used:
    """Requests and limits of a container, a pod or a claim; ``where`` is the path of its resources."""

    where: str
    requests: Amounts
    limits: Amounts


@record(eq=False)
class LimitRanger:
    """Knows the limit ranges by namespace, in the order of their names."""

    ranges: dict[str, list[LimitRange]] = field(factory=dict)

    @classmethod
    def of(cls, ranges: Iterable[LimitRange]) -> LimitRanger:
        """Return a limit ranger for *ranges*."""
        by_namespace: dict[str, list[LimitRange]] = defaultdict(list)
        for each in sorted(ranges, key=lambda each: each.name):
            items = tuple(_completed(item) for item in each.spec.limits)
            by_namespace[each.namespace].append(evolve(each, spec=evolve(each.spec, limits=items)))
        return cls(dict(by_namespace))

    def fill(self, pod: Pod, changes: list[Change]) -> Pod:
        """Return *pod* with default requests and limits of its containers, and the annotation about them."""
        for each in self.ranges.get(pod.namespace, ()):
            filled = _filled(pod, each)
            if filled is not pod:
                changes.append(Change(_PART, f"{_given(pod, filled)} by LimitRange {each.key}"))
            pod = filled
        return pod

    def check_pod(self, pod: Pod) -> None:
        """Raise :class:`AdmissionRefused` if *pod* or one of its containers is out of bounds.

        So it is if what was filled in contradicts what the pod has, or is not enough for huge pages.
        """
        raise_all(list(lonely_huge_pages(pod)))
        if pod.namespace in self.ranges and ANNOTATION in pod.metadata.annotations:
            raise_all(list(contradictions(pod)))
        for each in self.ranges.get(pod.namespace, ()):
            raise_all(
                [
                    refusal
                    for item in each.spec.limits
                    for used in _used_by(pod, item.type)
                    for refusal in _violations(item, used, each)
                ]
            )

    def check_claim(self, claim: PersistentVolumeClaim) -> None:
        """Raise :class:`AdmissionRefused` if *claim* requests too little or too much storage."""
        used = Used("spec.resources", claim.spec.resources.requests, {})
        for each in self.ranges.get(claim.namespace, ()):
            items = [item for item in each.spec.limits if item.type == CLAIM]
            raise_all([refusal for item in items for refusal in _violations(item, used, each)])


def _completed(item: LimitRangeItem) -> LimitRangeItem:
    """Return *item* with its own defaults: limits from ``max``, requests from limits or else from ``min``."""
    item = LimitRangeItem(
        item.type,
        rounded(item.max),
        rounded(item.min),
        rounded(item.default),
        rounded(item.default_request),
        rounded(item.max_limit_request_ratio),
    )
    if item.type != CONTAINER:
        return item
    default = {**item.max, **item.default}
    return evolve(item, default=default, default_request={**item.min, **default, **item.default_request})


def _filled(pod: Pod, limit_range: LimitRange) -> Pod:
    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}
    for item in limit_range.spec.limits:
        if item.type == CONTAINER:
            requests |= item.default_request
            limits |= item.default
    spec = pod.spec
    deeds: list[str] = []
    containers = tuple(_merged(each, requests, limits, "container", deeds) for each in spec.containers)
    init_containers = tuple(
        _merged(each, requests, limits, "init container", deeds) for each in spec.init_containers
    )
    if not deeds:
        return pod
    annotations = {**pod.metadata.annotations, ANNOTATION: f"LimitRanger plugin set: {'; '.join(deeds)}"}
    return evolve(
        pod,
        metadata=evolve(pod.metadata, annotations=annotations),
        spec=evolve(spec, containers=containers, init_containers=init_containers),
    )


def _merged(
    container: Container, requests: Amounts, limits: Amounts, sort: str, deeds: list[str]
) -> Container:
    """Return *container* with the amounts that it lacks; *deeds* gets a text about requests and limits."""
    own = container.resources
    for word, defaults, there in (("request", requests, own.requests), ("limit", limits, own.limits)):
        if missing := sorted(defaults.keys() - there.keys()):
            deeds.append(f"{', '.join(missing)} {word} for {sort} {container.name}")
    merged = evolve(own, requests={**requests, **own.requests}, limits={**limits, **own.limits})
    return container if merged == own else evolve(container, resources=merged)


def _given(before: Pod, after: Pod) -> str:
    """Return which of requests and limits *after* has more of than *before*."""
    spec, filled = before.spec, after.spec
    pairs = zip(
        (*spec.containers, *spec.init_containers), (*filled.containers, *filled.init_containers), strict=True
    )
    changed = [(own.resources, given.resources) for own, given in pairs]
    words = []
    if any(own.requests != given.requests for own, given in changed):
        words.append("requests")
    if any(own.limits != given.limits for own, given in changed):
        words.append("limits")
    return joined(words)


def _used_by(pod: Pod, sort: str) -> Iterator[Used]:
    """Yield the amounts to which items of the type *sort* apply."""
    spec = pod.spec
    if sort == CONTAINER:
        for name, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
            for place, each in enumerate(containers):
                resources = each.resources
                yield Used(f"spec.{name}[{place}].resources", resources.requests, resources.limits)
    elif sort == POD:
        requests = pod_requests(pod, use_status=False, pod_level=False, overhead=False)
        limits = pod_limits(spec, pod_level=False)
        if spec.resources is not None:
            requests |= _of_the_whole(spec.resources.requests)
            limits |= _of_the_whole(spec.resources.limits)
        yield Used("spec.resources", requests, limits)


def _of_the_whole(amounts: Amounts) -> dict[str, Quantity]:
    return {name: amount for name, amount in amounts.items() if name in _POD_LEVEL}


def _violations(item: LimitRangeItem, used: Used, limit_range: LimitRange) -> Iterator[AdmissionRefused]:
    bounds = _Bounds(item.type, limit_range.key, used)
    for name, least in item.min.items():
        yield from bounds.below(name, least)
    for name, most in item.max.items():
        yield from bounds.above(name, most)
    if item.type != CLAIM:
        for name, ratio in item.max_limit_request_ratio.items():
            yield from bounds.beyond_ratio(name, ratio)


@record(frozen=True)
class _Bounds:
    """The bounds of one item of a limit range, for the amounts of one container, pod or claim."""

    sort: str
    range_key: str
    used: Used

    def below(self, name: str, least: Quantity) -> Iterator[AdmissionRefused]:
        """Yield a refusal unless a request is there, and neither it nor the limit is under *least*."""
        request, limit = self.used.requests.get(name), self.used.limits.get(name)
        if request is None:
            yield self._refusal(
                "requests", name, f"there is no request, and {least} is the minimum", f"{least} or more"
            )
            return
        asked, limited, enforced = _comparable(request, limit, least)
        if asked < enforced:
            problem = f"the request {like(request, least)} is below {least}, the minimum"
            yield self._refusal("requests", name, problem, f"{least} or more")
        elif limit is not None and limited < enforced:
            problem = f"the limit {like(limit, least)} is below {least}, the minimum"
            yield self._refusal("limits", name, problem, f"{least} or more")

    def above(self, name: str, most: Quantity) -> Iterator[AdmissionRefused]:
        """Yield a refusal unless a limit is there, and neither it nor the request is over *most*.

        A claim has no limits; of it, the request.
        """
        request, limit = self.used.requests.get(name), self.used.limits.get(name)
        word, needed = ("requests", request) if self.sort == CLAIM else ("limits", limit)
        wanted = f"{most} or less"
        if needed is None:
            problem = f"there is no {word.removesuffix('s')}, and {most} is the maximum"
            yield self._refusal(word, name, problem, wanted)
            return
        asked, limited, enforced = _comparable(request, limit, most)
        if limit is not None and limited > enforced:
            problem = f"the limit {like(limit, most)} is above {most}, the maximum"
            yield self._refusal("limits", name, problem, wanted)
        elif request is not None and asked > enforced:
            problem = f"the request {like(request, most)} is above {most}, the maximum"
            yield self._refusal("requests", name, problem, wanted)

    def beyond_ratio(self, name: str, most: Quantity) -> Iterator[AdmissionRefused]:
        """Yield a refusal unless limit / request is at most *most*; both must be there and above 0."""
        request, limit = self.used.requests.get(name), self.used.limits.get(name)
        asked, limited, _ = _comparable(request, limit, most)
        for word, amount, value in (("requests", request, asked), ("limits", limit, limited)):
            if amount is None or value == 0:
                problem = f"there is no amount above 0, and limit / request may be {most}"
                yield self._refusal(word, name, problem, "an amount above 0")
                return
        ratio, allowed = limited / asked, float(most.value())
        if most.value() <= _MOST_MILLI:
            ratio, allowed = ratio * 1000, float(most.milli_value())
        if ratio > allowed:
            times = f"{limited / asked:g} times the request {request}"
            problem = f"the limit {limit} is {times}, and {most} times is the maximum"
            yield self._refusal("limits", name, problem, "a smaller limit or a larger request")

    def _refusal(self, field_name: str, name: str, problem: str, wanted: str) -> AdmissionRefused:
        text = f"LimitRanger refuses it: {problem} per {self.sort} by LimitRange {self.range_key}"
        path = at_key(InputError("", problem), name).at(field_name).at(self.used.where).path
        return AdmissionRefused(_PART, path, text, f"write {wanted}, or change the LimitRange")


def _comparable(request: Quantity | None, limit: Quantity | None, enforced: Quantity) -> tuple[int, int, int]:
    """Return the amounts in thousandths, or in whole units if one of them has too many thousandths."""
    amounts = (request or Quantity(), limit or Quantity(), enforced)
    if all(amount.value() <= _MOST_MILLI for amount in amounts):
        request_value, limit_value, enforced_value = (amount.milli_value() for amount in amounts)
    else:
        request_value, limit_value, enforced_value = (amount.value() for amount in amounts)
    return request_value, limit_value, enforced_value
