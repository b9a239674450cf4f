"""Rights that the user of the scheduler lacks: named once each, with the rule to add."""

from __future__ import annotations

import logging
import re
from typing import Final

from attrs import field

from ..._base.value import record
from .errors import FORBIDDEN, ApiError

logger = logging.getLogger("schedframe.kubernetes")

_DENIED: Final = re.compile(r'cannot (\S+) resource "([^"]+)" in API group "([^"]*)"')
"""Part of the message of the API server; other refusals with 403 come from quotas and webhooks."""
_READING: Final = frozenset({"list", "watch"})
"""Verbs whose refusal the reflectors report."""


def rule(group: str, resource: str, *verbs: str) -> str:
    """Return the advice to add a rule to the role of the scheduler."""
    return (
        f"add a rule to the ClusterRole of the scheduler: apiGroups: [{group!r}], "
        f"resources: [{resource!r}], verbs: {list(verbs)}"
    )


@record(eq=False)
class MissingRights:
    """Warns of each missing right once."""

    _known: set[tuple[str, ...]] = field(factory=set, init=False)

    def note(self, error: ApiError) -> None:
        """Warn if *error* says that a right is missing, for the first time."""
        found = _DENIED.search(error.message) if error.status == FORBIDDEN else None
        if found is None or found.groups() in self._known or found[1] in _READING:
            return
        self._known.add(found.groups())
        verb, resource, group = found.groups()
        logger.warning("%s; %s", error, rule(group, resource, verb))
