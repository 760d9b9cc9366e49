"""What the shell offers: models that dbt parsed last, without starting dbt, and dialects."""

from __future__ import annotations

import json
from pathlib import Path

import click


def continuous_models(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Continuous models of target/manifest.json that begin so; none where it cannot be read."""
    given = ctx.params.get("project_dir") or Path(".")
    try:
        nodes = json.loads((Path(given) / "target/manifest.json").read_text())["nodes"].values()
        return sorted(
            node["name"]
            for node in nodes
            if node.get("config", {}).get("materialized") == "continuous"
            and node["name"].startswith(incomplete)
        )
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return []


def dialects(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Dialects that begin so."""
    return sorted(name for name in dialect_names() if name.startswith(incomplete))


def dialect_names() -> list[str]:
    """The SQL dialects that sqlglot knows."""
    from sqlglot.dialects import Dialect

    return [name for name in Dialect.classes if name]
