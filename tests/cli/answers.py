"""A session that answers from a table of statements, and a project of three models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tapestry.cli.models import Manifest


class Answers:
    """A session that answers from a table of statements."""

    def __init__(self, answers: dict[str, list[tuple[Any, ...]]]) -> None:
        self.answers = answers
        self.asked: list[str] = []

    def run(self, sql: str) -> None:
        raise AssertionError(sql)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        self.asked.append(sql)
        for begin, rows in self.answers.items():
            if sql.replace("`", "").startswith(begin.replace("`", "")):
                return rows
        raise RuntimeError(f"[TABLE_OR_VIEW_NOT_FOUND] {sql}")


def manifest(arrival: str | None, reads: str = "source.p.s.messages") -> Manifest:
    source = {
        **{"name": "messages", "source_name": "s", "identifier": "messages"},
        **{"resource_type": "source", "relation_name": "db.messages"},
        "config": {"loaded_at_field": arrival},
    }

    def model(name: str, kind: str, on: str) -> dict[str, Any]:
        return {
            **{"name": name, "resource_type": "model", "unique_id": f"model.p.{name}"},
            **{"relation_name": f"db.{name}", "original_file_path": f"models/{name}.sql"},
            **{"config": {"materialized": kind}, "depends_on": {"nodes": [on]}},
        }

    nodes = {
        "model.p.first": model("first", "continuous", reads),
        "model.p.view": model("view", "view", "model.p.first"),
        "model.p.second": model("second", "continuous", "model.p.view"),
    }
    graph = {"nodes": nodes, "sources": {"source.p.s.messages": source}}
    return Manifest(Path("p"), graph, (), None)
