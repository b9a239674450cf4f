"""A program: an extender that keeps the nodes that it is sent, and answers after a fixed time.

Run by the template ``extender`` in a process of its own. Usage: ``delayed_answers.py MILLISECONDS REJECTED``;
of each *REJECTED* nodes the last one is rejected, none for 0. It prints its port, and ends at the end of its
input. It sleeps while it waits, and prepares each answer once, so that it leaves the processor to the
scheduler.
"""

from __future__ import annotations

import ctypes
import json
import socket
import sys
import threading
from time import perf_counter, sleep
from typing import Any, Final

_PR_SET_TIMERSLACK: Final = 29
"""Operation of ``prctl``: how late a sleep of this thread may end, in nanoseconds."""
_CHUNK: Final = 1 << 20
"""Bytes read at once."""


def answer_to(body: bytes, rejected: int) -> bytes:
    """Return the answer to a request to filter, as a server written in Go encodes it."""
    names: list[str] = json.loads(body)["NodeNames"]
    failed = dict.fromkeys(names[rejected - 1 :: rejected], "rejected") if rejected else {}
    kept = [name for name in names if name not in failed]
    answer: dict[str, Any] = {"Nodes": None, "NodeNames": kept, "FailedNodes": failed}
    answer |= {"FailedAndUnresolvableNodes": {}, "Error": ""}
    return json.dumps(answer, separators=(",", ":")).encode()


def _serve(connection: socket.socket, seconds: float, rejected: int) -> None:
    names, reply = b"", b""
    while head := connection.recv(_CHUNK):
        begun = perf_counter()
        while b"\r\n\r\n" not in head:
            head += connection.recv(_CHUNK)
        fields, _, rest = head.partition(b"\r\n\r\n")
        length = int(fields.lower().partition(b"content-length:")[2].split(None, 1)[0])
        parts, missing = [rest], length - len(rest)
        while missing > 0:
            parts.append(connection.recv(_CHUNK))
            missing -= len(parts[-1])
        body = b"".join(parts)
        sent = body[body.rindex(b'"NodeNames":') :]
        if sent != names:
            answer = answer_to(body, rejected)
            names, reply = sent, b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(answer), answer)
        sleep(max(0.0, begun + seconds - perf_counter()))
        connection.sendall(reply)


def _run(server: socket.socket, seconds: float, rejected: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1)
    while True:
        connection, _ = server.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection:
            _serve(connection, seconds, rejected)


def main(milliseconds: str, rejected: str) -> None:
    """Serve until the input ends."""
    server = socket.create_server(("127.0.0.1", 0))
    arguments = (server, float(milliseconds) / 1000, int(rejected))
    threading.Thread(target=_run, args=arguments, daemon=True).start()
    print(server.getsockname()[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
