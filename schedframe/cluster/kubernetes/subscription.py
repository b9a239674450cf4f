"""The subscription of one watcher to the kinds that it follows."""

from __future__ import annotations

from collections.abc import Callable

from attrs import field

from ..._base.value import record
from ..port import WatchHandler


@record(eq=False)
class KindSubscription:
    """Delivers the events of some kinds to a handler until it is closed."""

    handler: WatchHandler
    kinds: tuple[str, ...]
    on_close: Callable[[KindSubscription], None]
    """Called once."""
    _open: bool = field(default=True, init=False)

    def close(self) -> None:
        """Deliver nothing more. Closing twice is harmless."""
        if self._open:
            self._open = False
            self.on_close(self)
