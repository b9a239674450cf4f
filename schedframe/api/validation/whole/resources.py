"""Amounts that containers and pods ask for: names, whole numbers, huge pages, requests beside limits.

Source of the rules: ``validateResourceRequirements`` of pkg/apis/core/validation, after defaulting, by which
a pod requests what it limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from ...._base.brief import shown
from ...._base.wording import described
from ....errors import InputError
from ...quantity import Quantity
from ...requirements import label_key_problem
from ...resources import HUGE_PAGES_PREFIX
from ...valuecodecs import at_key
from ..rules import CONTAINER_RESOURCES, check_label_key, check_name, unknown_resource
from .reading import amounts, mapping, objects, quantity, text

_NATIVE_DOMAIN: Final = "kubernetes.io/"
_QUOTA: Final = "requests."
"""What the names of resources in a quota begin with; no resource may."""
_UNIT: Final = 10**9


def is_huge_pages(name: str) -> bool:
    """Return whether *name* is that of huge pages of any size."""
    return name.startswith(HUGE_PAGES_PREFIX)


def is_extended(name: str) -> bool:
    """Return whether *name* is that of a resource of devices, of which there are whole ones only."""
    return "/" in name and _NATIVE_DOMAIN not in name


def may_be_overcommitted(name: str) -> bool:
    """Return whether a limit may be higher than the request."""
    return not is_huge_pages(name) and not is_extended(name)


def check_requested(requested: Mapping[str, Any]) -> list[InputError]:
    """Return errors for names and amounts that no container can ask for."""
    found = []
    for name, amount in requested.items():
        # the most frequent amounts are right, or only the decoder can refuse them
        is_positive = amount[:1] != "-" if type(amount) is str else type(amount) is int and amount >= 0
        if is_positive and name in CONTAINER_RESOURCES:
            continue
        if isinstance(name, str):
            found += [at_key(error, name) for error in _requested_problems(name, amount)]
    return found


def _requested_problems(name: str, written: Any) -> Iterator[InputError]:
    if (error := _name_problem(name)) is not None:
        yield error
    amount = quantity(written)
    if amount is None:
        return
    if amount.nano < 0:
        yield InputError("", f"{described(written)} is negative", "write 0 or more")
    if is_extended(name) and amount.nano % _UNIT:
        problem = f"{described(written)} is no whole number, and {name} is counted in whole ones"
        yield InputError("", problem, "write a whole number")
    if (error := page_problem(name, amount)) is not None:
        yield error


@lru_cache(maxsize=1024)
def _name_problem(name: str) -> InputError | None:
    if label_key_problem(name):
        return check_label_key(name, may_be_empty=False)
    if "/" not in name:
        if name in CONTAINER_RESOURCES or is_huge_pages(name):
            return None
        return unknown_resource(name, CONTAINER_RESOURCES)
    if is_extended(name) and name.startswith(_QUOTA):
        problem = f"{name} is the name of a quota"
        return InputError("", problem, f"did you mean {name.removeprefix(_QUOTA)}?")
    if is_extended(name) and label_key_problem(_QUOTA + name):
        return InputError("", "the domain is too long", "use at most 244 characters before the slash")
    return None


def page_problem(name: str, amount: Quantity) -> InputError | None:
    """Return the error if *amount* of huge pages is no whole number of them."""
    if not is_huge_pages(name) or not _is_part_of_a_page(name, amount):
        return None
    problem = f"{amount} is no multiple of the page size of {name}"
    return InputError("", problem, f"write a multiple of {name.removeprefix(HUGE_PAGES_PREFIX)}")


def _is_part_of_a_page(name: str, amount: Quantity) -> bool:
    """Return whether *amount* is no multiple of the page size, which the name ends with."""
    size = quantity(name.removeprefix(HUGE_PAGES_PREFIX))
    if size is None or size.nano <= 0 or size.nano % _UNIT:
        return True
    return amount.value() % size.value() != 0


def check_requirements(requirements: Mapping[str, Any]) -> Iterable[InputError]:
    """Return the errors of the resources of a container, or of a pod, over several fields."""
    if len(requirements) == 1:
        requests = requirements.get("requests")
        if type(requests) is dict and CONTAINER_RESOURCES.issuperset(requests):
            return ()  # as most containers have, and nothing to compare
    return _requirements_problems(requirements)


def _requirements_problems(requirements: Mapping[str, Any]) -> Iterator[InputError]:
    requests = amounts(requirements, "requests")
    if requests:
        yield from compare_with_limits(requests, amounts(requirements, "limits"))
    if requirements.get("claims"):
        yield from _claims_problems(requirements)


def compare_with_limits(
    requests: Mapping[str, Quantity], limits: Mapping[str, Quantity]
) -> Iterator[InputError]:
    """Yield an error for each request that does not go with the limit of its resource."""
    for name, request in requests.items():
        limit = limits.get(name)
        if limit is None:
            continue
        if request > limit:
            problem = f"the request of {request} is above the limit of {limit}"
            yield at_key(InputError("", problem, "lower the request or raise the limit"), name).at("requests")
        elif request < limit and not may_be_overcommitted(name):
            problem = f"the request of {request} differs from the limit of {limit}, and {name} cannot be"
            error = InputError("", f"{problem} overcommitted", "write the same amount in both")
            yield at_key(error, name).at("requests")


def check_limits_are_there(requirements: Mapping[str, Any]) -> Iterable[InputError]:
    """Return the errors of requests that need a limit and have none."""
    requests = requirements.get("requests")
    if type(requests) is not dict or CONTAINER_RESOURCES.issuperset(requests):
        return ()
    return _missing_limits(requests, mapping(requirements, "limits"))


def _missing_limits(requests: Mapping[Any, Any], limits: Mapping[Any, Any]) -> Iterator[InputError]:
    for name, amount in requests.items():
        if isinstance(name, str) and not may_be_overcommitted(name) and limits.get(name) is None:
            problem = f"there is no limit for {name}, which cannot be overcommitted"
            yield at_key(InputError("", problem, f"write {name}: {shown(amount)}"), name).at("limits")


def huge_pages_alone(names: Iterable[str]) -> Iterator[InputError]:
    """Yield the error if there are huge pages among *names* of resources, and neither CPU nor memory."""
    names = list(names)
    if any(map(is_huge_pages, names)) and "cpu" not in names and "memory" not in names:
        problem = "huge pages are asked for without CPU and memory"
        yield InputError("", problem, "ask for some CPU or memory, too")


def _claims_problems(requirements: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield errors for claims of a container that are named more than once."""
    whole: set[str] = set()
    parts: set[tuple[str, str]] = set()
    for path, claim in objects(requirements, "claims"):
        name, request = text(claim, "name"), text(claim, "request")
        if not name:
            continue
        if request and (error := check_name(request, label=True)) is not None:
            yield error.at("request").at(path)
        again = name in whole or ((name, request) in parts if request else any(n == name for n, _ in parts))
        if again:
            yield InputError(path, f"the claim {described(name)} is named twice", "remove one of the two")
        if request:
            parts.add((name, request))
        else:
            whole.add(name)
