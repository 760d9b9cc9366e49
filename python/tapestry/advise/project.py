"""Reads the models, sources and seeds of a dbt project from its files, without dbt.

Here files are found; ``worker`` reads them, and says in plain values what is in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from tapestry.advise.described import mapping
from tapestry.advise.files import Found, find_files

DEEPEST = 20
_OF_FOLDERS = ("materialized", "unique_key", "incremental_strategy", "enabled")
_FOLDERS_OF_PACKAGES = ("dbt_packages", "dbt_modules")


_PROJECT_FILE = "dbt_project.yml"
PACKAGES = ("packages.yml", "dependencies.yml")
_MOST = 50
"""So many folders beside a project are looked into."""


@dataclass
class Described:
    """The description of one table or model in YAML."""

    config: dict[str, Any] = field(default_factory=dict)
    columns: dict[str, str] = field(default_factory=dict)
    """Name in lower case -> Spark's type, '' where none is given that can be read."""


@dataclass
class ProjectFolder:
    """A folder with what is in it; ``name`` is '' for a folder that is no dbt project."""

    root: Path
    name: str = ""
    variables: dict[str, Any] = field(default_factory=dict)
    folders: Mapping[str, Any] = field(default_factory=dict)
    """dbt_project.yml's ``models:``."""
    model_folders: list[Path] = field(default_factory=list)
    models: Found = field(default_factory=Found)
    macros: list[tuple[str, Path]] = field(default_factory=list)
    """The package of each file of macros ('' for the project's own), and the file."""
    found_macros: list[tuple[str, Path]] = field(default_factory=list)
    """The same of macros that only lie beside it: they count where no other has their name."""
    others: dict[str, str] = field(default_factory=dict)
    """Seeds and snapshots by name: which of the two."""
    described: dict[str, Described] = field(default_factory=dict)
    """By name; sources as ``source.table``."""
    notes: list[str] = field(default_factory=list)


class ReadsFiles(Protocol):
    """A reader of files: returns the content, or ``why`` it cannot be read."""

    def values(self, path: Path) -> Mapping[str, Any]:
        """Return ``said``: the file's YAML."""

    def tables(self, path: Path) -> Mapping[str, Any]:
        """Return ``tables``: the tables that the file's YAML describes (``described``)."""


def read_project(root: Path, reads: ReadsFiles, beside: Sequence[Path] = ()) -> ProjectFolder:
    """The files of a dbt project, or all SQL files below a folder that is none.

    ``beside`` are folders with macros that lie outside of it: packages, or plain folders.
    """
    root = root.resolve()
    if not (root / _PROJECT_FILE).is_file():
        return ProjectFolder(root, models=find_files([root], (".sql",)))
    project = ProjectFolder(root)
    said = _said(project, root / _PROJECT_FILE, reads)
    project.name = str(said.get("name") or root.name)
    project.variables = _variables(said.get("vars"), project.name)
    project.folders = mapping(said.get("models"))
    models = _inside(project, said, ("model-paths", "source-paths"), "models")
    project.model_folders = models
    project.models = find_files(models, (".sql",))
    seeds = _inside(project, said, ("seed-paths", "data-paths"), "seeds")
    found = find_files(seeds, (".csv",))
    for path in found.files:
        project.others[path.stem.lower()] = "seed"
    snapshots = _inside(project, said, ("snapshot-paths",), "snapshots")
    for path in find_files(snapshots, (".sql",)).files:
        project.others[path.stem.lower()] = "snapshot"
    macros = find_files(_inside(project, said, ("macro-paths",), "macros"), (".sql",))
    named = [one for file in PACKAGES for one in _local(project, root / file, reads)]
    for folder in neighbours(root):
        if folder not in (one.resolve() for one in (*named, *beside)):
            project.found_macros += _of_folder(project, folder, reads)
    for folder in (*named, *beside):
        project.macros += _of_folder(project, folder.resolve(), reads)
    project.macros += [*_of_packages(root), *(("", path) for path in macros.files)]
    for path in find_files([*models, *seeds, *snapshots], (".yml", ".yaml")).files:
        _describe(project, path, reads)
    return project


