"""Completes arguments in the shell: models that dbt parsed last, and dialects, without dbt."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from tapestry.runs.kinds.registry import kind_named


def models_of_ours(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Models of ours in target/manifest.json that begin so; none where it cannot be read."""
    try:
        nodes = json.loads((_target_folder(ctx) / "manifest.json").read_text())["nodes"].values()
        return sorted(
            node["name"]
            for node in nodes
            if kind_named(node.get("config", {}).get("materialized"))
            and node["name"].startswith(incomplete)
        )
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return []


def _target_folder(ctx: click.Context) -> Path:
    """Return where `dbt parse` with the same options would write, as far as known without dbt."""
    root = Path(_said(ctx, "project_dir") or ".")
    return root / (_said(ctx, "target_path") or "target")


def _said(ctx: click.Context, name: str) -> str | None:
    """An option's value: from the command line, else from the environment, under dbt's names."""
    names = (f"DBT_ENGINE_{name.upper()}", f"DBT_{name.upper()}")
    found = (os.environ.get(one) for one in names)
    return ctx.params.get(name) or next(filter(None, found), None)


def dialects(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Dialects that begin so."""
    return sorted(name for name in dialect_names() if name.startswith(incomplete))


def dialect_names() -> list[str]:
    """The SQL dialects that sqlglot knows."""
    from sqlglot.dialects import Dialect

    return [name for name in Dialect.classes if name]
