"""A continuous model as a plain dbt incremental model: the text, with its `is_incremental()` guard.

Q_M(t) stands for the first run and Q^I(tau, t) for every later one, in any dialect.  In the place
of tau stands the latest `_matched_at` in the table itself.  It may lie before the end of the last
run, and gives the same rows: every answer that began at or before that end is in the table, so none
began between the two.  Unlike a note kept beside the table it can neither be lost nor be ahead of
the rows after a crash.  It holds where no row comes late: the adapter keeps late rows, which a
plain incremental model cannot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tapestry.names import MATCHED_AT, ROW_ID
from tapestry.runs.query.relations import Relations, plain
from tapestry.runs.sources.describe import DeltaSource, arrival_column, arrival_sql
from tapestry.runs.sources.scans import row_id
from tapestry.sql import Column, Rewriting, Scan
from tapestry.sql.scan import Form
from tapestry.sql.statement.reading import QueryReading
from tapestry.sql.timing import mark
from tapestry.sql.write import build

SPARK = ("spark", "databricks")
TAU, T = mark("this tau"), mark("this t")


@dataclass(frozen=True)
class Guarded:
    """A model to be written: its query, the relations it reads, its configuration and comments.

    relations
        name of a source in the query -> dbt's call for it: ``{{ source('a', 'b') }}``.
    """

    rewriting: Rewriting
    relations: Mapping[str, str]
    scans: Mapping[str, Scan]
    dialect: str
    config: Sequence[str]
    head: Sequence[str]
    lag: str = ""


def guarded_model(model: Guarded) -> str:
    """Return the text of the model's file."""
    first = model.rewriting.template(model.scans, None, T, model.dialect)
    later = model.rewriting.template(model.scans, TAU, T, model.dialect, "{{ this }}")
    first, later = (filled(text, model.relations) for text in (first, later))
    return guarded_text(model.config, model.head, first, later, model.lag)


def guarded_text(
    config: Sequence[str], head: Sequence[str], first: str, later: str, lag: str = ""
) -> str:
    """Return the text of a file: the query of the first run, and that of each later one."""
    return "\n".join(
        [
            "{#-",
            *(f"  {line}" for line in head),
            "-#}",
            f"{{{{ config({', '.join(config)}) }}}}",
            f"{{%- set t = tapestry_t({lag}) -%}}",
            "{%- set tau = tapestry_tau(this) if is_incremental() else none %}",
            "{% if is_incremental() and tau is not none %}",
            "-- what became an answer after tau and up to t",
            later,
            "{% else %}",
            "-- all that was ever an answer up to t",
            first,
            "{% endif %}",
            "",
        ]
    )


def scans_for(rewriting: Rewriting, relations: Relations, dialect: str) -> dict[str, Scan]:
    """Return how a plain model reads its sources, each by its token; no row is taken to be late."""
    # sql: rendered to see which columns it reads, never run
    bare = {n: Scan(n, relations.arrival(n), ROW_ID) for n in rewriting.sources}
    numbered: set[str] = set()
    for first in (True, False):
        rendering = rewriting.rendering(QueryReading(bare), dialect, Form(first))
        columns = rendering.incremental().used.sources
        numbered |= {rewriting.catalog.root(name) for name, used in columns.items()
                     if ROW_ID in used or rewriting.catalog.root(name) != name}  # fmt: skip
    return {
        name: scan_for(name, relations, dialect, name in numbered) for name in rewriting.sources
    }


def scan_for(name: str, relations: Relations, dialect: str, numbered: bool) -> Scan:
    """Return the scan of one source by its token; ``numbered``: its rows need row ids."""
    # sql: a mark, in whose place `fill` puts what dbt calls the source
    return _scan(relations.tables[name].table, relations.arrival(name), token(name), dialect,
                 numbered)  # fmt: skip


def _scan(
    table: DeltaSource, arrival: str | None, relation: str, dialect: str, numbered: bool
) -> Scan:
    """Return the scan of one source in a dialect; ``numbered``: its rows need row ids."""
    column = None if arrival is None else arrival_column(table, arrival)
    if dialect in SPARK:
        bare = DeltaSource(table.name, table.columns, table.table_id, table.location)
        text = None if column is None else arrival_sql(column)
        if numbered:
            relation = f"(SELECT *, {row_id(bare)} AS {ROW_ID} FROM {relation})"
        return Scan(relation, text, ROW_ID)
    text = (
        None if column is None else f"CAST({build.column(column.name).sql(dialect)} AS TIMESTAMPTZ)"
    )
    return Scan(relation, text, _row_id(table.columns, dialect))


def _row_id(columns: Sequence[Column], dialect: str) -> str:
    """Return an expression that tells the rows of a table apart within one statement.

    Rows are numbered in the order of all columns: only equal rows can change places, and which of
    them has which number cannot be seen.
    """
    if dialect == "postgres":
        return "CAST(tableoid AS TEXT) || CAST(ctid AS TEXT)"
    names = ", ".join(build.column(column.name).sql(dialect) for column in columns)
    return f"ROW_NUMBER() OVER (ORDER BY {names})"


def token(name: str) -> str:
    """Return the mark that stands for a source while its query is rendered."""
    return mark(name)


def fill(text: str, relations: Mapping[str, str], instants: Mapping[str, str]) -> str:
    """Return SQL as a template: tokens become dbt's calls, other braces are kept from Jinja."""
    for opening in ("{{", "{%", "{#"):
        text = text.replace(opening, mark(opening[1]))
    for opening in ("{{", "{%", "{#"):
        text = text.replace(mark(opening[1]), "{{ '" + opening + "' }}")
    # sql: Jinja, in whose place dbt puts relations
    for name, said in relations.items():
        text = text.replace(token(name), said)
    for name, said in instants.items():
        text = text.replace(name, said)
    return text


def filled(text: str, relations: Mapping[str, str]) -> str:
    """Return rendered SQL over the window of a run as a template."""
    return fill(text, relations, {TAU: "{{ tau }}", T: "{{ t }}"})


def dbt_names(graph: Mapping[str, Any]) -> dict[str, str]:
    """Map each relation's normalized name to dbt's call for it in a model."""
    names: dict[str, str] = {}
    for node in graph["sources"].values():
        call = f"source({_said(node['source_name'])}, {_said(node['name'])})"
        names[plain(node["relation_name"])] = "{{ " + call + " }}"
    for node in graph["nodes"].values():
        if node.get("relation_name") and node["resource_type"] in ("model", "seed", "snapshot"):
            names[plain(node["relation_name"])] = "{{ ref(" + _said(node["name"]) + ") }}"
    return names


def _said(name: str) -> str:
    """Return a name as a string literal of Jinja's."""
    return "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"


HOW_TAU = (
    f"tau is max({MATCHED_AT}) of the table itself. The last run may have ended later; no answer",
    "began in between, or it would be in the table, so the rows are the same. A run that is killed",
    "leaves rows and tau as they were: dbt commits the rows in one statement or transaction.",
)
"""Said in every guarded model."""
