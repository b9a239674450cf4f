"""Standard output and error of the console script, when their reader leaves early, as ``| head`` does.

Python ignores SIGPIPE, and it stays so for every command: a write to a socket whose client has left is an
error of that one connection and must not end the process. As in programs in Go, only the standard streams
differ. Without a reader of stdout the command is without a purpose and ends. Without a reader of stderr only
messages are lost: a server whose log has no reader goes on, and an answer on stdout is still complete.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Final, TextIO

from typing_extensions import Buffer, override

READER_LEFT: Final = 141
"""Exit code without a reader of stdout: 128 + 13, as shells report a program that SIGPIPE has ended."""


def install() -> None:
    """Replace ``sys.stdout`` and ``sys.stderr``, unless they are closed or the platform is not POSIX."""
    if os.name != "posix":  # the console of Windows is not written to as a file
        return
    if sys.stdout is not None:
        sys.stdout = _text(sys.stdout, _Output(sys.stdout.fileno(), "w", closefd=False))
    if sys.stderr is not None:
        sys.stderr = _text(sys.stderr, _Stream(sys.stderr.fileno(), "w", closefd=False))


class _Stream(io.FileIO):
    """A stream that drops what is written after its reader has left."""

    _has_reader = True

    @override
    def write(self, data: Buffer, /) -> int:
        rest = whole = memoryview(data).cast("B")
        try:
            # A pipe takes a part when its reader leaves in the middle; without a buffer nothing asks again.
            while rest and self._has_reader:
                taken = super().write(rest)
                if taken is None:  # it does not block, and is full
                    return len(whole) - len(rest)
                rest = rest[taken:]
        except BrokenPipeError:
            self._has_reader = False
            self._end()
        return len(whole)

    def _end(self) -> None:
        """Do what the loss of the reader calls for."""


class _Output(_Stream):
    """A stream whose reader ends the program by leaving."""

    @override
    def _end(self) -> None:
        raise SystemExit(READER_LEFT)


def _text(former: TextIO, raw: _Stream) -> io.TextIOWrapper:
    """Return a stream of text over *raw* that encodes and buffers as *former* does."""
    assert isinstance(former, io.TextIOWrapper)
    unbuffered = former.write_through  # of ``python -u``
    return io.TextIOWrapper(
        raw if unbuffered else io.BufferedWriter(raw),
        encoding=former.encoding,
        errors=former.errors,
        line_buffering=former.line_buffering,
        write_through=unbuffered,
    )
