"""Known provisioners: their CSI drivers, and the node labels by which their volumes are tied.

A CSINode says it in a cluster; manifests of charts have none. Labels are those that cloud providers set on
every node, so that they are there in manifests of nodes, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

ZONE: Final = "topology.kubernetes.io/zone"
HOSTNAME: Final = "kubernetes.io/hostname"

IN_TREE: Final[Mapping[str, str]] = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/azure-file": "file.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    "kubernetes.io/portworx-volume": "pxd.portworx.com",
    "kubernetes.io/vsphere-volume": "csi.vsphere.vmware.com",
}
"""Former provisioner → CSI driver that took its place."""

TIED_BY: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (
            "blockvolume.csi.oraclecloud.com",
            "cinder.csi.openstack.org",
            "com.ibm.csi.vpc",
            "csi.hetzner.cloud",
            "csi.vsphere.vmware.com",
            "disk.csi.azure.com",
            "diskplugin.csi.alibabacloud.com",
            "dobs.csi.digitalocean.com",
            "ebs.csi.aws.com",
            "ebs.csi.eks.amazonaws.com",
            "linodebs.csi.linode.com",
            "pd.csi.storage.gke.io",
            "vpc.block.csi.ibm.io",
        ),
        ZONE,
    ),
    **dict.fromkeys(
        (
            "docker.io/hostpath",
            "hostpath.csi.k8s.io",
            "k8s.io/minikube-hostpath",
            "local.csi.openebs.io",
            "openebs.io/local",
            "rancher.io/local-path",
            "topolvm.cybozu.com",
            "topolvm.io",
            "zfs.csi.openebs.io",
        ),
        HOSTNAME,
    ),
}
"""Driver → label whose value all nodes have that can use one of its volumes."""

ANYWHERE: Final = frozenset(
    {
        "cephfs.csi.ceph.com",
        "driver.longhorn.io",
        "efs.csi.aws.com",
        "file.csi.azure.com",
        "filestore.csi.storage.gke.io",
        "nfs.csi.k8s.io",
        "pxd.portworx.com",
        "rbd.csi.ceph.com",
        "smb.csi.k8s.io",
    }
)
"""Drivers whose volumes every node can use."""


def driver_of(provisioner: str) -> str:
    """Return the CSI driver that *provisioner* stands for: itself, unless it is a former one."""
    return IN_TREE.get(provisioner, provisioner)


def is_known(driver: str) -> bool:
    """Return whether it is known by which nodes volumes of *driver* can be used."""
    return driver in TIED_BY or driver in ANYWHERE or any(driver.endswith(f".{each}") for each in ANYWHERE)
