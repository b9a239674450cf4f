"""Servers that are started as a user starts them, and clients that leave, break off or hang.

``python -m tests.cli.abrupt_clients 2000`` sends that many clients of each kind to each server and prints
what came of it.
"""

from __future__ import annotations

import os
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import cycle
from pathlib import Path
from typing import Final

from attrs import define, field, frozen

from schedframe.serve.tls import _made
from schedframe.testing import node
from schedframe.testing.api_server import ApiServer

HEALTH: Final = b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n"
NODES: Final = b",".join(
    b'{"metadata":{"name":"n%d"},"status":{"allocatable":{"cpu":"4","pods":"10"}}}' % each
    for each in range(500)
)
FILTER: Final = (
    b'{"Pod":{"metadata":{"name":"p","namespace":"d"},"spec":{"containers":[]}},"Nodes":{"items":[%s]}}'
    % NODES
)
PIPELINED: Final = 60
AT_ONCE: Final = 200
"""Clients that hang at a time."""
START_SECONDS: Final = 60.0
_MAIN: Final = "from schedframe.cli.main import main; main()"
_WITHOUT_UVICORN: Final = f"import sys; sys.modules['uvicorn'] = None; {_MAIN}"
_RESET: Final = struct.pack("ii", 1, 0)


@define(eq=False)
class Running:
    """A server in a process of its own."""

    process: subprocess.Popen[str]
    port: int
    tls: bool
    request: bytes
    """One that takes the server a while, as far as there is one."""
    ready: str
    log: list[str] = field(factory=list, init=False)
    """Its lines on stderr so far."""
    _is_ready: threading.Event = field(factory=threading.Event, init=False)
    _reader: threading.Thread = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(line)
            if self.ready in line:
                self._is_ready.set()
        self._is_ready.set()

    def wait(self) -> None:
        """Wait until it serves."""
        assert self._is_ready.wait(START_SECONDS), self.log
        assert self.answers(), self.log

    def end(self) -> None:
        """End it as a service manager does: with 0 and without a traceback."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(START_SECONDS)
        self._reader.join()
        assert code == 0, (code, self.log[-50:])
        assert not [line for line in self.log if "Traceback" in line], "".join(self.log[-100:])

    def connected(self) -> socket.socket:
        """Return a connection without TLS."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)

    def opened(self) -> socket.socket:
        """Return a connection that requests can be sent on."""
        plain = self.connected()
        if not self.tls:
            return plain
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context.wrap_socket(plain)

    def answers(self) -> bool:
        """Return whether the server lives and answers one more client."""
        if self.process.poll() is not None:
            return False
        with self.opened() as client:
            client.sendall(HEALTH)
            return client.recv(100).startswith(b"HTTP/1.1 200")


@frozen
class Server:
    """A command that serves."""

    name: str
    arguments: Callable[[Path, int], Sequence[str]]
    tls: bool = False
    request: bytes = HEALTH * PIPELINED
    main: str = _MAIN
    ready: str = "synced in"
    """Part of the line on stderr after which it serves."""

    @contextmanager
    def running(self) -> Iterator[Running]:
        """Run it inside."""
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            path, port = Path(folder), _free_port()
            _write_files(path, stack)
            command = [sys.executable, "-c", self.main, *self.arguments(path, port)]
            process = stack.enter_context(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
            stack.callback(process.kill)
            running = Running(process, port, self.tls, self.request, self.ready)
            running.wait()
            yield running
            running.end()


def _write_files(folder: Path, stack: ExitStack) -> None:
    config = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    (folder / "config.yaml").write_text(config)
    for name, text in zip(("cert", "key"), _made("127.0.0.1"), strict=True):
        (folder / name).write_bytes(text)
    api = stack.enter_context(ApiServer())
    api.create(node("n"))
    api.kubeconfig(folder / "kubeconfig")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


def _run(*more: str) -> Callable[[Path, int], Sequence[str]]:
    def arguments(folder: Path, port: int) -> Sequence[str]:
        own = f"--kubeconfig={folder / 'kubeconfig'}", f"--secure-port={port}", "--leader-elect=false"
        return ["run", *own, *more]

    return arguments


def _extender(folder: Path, port: int) -> list[str]:
    return ["extender", f"--config={folder / 'config.yaml'}", f"--port={port}"]


def _extender_with_tls(folder: Path, port: int) -> list[str]:
    files = f"--tls-cert-file={folder / 'cert'}", f"--tls-private-key-file={folder / 'key'}"
    return [*_extender(folder, port), *files]


_POST: Final = b"POST /filter HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % len(FILTER) + FILTER
SERVERS: Final = (
    Server("extender", _extender, request=_POST, ready="listening on"),
    Server("extender with TLS", _extender_with_tls, tls=True, request=_POST, ready="listening on"),
    Server("run on loopback", _run()),
    Server("run with TLS, no credentials", _run("--bind-address=0.0.0.0"), tls=True),
    Server("run without the extra serve", _run(), main=_WITHOUT_UVICORN),
)


def leaves_early(server: Running, number: int) -> None:
    """Send a request and close."""
    with server.opened() as client:
        client.sendall(server.request)


def resets(server: Running, number: int) -> None:
    """Send a request and reset the connection, so that the answer meets an error at once."""
    with server.opened() as client:
        client.sendall(server.request)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)


