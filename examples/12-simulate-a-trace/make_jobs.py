"""Make jobs.csv, a day of jobs of three teams: ``python examples/12-simulate-a-trace/make_jobs.py``."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from schedframe.traces import Kind, PodTemplate, RunTimes, Workload, generate

FILE = Path(__file__).with_name("jobs.csv")
RHYTHM = tuple(3.0 if 8 <= hour < 18 else 1.0 for hour in range(24))
KINDS = (
    Kind(PodTemplate({"cpu": 1000, "memory": 2 * 2**30}), weight=6, run=RunTimes(median=1200, sigma=1.0)),
    Kind(PodTemplate({"cpu": 4000, "memory": 24 * 2**30}), weight=2, run=RunTimes(median=3600, sigma=0.8)),
    Kind(PodTemplate({"cpu": 12000, "memory": 16 * 2**30}), weight=1, run=RunTimes(median=5400, sigma=0.5)),
)


def main(file: Path = FILE) -> None:
    workload = Workload(KINDS, rate=12, burst=2, rhythm=RHYTHM, owners=3)
    trace = generate(workload, "1d", seed=7)
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["job", "team", "submitted_s", "runs_s", "cores", "gib"])
        teams, pods = trace.pods.decoded("owner"), trace.pods
        for index, team in enumerate(teams):
            requests = trace.templates[pods["template"][index]].requests
            times = pods["submit"][index] // 1_000_000, pods["run"][index] // 1_000_000
            writer.writerow(
                [f"job-{index}", team, *times, requests["cpu"] // 1000, requests["memory"] // 2**30]
            )


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
