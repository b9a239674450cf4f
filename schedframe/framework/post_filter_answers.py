"""Validation of what plugins answer at post_filter: a result, a status, both or neither."""

from __future__ import annotations

from typing import Any, Final

from .faults import invalid_answer, read_status
from .results import NominatingInfo, PostFilterResult
from .status import Code, Status, new_status

ENDS_POST_FILTER: Final = frozenset({Code.SUCCESS, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.ERROR})
"""Codes after which no further plugin is called."""
_WANTED: Final = "(PostFilterResult | None, Status)"


def post_filter_answer(plugin: str, answer: Any) -> tuple[PostFilterResult | None, Status]:
    """Return the result and the status in an answer of post_filter; an invalid one is an error."""
    if answer is None:
        return None, Status(Code.UNSCHEDULABLE, plugin=plugin)
    result, status = answer, None
    if isinstance(answer, Status):
        result, status = None, answer
    elif isinstance(answer, tuple) and len(answer) == 2:
        result, status = answer
    if result is not None and not _is_post_filter_result(result):
        return None, invalid_answer(plugin, "post_filter", answer, _WANTED)
    problem = read_status(plugin, "post_filter", status, _WANTED)
    return result, new_status(plugin=plugin) if problem is None else problem


def _is_post_filter_result(result: Any) -> bool:
    if not isinstance(result, PostFilterResult):
        return False
    info = result.nominating_info
    return info is None or (isinstance(info, NominatingInfo) and isinstance(info.node_name, str | None))
