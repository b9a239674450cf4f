"""Choice of the proxy to a server, by the environment, with the rules of Go.

``HTTP_PROXY``, ``HTTPS_PROXY`` and ``NO_PROXY`` are read, in capitals first. A server on this machine
(``localhost`` and loopback addresses) needs no proxy.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

IpAddress = IPv4Address | IPv6Address


def proxy_url(scheme: str, host: str, port: int, environ: Mapping[str, str] | None = None) -> str | None:
    """Return the URL of the proxy to a server as it stands in the environment; ``None``: connect directly."""
    environ = os.environ if environ is None else environ
    given = _variable(environ, f"{scheme}_proxy")
    if not given or _is_exempt(host.lower(), port, _variable(environ, "no_proxy")):
        return None
    return given


def _variable(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name.upper()) or environ.get(name) or ""


def _is_exempt(host: str, port: int, rules: str) -> bool:
    """Return whether *rules*, a value of ``NO_PROXY``, or the place of the server exempt it."""
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    return any(_matches(rule.strip().lower(), host, port, address) for rule in rules.split(","))


def _matches(rule: str, host: str, port: int, address: IpAddress | None) -> bool:
    """Return whether one rule names *host*, by name, domain, address or network; with or without a port."""
    if rule == "*":
        return True
    if "/" in rule:
        try:
            return address is not None and address in ip_network(rule, strict=False)
        except ValueError:
            return False
    name, wanted_port = _split(rule)
    if not name or wanted_port not in ("", str(port)):
        return False
    wanted = _address(name)
    if wanted is not None:
        return address == wanted
    name = name.removeprefix("*") if name.startswith("*.") else name
    return host.endswith(name) if name.startswith(".") else host == name or host.endswith(f".{name}")


def _split(rule: str) -> tuple[str, str]:
    """Return the host and the port of *rule*, empty if it has none."""
    if rule.startswith("["):
        name, _, rest = rule[1:].partition("]")
        return name, rest.removeprefix(":")
    if rule.count(":") > 1:  # an IPv6 address
        return rule, ""
    name, _, port = rule.partition(":")
    return name, port


def _address(host: str) -> IpAddress | None:
    try:
        return ip_address(host)
    except ValueError:
        return None
