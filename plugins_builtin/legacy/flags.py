"""Flags of kube-scheduler up to v1.22 that became configuration: refused with their successor.

``schedframe run`` takes some of them all the same: see :mod:`schedframe.cli.run.former_options`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

_MIGRATE: Final = "schedframe config migrate"
FORMER_FLAGS: Final[dict[str, str]] = {
    "--algorithm-provider": f"write a configuration with {_MIGRATE} --algorithm-provider NAME",
    "--policy-config-file": f"write a configuration with {_MIGRATE} FILE",
    "--policy-configmap": f"save the ConfigMap as YAML, and run {_MIGRATE} FILE",
    "--policy-configmap-namespace": f"save the ConfigMap as YAML, and run {_MIGRATE} FILE",
    "--use-legacy-policy-config": f"write a configuration with {_MIGRATE} FILE",
    "--hard-pod-affinity-symmetric-weight": "set hardPodAffinityWeight in the arguments of InterPodAffinity",
    "--failure-domains": "name a topologyKey in every term of pod affinity",
    "--bind-timeout-seconds": "set bindTimeoutSeconds in the arguments of VolumeBinding",
    "--disable-preemption": "disable DefaultPreemption at postFilter in the profile",
}
"""Flag → what to do in its place."""
TAKEN_BY_RUN: Final = frozenset(
    {"--algorithm-provider", "--policy-config-file", "--policy-configmap", "--policy-configmap-namespace"}
    | {"--use-legacy-policy-config", "--hard-pod-affinity-symmetric-weight"}
)
"""Flags that ``schedframe run`` translates."""


def former_flag(arguments: Sequence[str]) -> str | None:
    """Return what is wrong with the first former flag among *arguments*; ``None`` if there is none.

    ``run`` translates some of them, and ``config migrate`` has an option --algorithm-provider.
    """
    taken: Collection[str] = TAKEN_BY_RUN if list(arguments[:1]) == ["run"] else ()
    if list(arguments[:2]) == ["config", "migrate"]:
        taken = ("--algorithm-provider",)
    for argument in arguments:
        if argument == "--":
            return None
        flag = argument.partition("=")[0]
        if flag in FORMER_FLAGS and flag not in taken:
            return f"{flag} became configuration: {FORMER_FLAGS[flag]}"
    return None
