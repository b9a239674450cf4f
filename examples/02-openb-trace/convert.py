"""Convert the openb trace (CSV) into manifests that `schedframe schedule` takes. Needs nothing but Python."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

GPU = "alibabacloud.com/gpu"
GPU_MILLI = "alibabacloud.com/gpu-milli"
GPU_MODEL = "alibabacloud.com/gpu-card-model"
NAMESPACE = "openb"

Row = dict[str, str]
Manifest = dict[str, Any]


def main() -> None:
    options = parse(sys.argv[1:])
    try:
        nodes = [
            node_manifest(row, options.gpu) for row in rows(options.csv_dir, f"node_list_{options.nodes}")
        ]
        pods = [
            pod_manifest(row, options.gpu)
            for row in in_order(rows(options.csv_dir, f"pod_list_{options.pods}"))
        ]
        options.output.mkdir(parents=True, exist_ok=True)
        write(options.output / "nodes.json", nodes)
        write(options.output / "pods.json", pods)
    except (OSError, ValueError) as error:
        sys.exit(f"convert.py: {error}")
    print(f"{len(nodes)} nodes, {len(pods)} pods")


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "csv_dir", type=Path, help="folder with openb_node_list_*.csv and openb_pod_list_*.csv"
    )
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("."), help="folder for nodes.json and pods.json"
    )
    parser.add_argument("--nodes", default="all_node", help="all_node (default) or gpu_node")
    parser.add_argument("--pods", default="default", help="default, cpu050, gpushare40, multigpu20, …")
    parser.add_argument(
        "--gpu",
        choices=("whole", "shared"),
        default="whole",
        help="whole: a pod takes whole GPUs, however little it asks for; shared: thousandths are counted",
    )
    return parser.parse_args(arguments)


def rows(folder: Path, name: str) -> list[Row]:
    """Return the lines of a CSV file as dicts."""
    path = folder / f"openb_{name}.csv"
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def in_order(pods: Iterable[Row]) -> list[Row]:
    """Pods by creation; lists without that column, and pods of one second, stay as they are."""
    return sorted(pods, key=lambda row: int(row.get("creation_time") or 0))


def node_manifest(row: Row, gpu: str) -> Manifest:
    name, gpus = row["sn"], int(row["gpu"])
    labels = {"kubernetes.io/hostname": name}
    room = {"cpu": f"{int(row['cpu_milli'])}m", "memory": f"{int(row['memory_mib'])}Mi", "pods": "110"}
    if gpus:
        labels[GPU_MODEL] = row["model"]
        room |= {GPU: str(gpus)} if gpu == "whole" else {GPU_MILLI: str(1000 * gpus)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"capacity": room, "allocatable": room},
    }


def pod_manifest(row: Row, gpu: str) -> Manifest:
    gpus = int(row["num_gpu"])
    requests = {"cpu": f"{int(row['cpu_milli'])}m", "memory": f"{int(row['memory_mib'])}Mi"}
    resources: Manifest = {"requests": requests}
    if gpus:
        devices = {GPU: str(gpus)} if gpu == "whole" else {GPU_MILLI: str(gpus * int(row["gpu_milli"]))}
        resources = {"requests": requests | devices, "limits": devices}  # devices are never overcommitted
    container = {"name": "main", "image": "registry.example/openb:1", "resources": resources}
    spec: Manifest = {"containers": [container]}
    models = [model for model in (row.get("gpu_spec") or "").split("|") if model]
    if gpus and models:
        spec["affinity"] = {"nodeAffinity": only_on(models)}
    labels = {"qos": row["qos"]} if row.get("qos") else {}
    metadata = {"name": row["name"], "namespace": NAMESPACE, "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def only_on(models: list[str]) -> Manifest:
    term = {"matchExpressions": [{"key": GPU_MODEL, "operator": "In", "values": models}]}
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}


def write(path: Path, items: list[Manifest]) -> None:
    """A List, one item a line: quick to read for programs, and greppable."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(listed(items))


def listed(items: list[Manifest]) -> Iterator[str]:
    yield '{"apiVersion": "v1", "kind": "List", "items": [\n'
    yield ",\n".join(map(json.dumps, items))
    yield "\n]}\n"


if __name__ == "__main__":
    main()
