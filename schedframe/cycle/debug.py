"""Debug mode: plugins cannot change what they only may read, and one that tries is named."""

from __future__ import annotations

from typing import Any

from .._base.value import record
from ..errors import PluginError
from ..framework.hook_calls import Call
from ..state import NodeTable

UNGUARDED = frozenset({"post_filter", "pre_bind", "bind"})
"""Preemption (post_filter) tries things out in the table and restores it; the others may run off the core."""


@record(eq=False)
class TableGuard:
    """A hook that changed the node table fails, with its plugin's name.

    The change itself stays: whatever follows from it happens in a scheduler that is known to be wrong.
    """

    table: NodeTable

    def guarded(self, call: Call, hook: str, plugin: str) -> Call:
        """Return *call*, which raises :class:`PluginError` after a change."""
        if hook in UNGUARDED:
            return call
        table = self.table

        def checked(*arguments: Any) -> Any:
            before = table.row_log.version, table.replaced_log.version
            answer = call(*arguments)
            if before != (table.row_log.version, table.replaced_log.version):
                raise PluginError(f"{hook} of plugin {plugin} changed the node table; plugins only read it")
            return answer

        return checked
