"""A package of the examples as if it were installed, without an installer and without a package index."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path


def installed(package: Path, site: Path) -> dict[str, str]:
    """The variables of a process for which *package* is installed: its metadata is written into *site*."""
    project = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir(parents=True)
    identity = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (info / "METADATA").write_text(identity, encoding="utf-8")
    groups = "".join(
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in entries.items())
        for group, entries in project.get("entry-points", {}).items()
    )
    (info / "entry_points.txt").write_text(groups, encoding="utf-8")
    paths = [str(site), str(package / "src"), os.environ.get("PYTHONPATH", "")]
    return {"PYTHONPATH": os.pathsep.join(path for path in paths if path)}
