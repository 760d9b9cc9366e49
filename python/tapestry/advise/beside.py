"""Finds macros that a monorepo keeps beside a project and that nobody names on the command line.

Packages that ``packages.yml`` names with ``local:`` are a part of the project.  Of what merely lies
beside it in its repository, other dbt projects and a folder ``macros``, nobody says that it counts:
it fills in names that are not known otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tapestry.advise.described import mapping

PROJECT_FILE = "dbt_project.yml"
PACKAGES = ("packages.yml", "dependencies.yml")
MOST = 50
"""So many folders beside a project are looked into."""


def repository(root: Path) -> Path | None:
    """The folder with ``.git`` that a project lies in, or is; None: there is none."""
    return next((one for one in (root, *root.parents) if (one / ".git").exists()), None)


def local_packages(root: Path, said: Mapping[str, Any]) -> Iterator[Path]:
    """The folders of packages that ``said``, the YAML of a file of packages, names as local.

    One that lies outside of the repository, or of the project where there is none, is left out.
    """
    within = repository(root) or root
    named = said.get("packages")
    for one in named if isinstance(named, list) else []:
        path = mapping(one).get("local")
        folder = (root / path).resolve() if isinstance(path, str) and path else root
        if folder != root and folder.is_relative_to(within) and folder.is_dir():
            yield folder


def neighbours(root: Path) -> Iterator[Path]:
    """Other dbt projects, and a folder ``macros``, in the folder that a project lies in.

    Nothing outside of the project's repository is one.
    """
    within = repository(root)
    if within is None or within == root:
        return
    for folder in sorted(root.parent.iterdir())[:MOST]:
        if folder == root or folder.name.startswith(".") or folder.is_symlink():
            continue
        if (folder / PROJECT_FILE).is_file() or (folder.name == "macros" and folder.is_dir()):
            yield folder
