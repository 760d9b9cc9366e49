"""`tapestry eject`: continuous models as plain dbt incremental models, for any adapter."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tapestry.cli.complete import dialect_names, dialects, models_of_ours
from tapestry.cli.options import DbtOptions, project_options
from tapestry.errors import ConfigurationError
from tapestry.words import counted

if TYPE_CHECKING:
    from tapestry.cli.models import Manifest

EXAMPLE = """\b
Example:
  tapestry eject                                # all continuous models, for dbt-spark
  tapestry eject unanswered --dialect duckdb --into ../plain
  tapestry eject --dialect postgres --json

Writes a small dbt project: one incremental model each, guarded by is_incremental(), the macros that
give a run's window, and tests for enough and not too much. Continuous models that a model reads are
ejected with it; seeds and other models that it reads must be in the project where it goes.

Run and compared with the adapter's tables: spark, duckdb, postgres. Other dialects are those of
sqlglot; they are marked UNTESTED in the files.

Rows in time only: late rows, updates and deletes in a source need the versions of the tables, which
a plain incremental model does not look at. Each file says so.
"""


INSTEAD = {
    "maintained": "plain dbt cannot tell which rows of its sources were updated or deleted, so no"
    " merge or delete+insert is exact. Give it materialized='table' there: the same query, the same"
    " rows, computed whole by each run",
}
"""What to do with a model of another kind."""


@click.command(epilog=EXAMPLE)
@click.argument("models", metavar="[MODEL]...", nargs=-1, shell_complete=models_of_ours)
@click.option(
    "--dialect",
    default="spark",
    show_default=True,
    help="SQL dialect of the target.",
    shell_complete=dialects,
)
@click.option(
    "--into",
    type=click.Path(path_type=Path, file_okay=False),
    default=None,
    help="Folder to write to; by default ejected/<dialect> in the project.",
)
@click.option("--overwrite", is_flag=True, help="Replace files that are there.")
@click.option("--json", "as_json", is_flag=True, help="What was written, as JSON.")
@project_options
def eject(
    models: tuple[str, ...],
    dialect: str,
    into: Path | None,
    overwrite: bool,
    as_json: bool,
    given: DbtOptions,
) -> None:
    """Write continuous models as plain dbt incremental models with an is_incremental() guard."""
    from tapestry.cli.eject_files import TESTED, eject_files
    from tapestry.cli.models import read_manifest

    known_dialect(dialect)
    manifest = read_manifest(given)
    names = with_upstream(manifest, models or manifest.continuous())
    if not names:
        raise ConfigurationError(
            "the project has no continuous models",
            str(manifest.root),
            "write {{ config(materialized='continuous') }} into one",
        )
    folder = into or manifest.root / "ejected" / dialect
    ejected = _read(manifest, names)
    files = eject_files(ejected, manifest.graph, dialect, f"ejected_{dialect}")
    write_files(folder, files, overwrite)
    needs = _others(manifest, names)
    left = [] if models else [one for one in manifest.of_ours() if one not in manifest.continuous()]
    told = {
        "folder": str(folder),
        "dialect": dialect,
        "tested": dialect in TESTED,
        "models": names,
        "files": sorted(files),
        "needs": needs,
        "left": left,
    }
    if as_json:
        click.echo(json.dumps(told, indent=2))
        return
    click.echo(f"{counted(len(names), 'model')} for {dialect} in {folder}: {', '.join(names)}")
    if dialect not in TESTED:
        click.echo(f"  {dialect} is untested: compare the tables before you rely on them")
    if needs:
        click.echo(f"  they also read, and the project there must have: {', '.join(needs)}")
    for name in left:
        click.echo(f"  left out: {name} is {manifest.kind(name)}: {INSTEAD[manifest.kind(name)]}")


def known_dialect(dialect: str) -> None:
    """Raise ConfigurationError, with near names, for a dialect that sqlglot does not know."""
    from difflib import get_close_matches

    names = dialect_names()
    if dialect in names:
        return
    near = get_close_matches(dialect, names, 1)
    raise ConfigurationError(
        f"{dialect} is no SQL dialect",
        hint=(f"did you mean {near[0]}? " if near else "") + f"There are: {', '.join(names)}",
    )


def with_upstream(manifest: Manifest, names: Iterable[str]) -> list[str]:
    """The models and the continuous ones that they read, directly or through others."""
    from tapestry.cli.models import refuse_kinds

    nodes, wanted, open_names = manifest.graph["nodes"], set[str](), list(names)
    continuous = set(manifest.continuous())
    for name in open_names:
        node = manifest.model(name)
        refuse_kinds(node, INSTEAD)
        if node["name"] not in continuous:
            raise ConfigurationError(
                f"{node['name']} is not continuous but {node['config']['materialized']}",
                str(node["original_file_path"]),
                "it is plain dbt already: leave it as it is",
            )
    seen: set[str] = set()
    open_ids = [manifest.model(name)["unique_id"] for name in open_names]
    while open_ids:
        unique_id = open_ids.pop()
        if unique_id in seen or unique_id not in nodes:
            continue
        seen.add(unique_id)
        node = nodes[unique_id]
        if node["name"] in continuous:
            wanted.add(node["name"])
        open_ids += node.get("depends_on", {}).get("nodes", [])
    return sorted(wanted)


def write_files(folder: Path, files: Mapping[str, str], overwrite: bool) -> None:
    """Write all files, or none: ConfigurationError where one is there and may not be replaced."""
    there = [name for name in files if (folder / name).exists()]
    if there and not overwrite:
        raise ConfigurationError(
            f"{len(there)} files are there already: {', '.join(there[:3])} …",
            str(folder),
            "give --overwrite to replace them, or another folder with --into",
        )
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _read(manifest: Manifest, names: list[str]) -> list[Any]:
    """The models with the tables that they read, looked up through the adapter."""
    from tapestry.cli.eject_files import Ejected
    from tapestry.cli.models import open_models
    from tapestry.runs.query.relations import read_relations

    found = []
    with open_models(manifest, names) as opened:
        pins, zone = opened.invocation.pins, opened.invocation.time_zone
        for name, model in opened.models.items():
            relations = read_relations(opened.session, model.sql, model, pins, zone)
            found.append(Ejected(model, relations, opened.nodes[name]))
    return found


def _others(manifest: Manifest, names: list[str]) -> list[str]:
    """Seeds, snapshots and models of other kinds that the ejected ones refer to."""
    found: set[str] = set()
    for name in names:
        for unique_id in manifest.model(name).get("depends_on", {}).get("nodes", []):
            node = manifest.graph["nodes"].get(unique_id)
            if node is None or node["name"] in names:
                continue
            if node["config"].get("materialized") not in ("view", "ephemeral"):
                found.add(f"{node['resource_type']} {node['name']}")
    return sorted(found)
