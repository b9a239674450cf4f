"""An extender of the configuration, called over HTTP or HTTPS."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from attrs import field

from .._base.value import record
from ..api import Pod
from ..config import Extender as ExtenderConfig
from ..framework import (
    ExtenderFilterResult,
    ExtenderVerb,
    HostPriority,
    OfferedNodes,
    Victims,
    VictimUids,
)
from ..http.blocking import Wait, wait_blocking
from . import wire
from .encoding import Encoding
from .exchange import Exchange
from .servers import Servers

DEFAULT_TIMEOUT: Final = 5.0
"""Seconds for an answer where ``httpTimeout`` is 0."""
LARGEST_KEPT_ANSWER: Final = 1 << 20
"""Bytes of an answer to filter up to which it is compared to the next one."""


@record(eq=False)
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
    _prefix: str = field(init=False)
    _servers: Servers = field(init=False)
    _last_answer: tuple[bytes, ExtenderFilterResult | None] = field(default=(b"", None), init=False)
    """The last answer to filter, as it came and decoded."""

    def __attrs_post_init__(self) -> None:
        config = self.config
        self.name, self.weight, self.is_ignorable = config.url_prefix, config.weight, config.ignorable
        self._prefix, self._servers = config.url_prefix.rstrip("/"), Servers(config)
        self.verbs = frozenset(verb for verb in ExtenderVerb if getattr(config, f"{verb.value}_verb"))
        self.timeout = config.http_timeout.seconds or DEFAULT_TIMEOUT
        self._managed = frozenset(resource.name for resource in config.managed_resources)

    # ---- calls -------------------------------------------------------------------------------------------

    def is_interested(self, pod: Pod) -> bool:
        """Return whether some container requests or limits a managed resource; always if there are none."""
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
        self._servers.close()

    @property
    def idle_connections(self) -> int:
        """Number of connections that are kept for further requests."""
        return self._servers.idle_connections

    # ---- requests ----------------------------------------------------------------------------------------

    def _args(self, pod: Pod, nodes: OfferedNodes) -> tuple[bytes, ...]:
        encoding = self.encoding
        if self.config.node_cache_capable:
            return wire.extender_args(encoding.pod(pod), None, encoding.names(nodes))
        return wire.extender_args(encoding.pod(pod), encoding.nodes(nodes), None)

    def _send(self, verb: str, body: Sequence[bytes], wait: Wait) -> Exchange:
        """Send a request, the body in parts. Raises :class:`ExtenderError`."""
        # The reference joins them as text, so that a query in the prefix takes the verb.
        url = f"{self._prefix}/{verb}"
        exchange = Exchange(self._servers, verb, url, self.timeout, wait)
        exchange.send(body)
        return exchange
