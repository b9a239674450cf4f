"""Host ports in use, with counts."""

from __future__ import annotations

from collections.abc import Mapping

from ..api import HostPort

ANY_IP = "0.0.0.0"

PortUsers = dict[tuple[str, int], dict[str, int]]
"""(protocol, port) → host IP → number of users."""


def count_port(used: PortUsers, port: HostPort, sign: int) -> None:
    """Count one more (1) or one less (-1) user of *port*."""
    key = (port.protocol, port.port)
    users = used.setdefault(key, {})
    left = users.get(port.host_ip, 0) + sign
    if left:
        users[port.host_ip] = left
    else:
        users.pop(port.host_ip, None)
        if not users:
            del used[key]


def count_port_at(
    ports: dict[tuple[str, int], dict[int, dict[str, int]]], row: int, port: HostPort, sign: int
) -> None:
    """As :func:`count_port`, for one row of an index: (protocol, port) → row → host IP → number of users."""
    key = (port.protocol, port.port)
    rows = ports.setdefault(key, {})
    one = {key: rows.get(row, {})}
    count_port(one, port, sign)
    if key in one:
        rows[row] = one[key]
    else:
        rows.pop(row, None)
        if not rows:
            del ports[key]


def port_conflicts(used: Mapping[tuple[str, int], Mapping[str, int]], port: HostPort) -> bool:
    """Return whether *port* is in use: same protocol, number and address, or either is 0.0.0.0."""
    users = used.get((port.protocol, port.port))
    if not users:
        return False
    return port.host_ip == ANY_IP or ANY_IP in users or port.host_ip in users