def _said(project: ProjectFolder, path: Path, reads: ReadsFiles) -> Mapping[str, Any]:
    found = reads.values(path)
    _note_unread(project, path, found)
    return mapping(found.get("said"))


def _local(project: ProjectFolder, file: Path, reads: ReadsFiles) -> list[Path]:
    """The local packages that a file of packages names."""
    return list(local_packages(project.root, _said(project, file, reads))) if file.is_file() else []


def _note_unread(project: ProjectFolder, path: Path, found: Mapping[str, Any]) -> None:
    if found.get("why"):
        where = path.relative_to(project.root) if path.is_relative_to(project.root) else path
        project.notes.append(f"{where} could not be read and counts for nothing: {found['why']}")


def _describe(project: ProjectFolder, path: Path, reads: ReadsFiles) -> None:
    found = reads.tables(path)
    _note_unread(project, path, found)
    for one in found.get("tables", ()):
        described = project.described.setdefault(one["name"], Described())
        described.config |= one["config"]
        described.columns |= one["columns"]
        if one["kind"] in ("seed", "snapshot"):
            project.others.setdefault(one["name"], one["kind"])


def _of_folder(
    project: ProjectFolder, folder: Path, reads: ReadsFiles
) -> Iterator[tuple[str, Path]]:
    """Yield the macros of a folder beside the project; a package's, under the package's name."""
    name, folders = "", [folder]
    if (folder / _PROJECT_FILE).is_file():
        said = _said(project, folder / _PROJECT_FILE, reads)
        name = str(said.get("name") or "")
        given = said.get("macro-paths") or ["macros"]
        named = [folder / str(one) for one in (given if isinstance(given, list) else [given])]
        folders = [one for one in named if one.resolve().is_relative_to(folder)]
    for path in find_files(folders, (".sql",)).files:
        yield name, path


def _inside(
    project: ProjectFolder, said: Mapping[str, Any], keys: tuple[str, ...], usual: str
) -> list[Path]:
    """Return the folders that the project names, except those outside of it."""
    given = next((said[key] for key in keys if said.get(key)), [usual])
    names = given if isinstance(given, list) else [given]
    found = []
    for name in names:
        path = (project.root / str(name)).resolve()
        if not path.is_relative_to(project.root):
            project.notes.append(f"{keys[0]}: {name} lies outside of the folder and is not read")
        elif path.is_dir() and path not in found:
            found.append(path)
    return found


def _of_packages(root: Path) -> Iterator[tuple[str, Path]]:
    """Macros of the packages that `dbt deps` has installed."""
    for folder in _FOLDERS_OF_PACKAGES:
        if not (root / folder).is_dir() or (root / folder).is_symlink():
            continue
        for package in sorted((root / folder).iterdir()):
            if package.is_dir() and not package.is_symlink():
                for path in find_files([package / "macros"], (".sql",)).files:
                    yield package.name, path


def _variables(said: Any, name: str) -> dict[str, Any]:
    """Return the project's variables: those of its own section override those of all projects."""
    said = mapping(said)
    return {**said, **mapping(said.get(name))}


def folder_config(project: ProjectFolder, path: Path) -> dict[str, Any]:
    """Return the config of a model's file in dbt_project.yml: the nearest folder counts.

    What stands beside the project's name under ``models:`` is said of all models.
    """
    config: dict[str, Any] = {}
    here: Any = project.folders
    around = [one for one in project.model_folders if path.is_relative_to(one)]
    parts = path.relative_to(around[0] if around else project.root).with_suffix("").parts
    for part in (None, project.name, *parts[:DEEPEST]):
        here = mapping(here if part is None else here.get(part))
        for key, value in here.items():
            name = str(key).removeprefix("+")
            if name in _OF_FOLDERS and not isinstance(value, dict):
                config[name] = value
    return config


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
    for folder in sorted(root.parent.iterdir())[:_MOST]:
        if folder == root or folder.name.startswith(".") or folder.is_symlink():
            continue
        if (folder / _PROJECT_FILE).is_file() or (folder.name == "macros" and folder.is_dir()):
            yield folder
