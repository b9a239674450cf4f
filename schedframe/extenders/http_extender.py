"""An extender of the configuration, called over HTTP or HTTPS."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from ssl import SSLContext
from time import monotonic
from typing import Final, TypeVar
from urllib.parse import SplitResult, urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

from attrs import define, field

from .._brief import brief_repr
from .._checked import checked
from ..api import Pod
from ..config import Extender as ExtenderConfig
from ..config.extender_tls import tls_context
from ..framework import (
    ExtenderError,
    ExtenderFilterResult,
    ExtenderVerb,
    HostPriority,
    OfferedNodes,
    Victims,
    VictimUids,
)
from . import wire
from .connecting import Target, connect
from .connection import Connection
from .encoding import Encoding
from .waiting import Broken, NothingSent, Timeout, Wait, wait_blocking

T = TypeVar("T")
logger = logging.getLogger("schedframe")

DEFAULT_TIMEOUT: Final = 5.0
"""Seconds for an answer where ``httpTimeout`` is 0."""
LARGEST_KEPT_ANSWER: Final = 1 << 20
"""Bytes of an answer to filter up to which it is compared to the next one."""
_PORTS: Final = {"http": 80, "https": 443}


@checked
@brief_repr
@define(eq=False)
class HttpExtender:
    """Implements :class:`.Extender` and :class:`.RemoteExtender` by requests to a server.

    A request, connecting included, ends after ``httpTimeout``. Connections are kept. ``bind`` may be called
    in any thread, everything else belongs to the core's.
    """

    config: ExtenderConfig
    wait: Wait = wait_blocking
    """How the core waits for an answer."""
    next_pod: Callable[[], Pod | None] = lambda: None
    """Returns the pod that is likely to follow; it is encoded while this one's answer is awaited."""
    encoding: Encoding = field(factory=Encoding)
    """Encoded parts of requests; may be shared by the extenders of a scheduler."""
    name: str = field(init=False)
    verbs: frozenset[ExtenderVerb] = field(init=False)
    is_ignorable: bool = field(init=False)
    weight: int = field(init=False)
    timeout: float = field(init=False)
    """Seconds."""
    _managed: frozenset[str] = field(init=False)
    _target: Target | None = field(default=None, init=False)
    _idle: deque[Connection] = field(factory=deque, init=False)
    _closed: bool = field(default=False, init=False)
    _heads: dict[str, bytes] = field(factory=dict, init=False)
    """By verb."""
    _last_answer: tuple[bytes, ExtenderFilterResult | None] = field(default=(b"", None), init=False)
    """The last answer to filter, as it came and decoded."""

    def __attrs_post_init__(self) -> None:
        config = self.config
        self.name, self.weight, self.is_ignorable = config.url_prefix, config.weight, config.ignorable
        self.verbs = frozenset(verb for verb in ExtenderVerb if getattr(config, f"{verb.value}_verb"))
        self.timeout = config.http_timeout.seconds or DEFAULT_TIMEOUT
        self._managed = frozenset(resource.name for resource in config.managed_resources)

    # ---- calls -------------------------------------------------------------------------------------------

    def is_interested(self, pod: Pod) -> bool:
        """Whether some container requests or limits a managed resource; always without any of these."""
        if not self._managed:
            return True
        spec = pod.spec
        return any(
            not self._managed.isdisjoint(amounts)
            for container in (*spec.containers, *spec.init_containers)
            for amounts in (container.resources.requests, container.resources.limits)
        )

    def filter(self, pod: Pod, nodes: OfferedNodes) -> ExtenderFilterResult:
        """Return which of *nodes* remain."""
        return self.send_filter(pod, nodes)()

    def send_filter(self, pod: Pod, nodes: OfferedNodes) -> Callable[[], ExtenderFilterResult]:
        """Send the request to filter; return the function that waits for the answer."""
        exchange = self._send(self.config.filter_verb, self._args(pod, nodes), self.wait)
        by_name = self.config.node_cache_capable
        sent = (nodes.names, self.encoding.names(nodes)) if by_name else None
        follower = self.next_pod()
        if follower is not None:
            self.encoding.prepare(follower)
        return lambda: self._filter_result(exchange.receive(), sent)

    def _filter_result(self, body: bytes, sent: tuple[Sequence[str], bytes] | None) -> ExtenderFilterResult:
        """Return the answer in *body*; an answer like the last one is not decoded again."""
        last, result = self._last_answer
        if result is None or body != last:
            result = wire.read_filter_result(body, by_name=self.config.node_cache_capable, sent=sent)
            if len(body) <= LARGEST_KEPT_ANSWER:
                self._last_answer = body, result
        return result

    def prioritize(self, pod: Pod, nodes: OfferedNodes) -> list[HostPriority]:
        """Return scores of *nodes*."""
        return self.send_prioritize(pod, nodes)()

    def send_prioritize(self, pod: Pod, nodes: OfferedNodes) -> Callable[[], list[HostPriority]]:
        """Send the request to prioritize; return the function that waits for the scores."""
        exchange = self._send(self.config.prioritize_verb, self._args(pod, nodes), self.wait)
        return partial(exchange.read, wire.read_priorities)

    def bind(self, pod: Pod, node_name: str) -> None:
        """Bind *pod*. Any thread, which waits."""
        body = wire.binding_args(pod, node_name)
        self._send(self.config.bind_verb, (body,), wait_blocking).read(wire.read_binding_result)

    def process_preemption(self, pod: Pod, victims: Mapping[str, Victims]) -> dict[str, VictimUids]:
        """Return the nodes on which preemption may take place and the pods to remove there."""
        by_uid = self.config.node_cache_capable
        body = wire.preemption_args(self.encoding.pod(pod), victims, by_uid=by_uid)
        return self._send(self.config.preempt_verb, (body,), self.wait).read(wire.read_preemption_result)

    def close(self) -> None:
        """Close the kept connections, and those in use as soon as they are not."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()

    @property
    def idle_connections(self) -> int:
        """Number of connections that are kept for further requests."""
        return len(self._idle)

    # ---- requests ----------------------------------------------------------------------------------------

    def _args(self, pod: Pod, nodes: OfferedNodes) -> tuple[bytes, ...]:
        encoding = self.encoding
        if self.config.node_cache_capable:
            return wire.extender_args(encoding.pod(pod), None, encoding.names(nodes))
        return wire.extender_args(encoding.pod(pod), encoding.nodes(nodes), None)

    def _send(self, verb: str, body: Sequence[bytes], wait: Wait) -> _Exchange:
        """Send a request, the body in parts. Raises :class:`ExtenderError`."""
        exchange = _Exchange(self, verb, monotonic() + self.timeout, wait)
        exchange.send(body)
        return exchange

    def take(self, deadline: float, wait: Wait) -> Connection:
        """Return a kept connection that is still open, or a new one. Raises :class:`ExtenderError`."""
        while self._idle:
            try:
                kept = self._idle.pop()
            except IndexError:
                break  # another thread took it
            if kept.is_idle():
                return kept
            kept.close()
        return connect(self.target, deadline, wait)

    def put_back(self, connection: Connection) -> None:
        """Keep a connection for the next request, if it may be used again."""
        connection.is_reused = True
        if connection.keeps and not self._closed:
            self._idle.append(connection)
        else:
            connection.close()

    @property
    def target(self) -> Target:
        """Where to connect to. Raises :class:`ExtenderError` for a URL that says no host."""
        if self._target is None:
            url = self._url()
            tls = self.config.tls_config
            context = self._tls_context() if url.scheme == "https" else None
            host, port = url.hostname or "", url.port or _PORTS[url.scheme]
            _warn_of_proxy(url)
            self._target = Target(host, port, context, tls.server_name if tls is not None else "")
        return self._target

    def _tls_context(self) -> SSLContext:
        try:
            return tls_context(self.config.tls_config, self.config.enable_https)
        except (OSError, ValueError) as error:  # the files changed since the configuration was checked
            raise ExtenderError(f"cannot use the certificates of tlsConfig: {error}") from error

    def _url(self) -> SplitResult:
        try:
            url = urlsplit(self.config.url_prefix)
            if url.scheme in _PORTS and url.hostname and (url.port is None or url.port):
                return url
        except ValueError as error:
            raise ExtenderError(f"cannot use the URL {self.config.url_prefix!r}: {error}") from error
        raise ExtenderError(f"cannot use the URL {self.config.url_prefix!r}; it needs http:// and a host")

    def head(self, verb: str) -> bytes:
        """Return request line and headers up to the length of the body."""
        known = self._heads.get(verb)
        if known is not None:
            return known
        url = self._url()
        path = (
            f"{url.path.rstrip('/')}/{verb}"
            if not url.query
            else f"{url.path}?{url.query.rstrip('/')}/{verb}"
        )
        host = url.netloc.rpartition("@")[2]
        head = self._heads[verb] = (
            f"POST {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: schedframe\r\n"
            "Content-Type: application/json\r\nContent-Length: "
        ).encode()
        return head


def _warn_of_proxy(url: SplitResult) -> None:
    """Log a warning if the environment names a proxy for *url*, which kube-scheduler would use."""
    host = url.hostname or ""
    local = host == "localhost" or host.startswith("127.") or host == "::1"
    if not local and url.scheme in getproxies() and not proxy_bypass(host):
        logger.warning("extender %s: the proxy of the environment is not used", urlunsplit(url))


@define(eq=False)
class _Exchange:
    """One request and its answer."""

    extender: HttpExtender
    verb: str
    deadline: float
    wait: Wait
    _connection: Connection | None = field(default=None, init=False)
    _body: bytes | None = field(default=None, init=False)

    def send(self, body: Sequence[bytes]) -> None:
        """Send the request. Raises :class:`ExtenderError`."""
        extender = self.extender
        length = sum(map(len, body))
        request = (b"%b%d\r\n\r\n" % (extender.head(self.verb), length), *body)
        try:
            while self._connection is None:
                self._connection = extender.take(self.deadline, self.wait)
                self._try_to_send(self._connection, request)
        except (Broken, Timeout) as error:
            raise self._failed(error) from error

    def _try_to_send(self, connection: Connection, request: Sequence[bytes]) -> None:
        """Send *request*; a kept connection that the server has closed is dropped, as in Go."""
        try:
            connection.send(request, self.deadline, self.wait)
        except NothingSent:
            if not connection.is_reused:
                raise
            connection.close()
            self._connection = None

    def read(self, decode: Callable[[bytes], T]) -> T:
        """Return what *decode* makes of the answer. Raises :class:`ExtenderError`."""
        return decode(self.receive())

    def receive(self) -> bytes:
        """Return the body of the answer, waited for once. Raises :class:`ExtenderError`."""
        if self._body is None:
            connection = self._connection
            assert connection is not None
            try:
                response = connection.receive(self.deadline, self.wait)
            except (Broken, Timeout) as error:
                raise self._failed(error) from error
            self.extender.put_back(connection)
            if response.status != HTTPStatus.OK:
                problem = f"failed {self.verb} with extender at URL {self._url}, code {response.status}"
                if response.location:
                    problem += f"; it redirects to {response.location}, which is not followed"
                raise ExtenderError(problem)
            self._body = response.body
        return self._body

    @property
    def _url(self) -> str:
        return f"{self.extender.config.url_prefix.rstrip('/')}/{self.verb}"

    def _failed(self, error: ExtenderError) -> ExtenderError:
        if self._connection is not None:
            self._connection.close()
        detail = f"{error}, within {self.extender.timeout:g}s" if isinstance(error, Timeout) else str(error)
        return ExtenderError(f'Post "{self._url}": {detail}')
