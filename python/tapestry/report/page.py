"""The page: one HTML file with everything inside, that opens without a network and runs no script.

Whatever comes from a model (names, messages, SQL) goes through Jinja's escaping; the only markup
that does not is what Vega drew. A content security policy in the page forbids scripts and loading
anything besides: a name that slipped through could still do nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from tapestry.errors import parted
from tapestry.report import text
from tapestry.report.artifacts import Artifacts
from tapestry.report.figures import model_figure, project_figures
from tapestry.report.graph import graph
from tapestry.report.judge_actions import drift_by_action
from tapestry.report.plots import Plot
from tapestry.report.record import Record, Run
from tapestry.report.standing import GONE, LOOK, NEVER, NOT_WELL, WELL, ModelStanding, Verdict
from tapestry.report.strips import strips
from tapestry.report.text import seconds
from tapestry.whole_file import write_whole
from tapestry.words import counted

SQL_BUDGET = 1_000_000
"""Characters of SQL on a page, all models together: long ones are cut, and the page says where."""
SQL_LEAST = 4_000
PLOTTED_MODELS = 60
RUNS_SHOWN, RUNS_LEAST, RUNS_BUDGET = 12, 3, 900
ICONS = {NOT_WELL: "✕", LOOK: "!", WELL: "✓", NEVER: "–", GONE: "–"}
CLASSES = {NOT_WELL: "bad", LOOK: "look", WELL: "ok", NEVER: "none", GONE: "none"}


INCREMENTAL, FULL = "incremental", "full"


@dataclass(frozen=True)
class Live:
    """The settings of a served page that reloads: the ``nonce`` of its script, its ``version``."""

    nonce: str
    version: str


@dataclass(frozen=True)
class Section:
    """The part of the page about one model."""

    anchor: str
    standing: ModelStanding
    plot: Plot | None
    sql: str | None
    sql_cut: bool
    sql_file: str
    parents: tuple[str, ...]
    children: tuple[str, ...]
    recent: tuple[Run, ...]


def make_page(
    verdict: Verdict,
    record: Record,
    artifacts: Artifacts,
    *,
    schema: str,
    folder: Path | None = None,
    live: Live | None = None,
) -> str:
    """The HTML. ``folder`` is where it will stand: links to other documentation are relative to it.

    A page in a file is not ``live``.
    """
    anchors = {model.name: f"m{number}" for number, model in enumerate(verdict.models, 1)}
    sections = _within_budget(
        [_section(model, anchors, record, artifacts) for model in verdict.models]
    )
    return (
        environment()
        .get_template("page.html")
        .render(
            verdict=verdict,
            totals=_totals(verdict),
            project=artifacts.project or schema,
            schema=schema,
            figures=project_figures(verdict),
            strips=strips(verdict),
            graph=graph(verdict, artifacts, anchors, record.kept),
            sections=sections,
            acting=[section for section in sections if section.standing.acted],
            drift=drift_by_action(record, artifacts),
            anchors=anchors,
            links=_links(artifacts.links, folder),
            limited=record.limited,
            live=live,
        )
    )


def write_page(path: Path, page: str) -> None:
    """Write a page in one step: whoever has it open never sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, page.encode("utf-8", "replace"))


