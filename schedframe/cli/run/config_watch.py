"""Watcher of ``--config FILE`` of ``schedframe run``: a change is in use within seconds, or at SIGHUP.

The file of a mounted ConfigMap is a link behind a link, which is exchanged as a whole: so the file that the
path leads to is looked at, with its size and its time, every few seconds. A thread of its own reads it. A
file that is refused is logged and counted, and changes nothing; it is read again when it changes, or at
SIGHUP.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from attrs import field

from ..._base.value import record
from ...config import EffectiveConfig
from ...cycle import Scheduler
from ...errors import SchedframeError

logger = logging.getLogger("schedframe.run")

LOOK_SECONDS: Final = 5.0
"""Seconds between two checks of the file."""

_State = tuple[str, int, int, int]
"""Where the path leads, and inode, time and size of the file there."""


@record(eq=False)
class ConfigWatch:
    """Reloads a scheduler when its file changes."""

    path: Path
    read: Callable[[], EffectiveConfig]
    """Reads the file and applies the flags. Raises :class:`SchedframeError` if it is refused."""
    scheduler: Scheduler
    on_refused: Callable[[str], object] | None = None
    """Called with the reason when the file is refused, in the thread that read it."""
    problem: str | None = None
    """Why the file as it is now is not in use; ``None``: it is."""
    _seen: _State | None = field(init=False)
    _asked: threading.Event = field(factory=threading.Event, init=False)
    _ended: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self._seen = self._state()

    def ask(self) -> None:
        """Read the file again at once, changed or not. Any thread; safe in the answer to a signal."""
        self._seen = None
        self._asked.set()

    def look(self) -> None:
        """Reload if the file changed since the last look. A file that is gone is no change."""
        state = self._state()
        if state is None or state == self._seen:
            return
        self._seen = state
        try:
            self.scheduler.reload(self._config())
        except Exception as error:  # noqa: BLE001 - a fault of a plugin must not end the looks at the file
            if isinstance(error, OSError):
                self._seen = None  # it may be readable at the next look without having changed
            if not self._is_known(error):
                self._refused(error)
        else:
            self.problem = None
            logger.info("%s is in use", self.path)

    def _refused(self, error: Exception) -> None:
        self.problem = str(error)
        note = f"{self.path} is refused, the former configuration stays in use: {error}"
        is_fault = not isinstance(error, SchedframeError | OSError)
        logger.error("%s", note, exc_info=error if is_fault else None)
        if self.on_refused is not None:
            try:
                self.on_refused(note)
            except Exception:
                logger.exception("the refusal of %s cannot be reported", self.path)

    def _is_known(self, error: Exception) -> bool:
        """Return whether the last look at the same file failed so, too."""
        return isinstance(error, OSError) and self.problem == str(error)

    def _config(self) -> EffectiveConfig:
        """Read the file. A file that is refused counts as a refused reload, though none begins."""
        try:
            return self.read()
        except Exception as error:
            reloaded = self.scheduler.core.observers.reloaded
            if reloaded is not None and not self._is_known(error):
                reloaded(False)
            raise

    @contextmanager
    def following(self) -> Iterator[None]:
        """Look every few seconds inside, in a thread of its own."""
        thread = threading.Thread(target=self._follow, name="schedframe-config", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended = True
            self._asked.set()

    def _follow(self) -> None:
        while True:
            self._asked.wait(LOOK_SECONDS)
            self._asked.clear()
            if self._ended:
                return
            self.look()

    def _state(self) -> _State | None:
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return os.path.realpath(self.path), found.st_ino, found.st_mtime_ns, found.st_size


@contextmanager
def following(watch: ConfigWatch | None) -> Iterator[None]:
    """Follow the file of *watch* inside, if there is one."""
    if watch is None:
        yield
        return
    with watch.following():
        yield
