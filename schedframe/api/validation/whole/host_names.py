"""Names and addresses in the network of a pod.

Source of the rules: ``validatePodDNSConfig``, ``ValidateHostAliases``, ``validatePodHostName`` and
``validateHostUsers`` of pkg/apis/core/validation. Scheduling reads none of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import IPv6Address, ip_address
from typing import Any, Final

from ...._base.wording import described
from ....errors import InputError
from ..rules import check_name
from .reading import is_left_out, mapping, objects, sequence, text, texts

_MOST_SERVERS: Final = 3


def check_dns_policy(spec: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the error of a policy that leaves the pod without name servers."""
    if text(spec, "dnsPolicy") == "None" and not sequence(mapping(spec, "dnsConfig"), "nameservers"):
        path = "dnsConfig" if is_left_out(spec, "dnsConfig") else "dnsConfig.nameservers"
        problem = "dnsPolicy None needs name servers, and there are none"
        yield InputError(path, problem, "list their addresses")


def check_dns_config(spec: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of name servers."""
    config = mapping(spec, "dnsConfig")
    count = len(sequence(config, "nameservers"))
    if count > _MOST_SERVERS:
        problem = f"there are {count} name servers"
        yield InputError("dnsConfig.nameservers", problem, f"list at most {_MOST_SERVERS}")
    for path, address in texts(config, "nameservers"):
        if (error := _address_problem(address)) is not None:
            yield error.at(path).at("dnsConfig")


def check_host_aliases(spec: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of further names of addresses."""
    for path, alias in objects(spec, "hostAliases"):
        address = alias.get("ip", "")
        if isinstance(address, str) and (error := _address_problem(address)) is not None:
            yield error.at("ip").at(path)
        for name_path, name in texts(alias, "hostnames"):
            if (error := check_name(name, label=False)) is not None:
                yield error.at(name_path).at(path)


def _address_problem(address: str) -> InputError | None:
    """Return the error if *address* is no IP address that the API server takes."""
    problem, fix = f"{described(address)} is no IP address", "write one such as 10.0.0.1"
    try:
        read = ip_address(address)
    except ValueError:
        return InputError("", problem, fix)
    if isinstance(read, IPv6Address) and (read.ipv4_mapped is not None or "%" in address):
        return InputError("", problem, fix)
    return None


def check_host_name(spec: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of a name that the pod could not have."""
    if is_left_out(spec, "hostnameOverride"):
        return
    for key in ("setHostnameAsFQDN", "hostNetwork"):
        if spec.get(key) is True:
            fix = "write one of the two"
            yield InputError("hostnameOverride", f"it does not go with {key}: true", fix)


def check_host_users(spec: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of a pod that has users of its own and namespaces of the node.

    Its network is left to the node: with a feature that nodes declare, such a pod may be on it.
    """
    for key in ("hostPID", "hostIPC"):
        if spec.get("hostUsers") is False and spec.get(key) is True:
            # the path of the API server
            path = f"H{key[1:]}"
            yield InputError(path, f"{key} needs the users of the node", "leave hostUsers: false out")
