"""A program: an extender that keeps the nodes that it is sent, and answers after a fixed time.

Run by the template ``extender`` in a process of its own. Usage: ``delayed_answers.py MILLISECONDS REJECTED``;
of each *REJECTED* nodes the last one is rejected, none for 0. It prints its port, and ends at the end of its
input. Each answer is prepared once, before it is due. What the scheduler waits for is then the time asked
for and the way through the kernel, and not the speed of this program. It sleeps for most of that time, so
that it leaves the processor to the scheduler.
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
_LARGEST: Final = 1 << 22
"""Bytes of a request and its head; more is refused."""
_SPIN: Final = 100e-6
"""Seconds before an answer is due in which the clock is read in a loop: a sleep ends that much too late."""


def answer_to(body: bytes, rejected: int) -> bytes:
    """Return the answer to a request to filter, as a server written in Go encodes it."""
    names: list[str] = json.loads(body)["NodeNames"]
    failed = dict.fromkeys(names[rejected - 1 :: rejected], "rejected") if rejected else {}
    kept = [name for name in names if name not in failed]
    answer: dict[str, Any] = {"Nodes": None, "NodeNames": kept, "FailedNodes": failed}
    answer |= {"FailedAndUnresolvableNodes": {}, "Error": ""}
    return json.dumps(answer, separators=(",", ":")).encode()


def _serve(connection: socket.socket, seconds: float, rejected: int) -> None:
    received = bytearray(_LARGEST)
    names, reply = b"", b""
    while size := connection.recv_into(received):
        due = perf_counter() + seconds
        body = _rest_of_request(connection, received, size)
        sent = body[body.rindex(b'"NodeNames":') :]
        if sent != names:
            answer = answer_to(body, rejected)
            names, reply = sent, b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(answer), answer)
        sleep(max(0.0, due - _SPIN - perf_counter()))
        while perf_counter() < due:
            pass
        connection.sendall(reply)


def _rest_of_request(connection: socket.socket, received: bytearray, size: int) -> bytes:
    """Return the body of a request; *size* bytes of it and its head are in *received*, the rest is read."""
    free = memoryview(received)
    while (head := received.find(b"\r\n\r\n", 0, size) + 4) < 4:
        size += _read(connection, free[size:])
    fields = bytes(free[:head]).lower()
    end = head + int(fields.partition(b"content-length:")[2].split(None, 1)[0])
    while size < end:
        size += _read(connection, free[size:end])
    return bytes(free[head:end])


def _read(connection: socket.socket, free: memoryview) -> int:
    if count := connection.recv_into(free):
        return count
    raise ConnectionError("the request is too long, or ended too early")


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
