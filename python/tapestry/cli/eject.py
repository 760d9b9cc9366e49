"""`tapestry eject`: models of ours as plain dbt incremental models, for any adapter."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from tapestry.cli.complete import dialect_names, dialects, models_of_ours
from tapestry.cli.models import NO_ANSWER, Manifest, open_models, read_manifest, refuse_kinds
from tapestry.cli.options import DbtOptions, project_options
from tapestry.errors import ConfigurationError
from tapestry.words import counted

EXAMPLE = """\b
Example:
  tapestry eject                                # all that can be, for dbt-spark
  tapestry eject unanswered --dialect duckdb --into ../plain
  tapestry eject --dialect postgres --json

Writes a small dbt project: one incremental model for each model, guarded by is_incremental(), the
macros that compute the window of a run, and tests for missing rows and rows too many. Continuous
models that a model reads are ejected with it. Seeds and other models that it reads must be in the
project to which you copy it.

A maintained model is ejected if plain dbt can keep it exact. Its sources must have an arrival
column and, by 'delta.appendOnly' = 'true', no updates or deletes. Its query must be one of which no
answer ever ends (filters, joins, EXISTS, DISTINCT), or a GROUP BY of columns that are NOT NULL over
one source. Others are left out, with the reason; a table model has the same rows.

The dialects spark, duckdb and postgres are tested: the ejected models were run, and gave the same
tables as the adapter. Other dialects of sqlglot are marked UNTESTED in the files.

The ejected models are exact for rows that arrive in time. Late rows, updates and deletes in a
source need the versions of its table, which a plain incremental model does not read. Each file says
so.
"""


@click.command(epilog=EXAMPLE)
@click.argument("models", metavar="[MODEL]...", nargs=-1, shell_complete=models_of_ours)
@click.option(
    "--dialect",
    default="spark",
    show_default=True,
    help="SQL dialect of the ejected models.",
    shell_complete=dialects,
)
@click.option(
    "--into",
    type=click.Path(path_type=Path, file_okay=False),
    default=None,
    help="Folder to write to; default: ejected/<dialect> in the project.",
)
@click.option("--overwrite", is_flag=True, help="Replace existing files.")
@click.option("--json", "as_json", is_flag=True, help="Print the written files as JSON.")
@project_options
def eject(
    models: tuple[str, ...],
    dialect: str,
    into: Path | None,
    overwrite: bool,
    as_json: bool,
    given: DbtOptions,
) -> None:
    """Write models of ours as plain dbt incremental models with an is_incremental() guard."""
    from tapestry.cli.eject_files import TESTED, eject_files

    known_dialect(dialect)
    manifest = read_manifest(given)
    names = with_upstream(manifest, models or manifest.of_answers())
    if not names:
        raise ConfigurationError(
            "the project has no continuous or maintained models",
            str(manifest.root),
            "write {{ config(materialized='continuous') }} into one",
        )
    folder = into or manifest.root / "ejected" / dialect
    left: dict[str, str] = {}
    ejected = _read(manifest, names, None if models else left)
    names = [one.model.name for one in ejected]
    files = eject_files(ejected, manifest.graph, dialect, f"ejected_{dialect}")
    write_files(folder, files, overwrite)
    needs = _others(manifest, names)
    told = {
        "folder": str(folder),
        "dialect": dialect,
        "tested": dialect in TESTED,
        "models": names,
        "files": sorted(files),
        "needs": needs,
        "left": list(left),
    }
    if as_json:
        click.echo(json.dumps(told, indent=2))
        return
    click.echo(f"{counted(len(names), 'model')} for {dialect} in {folder}: {', '.join(names)}")
    if dialect not in TESTED:
        click.echo(f"  {dialect} is untested: compare the tables before you rely on them")
    if needs:
        click.echo(f"  they also read, and the project there must have: {', '.join(needs)}")
    for why in left.values():
        click.echo(f"  left out: {why}")


def known_dialect(dialect: str) -> None:
    """Raise ConfigurationError, with near names, for a dialect that sqlglot does not know."""
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
    nodes, wanted, open_names = manifest.graph["nodes"], set[str](), list(names)
    continuous, ours = set(manifest.continuous()), set(manifest.of_answers())
    for name in open_names:
        node = manifest.model(name)
        refuse_kinds(node, NO_ANSWER)
        wanted |= {node["name"]}
        if node["name"] not in ours:
            kind = node["config"]["materialized"]
            raise ConfigurationError(
                f"{node['name']} is not continuous or maintained but {kind}",
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


def _read(manifest: Manifest, names: list[str], left: dict[str, str] | None) -> list[Any]:
    """The models with the tables that they read, looked up through the adapter.

    ``left`` takes those that plain dbt cannot keep, with the reason; None: they are refused.
    """
    from tapestry.cli.eject_files import Ejected
    from tapestry.cli.eject_maintained import exact_way
    from tapestry.runs.query.relations import ALL_STATIC, NOTHING_ASSUMED, read_relations

    found, continuous = [], set(manifest.continuous())
    with open_models(manifest, names) as opened:
        session, invocation = opened.session, opened.invocation
        pins, zone = invocation.pins, invocation.time_zone
        for name, model in opened.models.items():
            unsaid = NOTHING_ASSUMED if name in continuous else ALL_STATIC
            relations = read_relations(session, model.sql, model, pins, zone, unsaid)
            try:
                way = None if name in continuous else exact_way(model, relations)
            except ConfigurationError as error:
                if left is None:
                    raise
                left[name] = error.reason
                continue
            found.append(Ejected(model, relations, opened.nodes[name], way))
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
