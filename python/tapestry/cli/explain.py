"""`tapestry explain`: the way from a model's query to what a run executes, and what that reads."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from tapestry.cli.complete import models_of_ours
from tapestry.cli.models import Manifest, compile_models, compile_sql, open_models, read_manifest
from tapestry.cli.options import DbtOptions, project_options
from tapestry.cli.project import given_instant, open_project
from tapestry.runs.kinds.registry import kind_named, kinds_of_answers
from tapestry.words import size_text

if TYPE_CHECKING:
    from rich.console import Console

    from tapestry.cli.explanation import Explanation

EXAMPLE = """\b
Example:
  tapestry explain unanswered
  tapestry explain unanswered --cost
  tapestry explain unanswered --json | jq '.reads[] | {place, source, files}'
  tapestry explain --sql "select * from {{ source('bboard', 'messages') }} where now() > ts"

Shows each step as SQL, with the reason why it is allowed: the query Q, its standard form, the
solved comparisons with now(), Q_M (everything that was ever an answer), and Q^I, which a run
executes over its window (:tau, :t]. Then it shows which range of which source each branch reads,
how many files and bytes these are now, and what would make the run cheaper. It neither runs the
model nor writes anything. --cost shows instead the times of the last runs, by part: to plan, to
claim the number of the run, to compute and check its rows, to commit them, to confirm the commit.

