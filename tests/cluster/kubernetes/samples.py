"""Objects with many fields, as an API server sends them."""

from __future__ import annotations

from typing import Any, Final

_META: Final = {
    "name": "a",
    "uid": "u",
    "resourceVersion": "5",
    "labels": {"a": "b"},
    "annotations": {"x": "y"},
    "creationTimestamp": "2024-01-01T00:00:00Z",
    "finalizers": ["f"],
    "managedFields": [{"manager": "m", "fieldsV1": {"f:spec": {}}}],
}
_NAMESPACED: Final = {**_META, "namespace": "default"}
_SELECTOR: Final = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]}
_NODE_TERMS: Final = {
    "nodeSelectorTerms": [{"matchExpressions": [{"key": "x", "operator": "In", "values": ["y"]}]}]
}
_POD_TERM: Final = {"topologyKey": "z", "labelSelector": _SELECTOR}
_OWNER: Final = {"kind": "ReplicaSet", "name": "r", "uid": "w", "apiVersion": "apps/v1", "controller": True}

SAMPLES: Final[dict[str, dict[str, Any]]] = {
    "Pod": {
        "metadata": {**_NAMESPACED, "ownerReferences": [_OWNER]},
        "spec": {
            "priority": 5,
            "nodeName": "n1",
            "schedulerName": "default-scheduler",
            "containers": [
                {
                    "name": "c",
                    "image": "i",
                    "env": [{"name": "a", "value": "b"}],
                    "ports": [{"hostPort": 80, "containerPort": 80}],
                    "resources": {"requests": {"cpu": "1"}, "claims": [{"name": "r"}]},
                }
            ],
            "initContainers": [
                {"name": "i", "restartPolicy": "Always", "resources": {"requests": {"memory": "1Gi"}}}
            ],
            "volumes": [
                {"name": "v", "persistentVolumeClaim": {"claimName": "c"}},
                {"name": "t", "projected": {}},
            ],
            "nodeSelector": {"disk": "ssd"},
            "tolerations": [{"key": "k", "operator": "Exists", "tolerationSeconds": 3}],
            "affinity": {
                "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": _NODE_TERMS},
                "podAntiAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": 3, "podAffinityTerm": _POD_TERM}
                    ]
                },
            },
            "topologySpreadConstraints": [
                {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **_POD_TERM},
            ],
            "resourceClaims": [{"name": "r", "resourceClaimName": "c"}],
            "overhead": {"cpu": "1m"},
        },
        "status": {
            "phase": "Running",
            "conditions": [
                {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2024-01-01T00:00:00Z"}
            ],
            "containerStatuses": [
                {
                    "name": "c",
                    "allocatedResources": {"cpu": "1"},
                    "resources": {"requests": {"cpu": "2"}},
                }
            ],
            "nominatedNodeName": "n",
        },
    },
    "Node": {
        "metadata": _META,
        "spec": {
            "taints": [{"key": "k", "effect": "NoSchedule", "timeAdded": "2024-01-01T00:00:00Z"}],
            "unschedulable": True,
        },
        "status": {
            "allocatable": {"cpu": "4", "pods": "10"},
            "capacity": {"cpu": "4"},
            "images": [{"names": ["a:1"], "sizeBytes": 5}],
            "conditions": [{"type": "Ready", "status": "True"}],
            "volumesAttached": [{"name": "x", "devicePath": ""}],
            "volumesInUse": ["x"],
        },
    },
    "ResourceClaim": {
        "metadata": _NAMESPACED,
        "spec": {
            "devices": {
                "requests": [
                    {
                        "name": "r",
                        "exactly": {
                            "deviceClassName": "c",
                            "count": 1,
                            "selectors": [{"cel": {"expression": "true"}}],
                        },
                    }
                ],
                "constraints": [{"requests": ["r"], "matchAttribute": "a/b"}],
                "config": [{"opaque": {"driver": "d", "parameters": {"x": [1]}}}],
            }
        },
        "status": {
            "allocation": {
                "devices": {"results": [{"request": "r", "driver": "d", "pool": "p", "device": "x"}]},
                "nodeSelector": _NODE_TERMS,
            },
            "reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}],
        },
    },
    "PersistentVolumeClaim": {
        "metadata": _NAMESPACED,
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "s",
            "volumeName": "v",
            "resources": {"requests": {"storage": "1Gi"}},
            "selector": _SELECTOR,
        },
        "status": {"phase": "Bound"},
    },
    "PersistentVolume": {
        "metadata": _META,
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "claimRef": {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "c"},
            "csi": {"driver": "d", "volumeHandle": "h"},
            "nodeAffinity": {"required": _NODE_TERMS},
        },
        "status": {"phase": "Bound"},
    },
    "PodDisruptionBudget": {
        "metadata": _NAMESPACED,
        "spec": {"selector": _SELECTOR, "minAvailable": 1},
        "status": {"disruptionsAllowed": 1, "disruptedPods": {"p": "2024-01-01T00:00:00Z"}},
    },
    "ResourceSlice": {
        "metadata": _META,
        "spec": {
            "driver": "d",
            "nodeName": "n",
            "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
            "devices": [
                {
                    "name": "x",
                    "attributes": {"a": {"string": "b"}},
                    "capacity": {"m": {"value": "1Gi"}},
                }
            ],
            "sharedCounters": [{"name": "c", "counters": {"x": {"value": "1"}}}],
        },
    },
    "CSINode": {
        "metadata": _META,
        "spec": {"drivers": [{"name": "d", "nodeID": "n", "allocatable": {"count": 3}}]},
    },
}
