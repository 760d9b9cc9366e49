"""Projects made for a test, and what is said of their models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tapestry.advise.records import Advice, Survey
from tapestry.advise.survey import survey

PROJECT = "name: shop\nversion: '1.0'\nprofile: shop\nmodel-paths: [models]\n"


def made(folder: Path, files: Mapping[str, str | bytes], dialect: str = "spark") -> Survey:
    """The survey of a dbt project with these files."""
    for name, text in {"dbt_project.yml": PROJECT, **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return survey(folder, dialect, seconds=4)


def of(found: Survey, name: str) -> Advice:
    """What is said of one model."""
    return next(one for one in found.models if one.name == name)


def model(folder: Path, text: str, dialect: str = "spark", **files: str) -> Advice:
    """What is said of a project's only model; ``files`` by their names without dots."""
    others = {name.replace("__", "/", 1).replace("__", "."): said for name, said in files.items()}
    return of(made(folder, {"models/m.sql": text, **others}, dialect), "m")
