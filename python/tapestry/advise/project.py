"""What a dbt project's YAML files say of its models, sources and seeds, read without dbt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from tapestry.advise.files import Found, Unreadable, find_files, read_text

PROJECT_FILE = "dbt_project.yml"
DEEPEST = 20
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_OF_FOLDERS = ("materialized", "unique_key", "incremental_strategy", "enabled")
_PACKAGES = ("dbt_packages", "dbt_modules")


@dataclass
class Described:
    """What YAML says of one table or model."""

    config: dict[str, Any] = field(default_factory=dict)
    columns: dict[str, str] = field(default_factory=dict)
    """Name in lower case -> type as written, '' where none is given."""


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
    others: dict[str, str] = field(default_factory=dict)
    """Seeds and snapshots by name: which of the two."""
    described: dict[str, Described] = field(default_factory=dict)
    """By name; sources as ``source.table``."""
    notes: list[str] = field(default_factory=list)


def read_project(root: Path) -> ProjectFolder:
    """The files of a dbt project, or all SQL files below a folder that is none."""
    root = root.resolve()
    if not (root / PROJECT_FILE).is_file():
        return ProjectFolder(root, models=find_files([root], (".sql",)))
    project = ProjectFolder(root)
    said = _mapping(_yaml(root / PROJECT_FILE, project))
    project.name = str(said.get("name") or root.name)
    project.variables = _variables(said.get("vars"), project.name)
    project.folders = _mapping(_mapping(said.get("models")).get(project.name))
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
    project.macros = [*_of_packages(root), *(("", path) for path in macros.files)]
    for path in find_files([*models, *seeds, *snapshots], (".yml", ".yaml")).files:
        _describe(_mapping(_yaml(path, project)), project)
    return project


def _inside(
    project: ProjectFolder, said: Mapping[str, Any], keys: tuple[str, ...], usual: str
) -> list[Path]:
    """Folders that the project names, those outside of it left out."""
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
    for folder in _PACKAGES:
        if not (root / folder).is_dir() or (root / folder).is_symlink():
            continue
        for package in sorted((root / folder).iterdir()):
            if package.is_dir() and not package.is_symlink():
                for path in find_files([package / "macros"], (".sql",)).files:
                    yield package.name, path


def _yaml(path: Path, project: ProjectFolder) -> Any:
    try:
        return yaml.load(read_text(path), Loader=_Loader)
    except (Unreadable, yaml.YAMLError, ValueError, RecursionError) as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        where = path.relative_to(project.root)
        project.notes.append(f"{where} could not be read and counts for nothing: {first}")
        return None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _variables(said: Any, name: str) -> dict[str, Any]:
    """The project's variables: those of its own section count before those of all."""
    said = _mapping(said)
    return {**said, **_mapping(said.get(name))}


def _describe(said: Mapping[str, Any], project: ProjectFolder) -> None:
    for kind in ("models", "seeds", "snapshots"):
        for one in _list(said.get(kind)):
            _note(project, str(one.get("name", "")), one)
            if kind != "models":
                project.others.setdefault(str(one.get("name", "")).lower(), kind[:-1])
    for source in _list(said.get("sources")):
        for table in _list(source.get("tables")):
            name = f"{source.get('name', '')}.{table.get('name', '')}"
            inherited = {
                key: source[key] for key in ("loaded_at_field", "meta") if source.get(key)
            } | _config(source)
            _note(project, name, {**table, "config": {**inherited, **_config(table)}})


def _note(project: ProjectFolder, name: str, said: Mapping[str, Any]) -> None:
    described = project.described.setdefault(name.lower(), Described())
    described.config |= _config(said)
    for column in _list(said.get("columns")):
        if column.get("name"):
            kind = column.get("data_type")
            name_of = str(column["name"]).strip('"`').lower()
            described.columns[name_of] = kind if isinstance(kind, str) else ""


def _config(said: Mapping[str, Any]) -> dict[str, Any]:
    """``config:`` with what may stand beside it, and ``meta:``."""
    config = dict(_mapping(said.get("config")))
    for key in ("loaded_at_field", "materialized"):
        if isinstance(said.get(key), str):
            config.setdefault(key, said[key])
    meta = {**_mapping(said.get("meta")), **_mapping(config.get("meta"))}
    for key in ("arrival", "materialized"):
        if isinstance(meta.get(key), str):
            config.setdefault(key, meta[key])
    return config


def folder_config(project: ProjectFolder, path: Path) -> dict[str, Any]:
    """What dbt_project.yml says of the model in this file: the nearest folder counts."""
    config: dict[str, Any] = {}
    here: Any = project.folders
    around = [one for one in project.model_folders if path.is_relative_to(one)]
    parts = path.relative_to(around[0] if around else project.root).with_suffix("").parts
    for part in (None, *parts[:DEEPEST]):
        here = _mapping(here if part is None else here.get(part))
        for key, value in here.items():
            name = str(key).removeprefix("+")
            if name in _OF_FOLDERS and not isinstance(value, dict):
                config[name] = value
    return config
