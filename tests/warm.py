"""Commands in processes that have imported everything already; else they run as from a shell.

:func:`environment` has a folder at the front of ``PATH`` with a ``schedframe`` and a ``python`` in it. Each
is a small client: it hands its arguments, environment, working directory and open streams to a server, which
forks a process for it, and ends with the exit code of that. Started for real are commands that a test ends by
a signal, and those whose imports or broken streams are the matter.
"""

from __future__ import annotations

import atexit
import os
import runpy
import select
import shlex
import signal
import socket
import subprocess
import sys
import traceback
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

_END = b"\0\0"
_CLIENT = """
import os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    environment = [f"{{name}}={{value}}" for name, value in os.environ.items()]
    parts = [os.getcwd(), {program!r}, str(len(sys.argv) - 1), *sys.argv[1:], *environment]
    socket.send_fds(server, [b"-"], [0, 1, 2])
    server.sendall(os.fsencode("\\0".join(parts)) + {end!r})
    sys.exit(int(server.recv(16)))
"""


def environment(*, started: bool = False, **more: str) -> dict[str, str]:
    """Return the environment of this process with the commands in its ``PATH``, and *more*.

    *started*: with the real ones, which start an interpreter each.
    """
    folders = [*([] if started else [str(_programs())]), str(Path(sys.executable).parent), os.environ["PATH"]]
    return {**os.environ, "PATH": os.pathsep.join(folders), **more}


@cache
def _programs() -> Path:
    """Start a server for the rest of this process, and return the folder of its clients."""
    folder = TemporaryDirectory(prefix="warm-")
    address, programs = f"{folder.name}/socket", Path(folder.name)
    for program in ("schedframe", "python"):
        client = programs / f"{program}-client.py"
        client.write_text(_CLIENT.format(address=address, program=program, end=_END), encoding="utf-8")
        start = f"exec {shlex.quote(sys.executable)} -S -E {shlex.quote(str(client))}"
        (programs / program).write_text(f'#!/bin/sh\n{start} "$@"\n', encoding="utf-8")
        (programs / program).chmod(0o755)
    # -P: the folders beside this file have names of standard modules.
    command = [sys.executable, "-P", __file__, address]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    atexit.register(_end, server, folder)
    return programs


def _end(server: subprocess.Popen[bytes], folder: TemporaryDirectory[str]) -> None:
    server.communicate()  # it ends when its standard input does, also if this process is killed
    folder.cleanup()


def _serve(address: str) -> None:
    import schedframe.cli.app
    import schedframe.cli.offline.commands
    import schedframe.why  # noqa: F401 - imported once, for all commands

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen(16)
        print("ready", flush=True)
        while sys.stdin not in select.select([server, sys.stdin], [], [])[0]:
            client, _ = server.accept()
            if not os.fork():
                server.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _answer(client)
            client.close()


def _answer(client: socket.socket) -> None:
    """Carry out one command in this process, which is its own."""
    _, streams, _, _ = socket.recv_fds(client, 1, 3)
    message = b""
    while not message.endswith(_END):
        message += client.recv(1 << 20)
    here, program, count, *rest = os.fsdecode(message.removesuffix(_END)).split("\0")
    arguments, environment = rest[: int(count)], rest[int(count) :]
    os.chdir(here)
    os.environ.clear()
    os.environ.update(each.split("=", 1) for each in environment)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
    code = 1
    try:
        code = _run(program, arguments)
    except Exception:  # noqa: BLE001 - what ends an interpreter
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        client.sendall(str(code).encode())
        os._exit(code)


def _run(program: str, arguments: list[str]) -> int:
    """Return the exit code, by the rules of Python."""
    try:
        if program == "schedframe":
            from schedframe.cli.main import main

            sys.argv = [program, *arguments]
            main()
        else:
            sys.argv = arguments
            sys.path.insert(0, str(Path(arguments[0]).parent))
            runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
            return 1
        return end.code or 0
    return 0


if __name__ == "__main__":
    _serve(sys.argv[1])