def pipelines(server: Running, number: int) -> None:
    """Send many requests and close; every other client reads one answer before."""
    with server.opened() as client:
        client.sendall(HEALTH * PIPELINED)
        if number % 2:
            client.recv(100)
        if number % 3:
            with suppress(OSError):  # the server has closed the connection
                client.shutdown(socket.SHUT_WR)


def breaks_off_in_the_head(server: Running, number: int) -> None:
    """Send a part of a head and close."""
    with server.opened() as client:
        client.sendall(HEALTH[: 1 + number % (len(HEALTH) - 1)])


def breaks_off_in_the_handshake(server: Running, number: int) -> None:
    """Send a part of the first message of TLS and close; without TLS it is garbage."""
    to_server, from_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(from_server, to_server).do_handshake()
    hello = to_server.read()
    with server.connected() as client:
        client.sendall(hello[: 1 + number % len(hello)])
        if number % 2:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)


def breaks_off_in_the_body(server: Running, number: int) -> None:
    """Promise a body, send a part of it and close."""
    with server.opened() as client:
        client.sendall(_POST[: len(_POST) - 1 - number % len(FILTER)])


def ends_in_garbage(server: Running, number: int) -> None:
    """Send a request whose body breaks the rules of HTTP, at once or after the answer."""
    head = b"GET /healthz HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
    with server.opened() as client:
        client.sendall(head if number % 2 else head + b"zz\r\n")
        client.recv(100)
        with suppress(OSError):  # the server has closed the connection
            client.sendall(b"zz\r\n\x00\r\n\r\n")


KINDS: Final = (
    leaves_early,
    resets,
    pipelines,
    breaks_off_in_the_head,
    breaks_off_in_the_handshake,
    breaks_off_in_the_body,
    ends_in_garbage,
)


def send(server: Running, kind: Callable[[Running, int], None], count: int) -> int:
    """Send *count* clients of a kind; return how many of them the server refused."""
    refused = 0
    for number in range(count):
        try:
            kind(server, number)
        except OSError:
            refused += 1
    return refused


def hang(server: Running, count: int) -> int:
    """Hold *count* clients that send nothing, or a byte now and then; return how many answers came beside.

    There is one answer for each group of clients that hang at a time, if all is well.
    """
    answers = 0
    for begin in range(0, count, AT_ONCE):
        with ExitStack() as stack:
            clients = [stack.enter_context(server.connected()) for _ in range(min(AT_ONCE, count - begin))]
            for client, byte in zip(clients * 3, cycle(HEALTH[:2]), strict=False):
                with suppress(OSError):  # the server has closed it to make room
                    client.sendall(bytes([byte]))
            answers += server.answers()
    return answers


@frozen
class _Row:
    name: str
    seconds: float = field(converter=lambda value: round(value, 1))
    refused: int
    alive: bool


def _rows(server: Running, count: int) -> Iterator[_Row]:
    for kind in KINDS:
        began = time.monotonic()
        refused = send(server, kind, count)
        yield _Row(kind.__name__, time.monotonic() - began, refused, server.answers())
        if server.process.poll() is not None:
            return
    began = time.monotonic()
    groups = -(-count // AT_ONCE)
    unanswered = groups - hang(server, count)
    yield _Row("hangs", time.monotonic() - began, unanswered, server.answers())


def _main(count: int) -> None:
    for server in SERVERS:
        with server.running() as running:
            print(f"{server.name}, {count} clients of each kind", flush=True)
            for row in _rows(running, count):
                words = f"refused {row.refused:5}  lives and answers {row.alive}"
                print(f"    {row.name:28} {row.seconds:6.1f} s  {words}", flush=True)
            assert running.answers()
            files = len(os.listdir(f"/proc/{running.process.pid}/fd"))
            code = running.process.poll()
        print(f"    exit code before the signal: {code}; descriptors at the end: {files}", flush=True)


if __name__ == "__main__":
    _main(int(sys.argv[1]))