Exit code 1 if the query is refused; the steps up to the refusal are shown.
"""


@click.command(epilog=EXAMPLE)
@click.argument("model", required=False, shell_complete=models_of_ours)
@click.option("--sql", help="Explain this query instead of a model; it may use ref() and source().")
@click.option("--cost", is_flag=True, help="Show the times of the last runs of MODEL, by part.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@project_options
def explain(
    model: str | None,
    sql: str | None,
    cost: bool,
    as_json: bool,
    given: DbtOptions,
) -> None:
    """Explain MODEL: each step from its query to what a run executes, and what that reads."""
    if (model is None) == (sql is None):
        raise click.UsageError("Give the name of a model, or --sql with a query.")
    if cost and model is None:
        raise click.UsageError("--cost is about the runs of a model: give its name.")
    manifest = read_manifest(given)
    if model is not None:
        manifest.model(model)
    if cost:
        _show_cost(manifest, model or "", as_json)
        return
    explained = _explained(manifest, model, sql)
    if as_json:
        click.echo(json.dumps(explained.as_json(), indent=2))
    else:
        from tapestry.cli.show import console

        show_explanation(console(), explained)
    if explained.refusal is not None:
        click.get_current_context().exit(1)


def _show_cost(manifest: Manifest, model: str, as_json: bool) -> None:
    from tapestry.cli.run_costs import refuse_without_runs, run_costs, show_costs
    from tapestry.cli.show import console

    name = model.removesuffix(".sql")
    node = manifest.model(name)
    kinds = sorted(kinds_of_answers())
    refuse_without_runs(name, kind_named(node["config"].get("materialized")) or "", kinds)
    with open_models(manifest, [name]) as opened:
        relation, state = opened.models[name].relation, opened.invocation.state_table
        costs = run_costs(opened.session, state, name, relation)
    if as_json:
        click.echo(json.dumps(costs.as_json(), indent=2))
    else:
        show_costs(console(), costs)


def _explained(manifest: Manifest, model: str | None, sql: str | None) -> Explanation:
    from dbt.adapters.tapestry.invocations import current_invocation
    from dbt.adapters.tapestry.nodes import model_of, node_warnings, shown_model
    from tapestry.cli.explanation import explain_model

    if model is not None:
        name = model.removesuffix(".sql")
        node = compile_models(manifest, [name])[name]
    else:
        node = compile_sql(manifest, sql or "")
    with open_project(manifest.given) as project:
        invocation = current_invocation(
            project.config, project.session, given_instant(project.config)
        )
        text, graph = node["compiled_code"], manifest.graph
        stored = kind_named(node["config"].get("materialized")) is not None
        if stored:
            described = model_of(node, graph, text, "", invocation.time_zone)
        else:
            described = shown_model(node, graph, text)
        warnings = node_warnings(node) if stored else ()
        return explain_model(project.session, described, invocation, stored, warnings)


def show_explanation(to: Console, explained: Explanation) -> None:
    """The explanation for people."""
    from rich.markup import escape

    from tapestry.cli.show import show_sql

    to.print(f"[bold]{escape(explained.name)}[/bold]  {escape(explained.file)}")
    for number, step in enumerate(explained.steps, start=1):
        to.print(f"\n[bold cyan]{number}. {step.name}[/bold cyan]  {step.why}")
        show_sql(to, step.sql)
    if explained.refusal is not None:
        from tapestry.sql.rewriter import refusing_pass

        by = refusing_pass(explained.refusal)
        to.print(f"\n[bold red]refused by {by}[/bold red]")
        to.print(str(explained.refusal), markup=False)
        return
    if explained.looked_at is None:
        to.print(f"\n[bold cyan]strategy[/bold cyan]  {explained.strategy}")
        return
    _show_reads(to, explained)
    _show_joins(to, explained)
    _show_memories(to, explained)
    to.print("\n[bold cyan]cheaper[/bold cyan]")
    for line in explained.advice or ["nothing is known that would make this cheaper"]:
        to.print(f"  - {line}", markup=False)


def _show_reads(to: Console, explained: Explanation) -> None:
    from tapestry.cli.show import folded_table

    looked_at = explained.looked_at
    assert looked_at is not None
    window = explained.as_json()["window"]
    to.print(f"\n[bold cyan]strategy[/bold cyan]  {explained.strategy}")
    for column in explained.audit:
        to.print(f"  {column}: the clock at _matched_at, no part of an answer or of the checks")
    supposed = (
        "  (supposed: it has not run yet; a first run reads all)" if looked_at.supposed else ""
    )
    to.print(f"[bold cyan]window[/bold cyan]    ({window['tau']}, {window['t']}]{supposed}")
    for note in looked_at.notes:
        to.print(f"  note: {note}", markup=False)
    title = "What the run over this window reads now"
    table = folded_table(title, "where", "source", "narrowed to", "files", "size")
    for reading in looked_at.readings:
        here = explained.costs[reading.source, reading.predicate]
        whole = explained.costs[reading.source, ""]
        table.add_row(
            reading.place,
            f"{reading.source} {reading.alias}",
            _range(reading.window, reading.keys),
            "?" if here.files is None else f"{here.files} of {whole.files}",
            f"{size_text(here.size)} of {size_text(whole.size)}",
        )
    to.print(table)


def _show_joins(to: Console, explained: Explanation) -> None:
    from tapestry.cli.show import folded_table

    if explained.looked_at is None or not explained.looked_at.joins:
        return
    table = folded_table("In which order tables are joined", "where", "tables", "by")
    for one in explained.looked_at.joins:
        table.add_row(one.place, ", ".join(one.tables), one.why)
    to.print(table)


def _show_memories(to: Console, explained: Explanation) -> None:
    from tapestry.cli.show import folded_table

    looked_at = explained.looked_at
    if looked_at is None or not looked_at.memories:
        return
    title = "Rows of sources that a memory holds, or could hold"
    table = folded_table(title, "source", "rows", "memory", "size", "or why none is read")
    for one in looked_at.memories:
        size = "" if one.size is None else size_text(one.size)
        rows = " and ".join(one.conditions) or "all of them"
        table.add_row(f"{one.source} {one.alias}", rows, one.memory, size, one.why)
    to.print(table)


def _range(window: tuple[str, ...], keys: tuple[str, ...]) -> str:
    import re

    lines = [re.sub(r"CAST\('([^']+?)(?:\+00:00)?' AS TIMESTAMP\)", r"\1", text) for text in window]
    if keys:
        lines.append(f"looked up by {', '.join(keys)}")
    return "\n".join(lines) or "all of it"
