"""The seconds, files and bytes of a model's last runs, by part, as ``tapestry_runs`` has them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from tapestry.errors import ConfigurationError, NotRunYet
from tapestry.names import RUNS_TABLE
from tapestry.quoting import identifier, relation_name, string
from tapestry.runs.engine.column_types import columns_of_table
from tapestry.runs.engine.errors_of_delta import not_found
from tapestry.runs.engine.own_tables import in_schema_of
from tapestry.runs.engine.session import Session
from tapestry.runs.protocol.log import PARTS
from tapestry.runs.query.relations import plain
from tapestry.words import counted, size_text, with_article

if TYPE_CHECKING:
    from rich.console import Console


LAST: Final = 20
"""So many runs are shown, the newest ones."""
_SECONDS: Final = tuple(f"{part}_seconds" for part in PARTS)
_READ: Final = ("action", "seconds", *_SECONDS, "new_rows", "inserted_rows", "updated_rows",
                "deleted_rows", "files_read", "bytes_read", "files_written", "bytes_written",
                "verification")  # fmt: skip


@dataclass(frozen=True)
class RunCost:
    """One run.

    seconds
        By part (``PARTS``); None: the run was made by a version that did not measure it, or has
        not come so far. ``all`` has all parts but the plan.
    rows
        That it wrote or deleted; None: they were not counted.
    """

    ended_at: str
    action: str
    verification: str
    seconds: dict[str, float | None]
    rows: int | None
    files_read: int | None
    bytes_read: int | None
    files_written: int | None
    bytes_written: int | None


@dataclass(frozen=True)
class RunCosts:
    """The last runs of a model, the newest first."""

    model: str
    runs: Sequence[RunCost]

    def medians(self) -> dict[str, float | None]:
        """Median seconds by part, of the runs that did not fail and measured it."""
        ran = [run for run in self.runs if run.action != "failed"]
        names = (*PARTS, "all")
        measured = {name: [run.seconds[name] for run in ran] for name in names}
        known = {
            name: [seconds for seconds in found if seconds is not None]
            for name, found in measured.items()
        }
        return {name: statistics.median(all_) if all_ else None for name, all_ in known.items()}

    def as_json(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {
            "model": self.model,
            "medians": self.medians(),
            "runs": [asdict(run) for run in self.runs],
        }


def run_costs(session: Session, state_table: str, name: str, relation: str) -> RunCosts:
    """Read what the last runs of a model took.

    Raises NotRunYet where the log has none of it.
    """
    table = in_schema_of(state_table, RUNS_TABLE)
    try:
        there = {column.lower() for column, _ in columns_of_table(session, table)}
        listed = ", ".join(
            identifier(column) if column in there else f"NULL AS {identifier(column)}"
            for column in _READ
        )
        rows = session.rows(
            f"SELECT date_format(ended_at, 'yyyy-MM-dd HH:mm:ss'), {listed}"
            f" FROM {relation_name(table)} WHERE model = {string(plain(relation))}"
            f" ORDER BY ended_at DESC LIMIT {LAST:d}"
        )
    except Exception as error:
        if not not_found(error):
            raise
        rows = []
    if not rows:
        raise NotRunYet(
            f"{RUNS_TABLE} has no run of {name}",
            hint="a run that finds nothing new is not written down; run it over new rows",
        )
    return RunCosts(name, [_run_cost(ended_at, dict(zip(_READ, row, strict=True)))
                           for ended_at, *row in rows])  # fmt: skip


def _run_cost(ended_at: str, row: dict[str, Any]) -> RunCost:
    seconds = {part: row[f"{part}_seconds"] for part in PARTS} | {"all": row["seconds"]}
    changed = [row[name] for name in ("inserted_rows", "updated_rows", "deleted_rows")]
    known = [int(number) for number in changed if number is not None]
    rows = sum(known) if known else row["new_rows"]
    counts = (row["files_read"], row["bytes_read"], row["files_written"], row["bytes_written"])
    return RunCost(str(ended_at), row["action"], row["verification"], seconds, rows, *counts)


def show_costs(to: Console, costs: RunCosts) -> None:
    """The runs as a table for people, and in which part most of the time goes."""
    from rich.table import Table

    runs = counted(len(costs.runs), "run")
    table = Table(title=f"{costs.model}: seconds of the last {runs}", title_justify="left")
    columns = ("ended at", "what", "rows", *PARTS, "all but plan", "read", "written")
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number > 1 else "left", overflow="fold")
    for run in costs.runs:
        seconds = map(_text, run.seconds.values())
        read, written = (run.files_read, run.bytes_read), (run.files_written, run.bytes_written)
        rows = "?" if run.rows is None else f"{run.rows:,}"
        table.add_row(run.ended_at, run.action, rows, *seconds, _files(*read), _files(*written))
    medians = costs.medians()
    table.add_section()
    table.add_row("median", "", "", *map(_text, medians.values()), "", "")
    to.print(table)
    measured = {part: medians[part] for part in PARTS if medians[part] is not None}
    if measured:
        most = max(measured, key=lambda part: measured[part] or 0)
        to.print(f"Most of it goes into: {most}, {_MEANS[most]}.", markup=False)


_MEANS: Final = {
    "plan": "deciding what is to be done: facts of the sources, the state, what has changed",
    "claim": "taking the number of the run, before its rows are computed",
    "rows": "computing and checking the rows",
    "commit": "writing them into the table",
    "confirm": "telling in the state that they are there",
}


def _text(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.2f}"


def _files(count: int | None, size: int | None) -> str:
    if count is None:
        return "?"
    return f"{counted(count, 'file')}, {size_text(size or 0)}"


def refuse_without_runs(name: str, kind: str, kinds: Sequence[str]) -> None:
    """Raise ConfigurationError for a model whose runs are not written down by part."""
    if kind not in kinds:
        raise ConfigurationError(
            f"{name} is {f'{with_article(kind)} model' if kind else 'no model of ours'}:"
            " the parts of its runs are not measured",
            hint=f"name a model that is {' or '.join(kinds)}",
        )
