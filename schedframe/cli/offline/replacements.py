"""Replacements of the texts of a cluster: equal texts by equal ones, in the order of the originals.

Scheduling compares texts in few ways: with equal ones, in alphabetical order where all else is equal, as
numbers (``Gt``, ``Lt``), and by the shape of a zone or of the handle of a disk. A replacement is equal,
smaller or larger as the original is. So all texts are collected first; others have no place in the order.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections import defaultdict
from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote, urlsplit

from attrs import field

from ..._base.value import record
from ...api import (
    LABEL_NAMESPACE_NAME,
    LABEL_REGION,
    LABEL_REGION_BETA,
    LABEL_ZONE,
    LABEL_ZONE_BETA,
)

OWN_NAMES: Final = frozenset(
    {"", "default-scheduler", "system-cluster-critical", "system-node-critical", "0.0.0.0", "::"}
)
"""Names that Kubernetes itself gives, which stay."""
OWN_NAMESPACES: Final = frozenset({"default", "kube-system", "kube-public", "kube-node-lease"})
IN_TREE: Final = frozenset(
    {
        "kubernetes.io/aws-ebs",
        "kubernetes.io/azure-disk",
        "kubernetes.io/azure-file",
        "kubernetes.io/cinder",
        "kubernetes.io/gce-pd",
        "kubernetes.io/no-provisioner",
        "kubernetes.io/portworx-volume",
        "kubernetes.io/vsphere-volume",
        "cinder.csi.openstack.org",
        "csi.vsphere.vmware.com",
        "disk.csi.azure.com",
        "ebs.csi.aws.com",
        "file.csi.azure.com",
        "pd.csi.storage.gke.io",
        "pxd.portworx.com",
    }
)
"""Drivers and provisioners that scheduling knows, as it translates between them; they stay."""
ZONES: Final = frozenset(
    {
        LABEL_ZONE,
        LABEL_ZONE_BETA,
        "topology.ebs.csi.aws.com/zone",
        "topology.gke.io/zone",
        "topology.cinder.csi.openstack.org/zone",
    }
)
"""Labels with the name of a zone; of a volume in several zones, with the names joined by two underscores."""
INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
INSTANCE_TYPES: Final = frozenset({INSTANCE_TYPE, "beta.kubernetes.io/instance-type"})
OWN_KEYS: Final = (
    ZONES
    | INSTANCE_TYPES
    | {
        "",
        LABEL_NAMESPACE_NAME,
        LABEL_REGION,
        LABEL_REGION_BETA,
        "metadata.name",
        "kubernetes.io/arch",
        "kubernetes.io/hostname",
        "kubernetes.io/os",
        "kubernetes.io/service-name",
        "app.kubernetes.io/component",
        "app.kubernetes.io/instance",
        "app.kubernetes.io/managed-by",
        "app.kubernetes.io/name",
        "app.kubernetes.io/part-of",
        "app.kubernetes.io/version",
        "apps.kubernetes.io/pod-index",
        "batch.kubernetes.io/controller-uid",
        "batch.kubernetes.io/job-completion-index",
        "batch.kubernetes.io/job-name",
        "controller-revision-hash",
        "controller-uid",
        "job-name",
        "pod-template-generation",
        "pod-template-hash",
        "statefulset.kubernetes.io/pod-name",
        "node-role.kubernetes.io/control-plane",
        "node-role.kubernetes.io/master",
        "node.kubernetes.io/disk-pressure",
        "node.kubernetes.io/memory-pressure",
        "node.kubernetes.io/network-unavailable",
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/out-of-service",
        "node.kubernetes.io/pid-pressure",
        "node.kubernetes.io/unreachable",
        "node.kubernetes.io/unschedulable",
        "node.cloudprovider.kubernetes.io/uninitialized",
    }
)
"""Keys of labels, taints and fields that Kubernetes itself defines, which stay."""
NATIVE_RESOURCES: Final = frozenset(
    {
        "cpu",
        "memory",
        "ephemeral-storage",
        "pods",
        "storage",
        "attachable-volumes-aws-ebs",
        "attachable-volumes-azure-disk",
        "attachable-volumes-cinder",
        "attachable-volumes-gce-pd",
    }
)
_HUGE_PAGES: Final = re.compile(r"hugepages-[0-9]+[KMGT]i")
_PREFIX: Final = re.compile(
    r"hugepages-|attachable-volumes-|requests\.|deviceclass\.resource\.kubernetes\.io/"
)
"""Beginnings of names of resources that scheduling looks at."""
_NITRO: Final = re.compile("^[cmr]5.*|t3|z1d")
"""Types of AWS instances with a limit of volumes of their own, as the plugin EBSLimits knows them."""
_GCE_HANDLE: Final = re.compile(r"projects/UNSPECIFIED/(zones|regions)/([^/]+)/disks/(.+)")
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,19}")


def _group(key: str) -> str:
    """Return the label that stands for those with the same values as *key*."""
    return LABEL_ZONE if key in ZONES else INSTANCE_TYPE if key in INSTANCE_TYPES else key


def _number(text: str) -> int | None:
    """Return the number that ``Gt`` and ``Lt`` take *text* for, ``None`` if it is none."""
    number = int(text) if _INTEGER.fullmatch(text) else None
    return number if number is not None and -(2**63) <= number < 2**63 else None


@record(eq=False)
class Replacements:
    """Replacements for one cluster. The salt is random and not kept.

    Invariant: before :meth:`close`, texts are only collected, and answers are of no use.
    """

    _salt: bytes = field(factory=lambda: secrets.token_bytes(16), repr=False)
    _texts: set[str] = field(factory=set, init=False, repr=False)
    _domains: set[str] = field(factory=set, init=False, repr=False)
    _zones: set[str] = field(factory=set, init=False, repr=False)
    _compared: set[str] = field(factory=set, init=False, repr=False)
    """Keys of labels that are compared as numbers, as :func:`_group` returns them."""
    _values: defaultdict[str, set[str]] = field(factory=lambda: defaultdict(set), init=False, repr=False)
    _claims: dict[str, tuple[str, str]] = field(factory=dict, init=False, repr=False)
    """Name of a claim of an ephemeral volume → pod and volume, of whose names it is made."""
    _places: Mapping[str, int] = field(factory=dict, init=False, repr=False)
    _domain_places: Mapping[str, int] = field(factory=dict, init=False, repr=False)
    _numbers: dict[tuple[str, str], str] = field(factory=dict, init=False, repr=False)

    def compare(self, key: str) -> None:
        """Note that values of the label *key* are compared as numbers."""
        self._compared.add(_group(key))

    def claim_of(self, pod: str, volume: str) -> None:
        """Note that a claim was made for the ephemeral *volume* of *pod*."""
        self._claims[f"{pod}-{volume}"] = pod, volume

    def close(self) -> None:
        """Give all collected texts their places in the order; O(n log n)."""
        self._places = {text: place for place, text in enumerate(sorted(self._texts))}
        by_slash = sorted(self._domains, key=lambda domain: f"{domain}/")
        self._domain_places = {domain: place for place, domain in enumerate(by_slash)}
        for key in self._compared:
            self._number_values(key)

    def _number_values(self, key: str) -> None:
        """Number the values of *key* that are numbers; texts of one number differ in leading zeros."""
        by_number: defaultdict[int, list[str]] = defaultdict(list)
        for text in sorted(self._values[key]):
            if (number := _number(text)) is not None:
                by_number[number].append(text)
        for place, number in enumerate(sorted(by_number), 1):
            for zeros, text in enumerate(by_number[number]):
                self._numbers[key, text] = f"{'0' * zeros}{place}"

    # ---- names

    def text(self, text: str) -> str:
        """Return the replacement of *text*, which is a valid name; names of Kubernetes itself stay."""
        if text in OWN_NAMES:
            return text
        if text in self._claims:
            return "-".join(map(self.text, self._claims[text]))
        if text in self._zones:
            region, _, _ = text.rpartition("-")
            return f"{self._region(region)}-{self._token(text)}"
        return self._token(text)

    def _region(self, region: str) -> str:
        """Return the beginning of zones of *region*, with as many hyphens."""
        return self._token(region) + "-z" * region.count("-")

    def _token(self, text: str) -> str:
        self._texts.add(text)
        return f"x{self._places.get(text, 0):07d}{self._hash(text)}"

    def _hash(self, text: str) -> str:
        return hashlib.sha256(self._salt + text.encode("utf-8", "surrogatepass")).hexdigest()[:8]

    def namespace(self, name: str) -> str:
        """Return the replacement of the name of a namespace."""
        return name if name in OWN_NAMESPACES else self.text(name)

    def key(self, key: str) -> str:
        """Return the replacement of the key of a label or taint; those that Kubernetes defines stay."""
        return key if key in OWN_KEYS else self.text(key)

    def value(self, key: str, text: str) -> str:
        """Return the replacement of a value of the label *key*."""
        if key == LABEL_NAMESPACE_NAME:
            return self.namespace(text)
        if key in ZONES:
            return "__".join(self._value(_group(key), zone) for zone in text.split("__"))
        return self._value(_group(key), text)

    def _value(self, group: str, text: str) -> str:
        self._values[group].add(text)
        if number := self._numbers.get((group, text)):
            return number
        if group == LABEL_ZONE and "-" in text:
            self._zones.add(text)
        nitro = group == INSTANCE_TYPE and _NITRO.search(text)
        return f"c5.{self.text(text)}" if nitro else self.text(text)

    # ---- resources, drivers, images

    def domain(self, domain: str) -> str:
        """Return the replacement of the domain of resources."""
        self._domains.add(domain)
        own = ".kubernetes.io" if domain.endswith("kubernetes.io") else ""
        return f"d{self._domain_places.get(domain, 0):07d}{self._hash(domain)}{own}"

    def resource(self, name: str) -> str:
        """Return the replacement of the name of a resource, which is native or not as before."""
        if name in NATIVE_RESOURCES or _HUGE_PAGES.fullmatch(name):
            return name
        prefix = _PREFIX.match(name)
        if prefix is not None:
            return prefix[0] + self.text(name[prefix.end() :])
        domain, slash, _ = name.partition("/")
        return f"{self.domain(domain)}/{self.text(name)}" if slash else self.text(name)

    def driver(self, name: str) -> str:
        """Return the replacement of a driver or provisioner."""
        return name if name in IN_TREE else self.text(name)

    def qualified(self, name: str) -> str:
        """Return the replacement of the name of an attribute, with or without the domain of a driver."""
        domain, slash, rest = name.partition("/")
        return f"{self.driver(domain)}/{self.text(rest)}" if slash else self.text(name)

    def parts(self, name: str) -> str:
        """Return the replacement of a name, or of two with a slash between them."""
        return "/".join(map(self.text, name.split("/")))

    def image(self, image: str) -> str:
        """Return the replacement of the name of an image.

        It has a tag, as a name without one means ``latest`` in a pod: equal names stay equal so.
        """
        tagged = image if not image or image.rfind(":") > image.rfind("/") else f"{image}:latest"
        return f"{self.text(tagged)}:x" if image else image

    def handle(self, text: str) -> str:
        """Return the replacement of the identity of a disk, which can be translated as before."""
        if found := _GCE_HANDLE.fullmatch(text):
            where, place, disk = found.groups()
            hidden = self._region(place) if where == "regions" else self._place(place)
            return f"projects/UNSPECIFIED/{where}/{hidden}/disks/{self.text(disk)}"
        if text.startswith("aws://"):
            try:
                path = unquote(urlsplit(text).path).strip("/")
            except ValueError:
                return f"aws://[{self.text(text)}"
            return f"aws://{self.text(text)}/{self.handle(path)}"
        volume = text.startswith("vol-") and "/" not in text
        return f"vol-{self.text(text)}" if volume else self.text(text)

    def _place(self, zone: str) -> str:
        return zone if zone == "UNSPECIFIED" else self.text(zone)
