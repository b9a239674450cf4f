"""Flags of kube-scheduler up to v1.22 that became configuration: refused with their successor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_MIGRATE: Final = "schedframe config migrate"
FORMER_FLAGS: Final[dict[str, str]] = {
    "--algorithm-provider": f"write a configuration with {_MIGRATE} --algorithm-provider NAME",
    "--policy-config-file": f"write a configuration with {_MIGRATE} FILE",
    "--policy-configmap": f"save the entry policy.cfg of the ConfigMap, and run {_MIGRATE} FILE",
    "--policy-configmap-namespace": f"save the entry policy.cfg of the ConfigMap, and run {_MIGRATE} FILE",
    "--use-legacy-policy-config": f"write a configuration with {_MIGRATE} FILE",
    "--hard-pod-affinity-symmetric-weight": "set hardPodAffinityWeight in the arguments of InterPodAffinity",
    "--failure-domains": "name a topologyKey in every term of pod affinity",
    "--bind-timeout-seconds": "set bindTimeoutSeconds in the arguments of VolumeBinding",
    "--disable-preemption": "disable DefaultPreemption at postFilter in the profile",
}
"""Flag → what to do in its place."""


def former_flag(arguments: Sequence[str]) -> str | None:
    """Return what is wrong with the first former flag among *arguments*; ``None`` if there is none.

    ``config migrate`` has an option --algorithm-provider, which is no former flag there.
    """
    migrating = list(arguments[:2]) == ["config", "migrate"]
    for argument in arguments:
        if argument == "--":
            return None
        flag = argument.partition("=")[0]
        if flag in FORMER_FLAGS and not (migrating and flag == "--algorithm-provider"):
            return f"{flag} became configuration: {FORMER_FLAGS[flag]}"
    return None