def _section(
    model: ModelStanding, anchors: Mapping[str, str], record: Record, artifacts: Artifacts
) -> Section:
    number = int(anchors[model.name][1:])
    node = model.node
    sql = record.sql.get(model.name)
    if sql is None and node is not None:
        sql = artifacts.sql_that_ran(node)
    nodes = artifacts.nodes
    parents = tuple(nodes[name].relation for name in node.parents if name in nodes) if node else ()
    children = tuple(
        sorted(other.relation for other in nodes.values() if node and node.id in other.parents)
    )
    plot = model_figure(number, model.name, model.runs) if number <= PLOTTED_MODELS else None
    path = f"target/run/{node.id.split('.')[1]}/{node.path}" if node else ""
    shown = max(RUNS_LEAST, min(RUNS_SHOWN, RUNS_BUDGET // len(anchors)))
    recent = tuple(reversed(model.runs[-shown:]))
    return Section(anchors[model.name], model, plot, sql, False, path, parents, children, recent)


def _within_budget(sections: list[Section]) -> list[Section]:
    """Cut the longest SQL until all of it together fits."""
    lengths = sorted(len(section.sql or "") for section in sections)
    left, most = SQL_BUDGET, SQL_BUDGET
    for place, wanted in enumerate(lengths):
        share = left // (len(lengths) - place)
        if wanted > share:
            most = max(share, SQL_LEAST)
            break
        left -= wanted
    return [
        section
        if len(section.sql or "") <= most
        else replace(section, sql=(section.sql or "")[:most], sql_cut=True)
        for section in sections
    ]


def _totals(verdict: Verdict) -> dict[str, Any]:
    """Return numbers of the newest invocation, and of all that is on record."""
    runs = [run for model in verdict.models for run in model.runs]
    newest = max(runs, key=lambda run: run.when, default=None)
    last = [run for run in runs if newest and run.invocation_id == newest.invocation_id]
    return {
        "runs": len(runs),
        "invocations": len({run.invocation_id for run in runs}),
        "last": {
            "models": len({run.model for run in last}),
            "new": sum(run.came or 0 for run in last),
            "late": sum(run.late_rows or 0 for run in last),
            "rejected": sum(run.rejected_rows or 0 for run in last),
            "failed": sum(run.failed for run in last),
            "seconds": sum(run.seconds or 0 for run in last),
        },
        "replayed": any(model.replayed for model in verdict.models),
        "filled": {
            name: any(getattr(run, name) is not None for run in runs)
            for name in ("rejected_rows", "files_read", "bytes_read", "files_written", "refresh")
        },
        "verified": {
            name: sum(model.verified().get(name, 0) for model in verdict.models)
            for name in ("pass", "warn", "fail")
        },
    }


def _links(links: Mapping[str, Path], folder: Path | None) -> dict[str, str]:
    """Return links relative to the page, so that both can be moved together."""
    if folder is None:
        return {}
    return {
        name: quote(Path(os.path.relpath(path, folder)).as_posix()) for name, path in links.items()
    }


def environment() -> Environment:
    """Return the Jinja environment of the pages, which escapes what is put into them."""
    made = Environment(
        loader=PackageLoader("tapestry.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        instant=text.instant,
        duration=text.length,
        number=text.number,
        seconds=text.seconds,
        size=text.size,
        first_lines=text.first_lines,
        without_hint=lambda message: parted(message)[0],
        joints=_joints,
        svg=lambda plot: Markup(plot.svg),  # Vega escapes what it draws
    )
    made.globals.update(
        icons=ICONS,
        classes=CLASSES,
        counted=counted,
        ago=text.ago,
        style=_file("style.css"),
        savings=_savings,
    )
    made.globals["live_script"] = _file("live.js")
    return made


def _joints(name: str) -> Markup:
    """Return a name that a narrow column breaks after dots and underscores, not within a word."""
    return Markup(re.sub(r"[._](?=.)", r"\g<0><wbr>", str(escape(name))))


def _file(name: str) -> Markup:
    """Return a file of this package that goes into the page as it is."""
    path = Path(__file__).with_name("templates") / name
    return Markup(path.read_text("utf-8"))


def _savings(runs: Sequence[Run]) -> str:
    """Return how many runs were incremental, and their time beside that of full ones; "" for none.

    >>> _savings([Run("m", refresh="full", seconds=8.0),
    ...          Run("m", refresh="incremental", seconds=2.0, bytes_read=10, bytes_full=100)])
    '1 of 2 runs by what had changed: 2.0 s each, against 8.0 s; they read 10 % of all bytes'
    """
    good = [run for run in runs if run.refresh and not run.failed]
    changed = [run for run in good if run.refresh == INCREMENTAL]
    if not good:
        return ""
    told = f"{len(changed)} of {counted(len(good), 'run')} by what had changed"
    some, whole = _middle(changed), _middle([run for run in good if run.refresh == FULL])
    if some is not None:
        told += f": {seconds(some)} each"
        told += "" if whole is None else f", against {seconds(whole)}"
    measured = [run for run in changed if run.bytes_read is not None and run.bytes_full]
    read = sum(run.bytes_read or 0 for run in measured)
    full = sum(run.bytes_full or 0 for run in measured)
    return f"{told}; they read {100 * read / full:.0f} % of all bytes" if full else told


def _middle(runs: Sequence[Run]) -> float | None:
    found = [run.seconds for run in runs if run.seconds is not None]
    return median(found) if found else None
