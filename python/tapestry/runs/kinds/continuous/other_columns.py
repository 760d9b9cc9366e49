"""A query that differs from that of the last run by the columns of its select lists only.

``on_schema_change`` says what becomes of these, and is asked alone: the rows are found under the
conditions of before.  So it is where `*` stands for more columns than it did.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.errors import SqlglotError

from tapestry.errors import QueryChanged, Refusal
from tapestry.runs.kinds.continuous.config import ContinuousConfig
from tapestry.runs.kinds.continuous.query import Query
from tapestry.runs.model.model import Model
from tapestry.runs.query.settings import without_unsaid
from tapestry.runs.tables.state_row import StateRow
from tapestry.sql.read.read_tokens import read_one

DO = (
    "on_schema_change: append_new_columns (added to the table, NULL in the rows that are there) or"
    " ignore (left out); or run with --full-refresh"
)


@dataclass(frozen=True)
class OtherColumns:
    """What became of the columns of a query: those that came and those that went, in order."""

    new: tuple[str, ...]
    gone: tuple[str, ...]

    @property
    def told(self) -> str:
        """In words.

        >>> OtherColumns(("w", "x"), ("y",)).told
        'new columns w, x; y no longer there'
        """
        return told(self.new, self.gone)


def told(new: Sequence[str], gone: Sequence[str]) -> str:
    """Columns that came and went, in words."""
    parts = [f"new column{'s' * (len(new) > 1)} {', '.join(new)}"] * bool(new)
    return "; ".join(parts + [f"{', '.join(gone)} no longer there"] * bool(gone))


def other_columns(canonical: str, query: Query) -> OtherColumns | None:
    """What became of the columns since a query with this text; None where more has changed.

    Without the items of the columns that came or went, in whatever select list, both texts are one;
    what the lists are in a condition for (a column under a NATURAL JOIN) stands elsewhere, too.
    A column that is in the list of a table in FROM only changes no row, unless that table's rows
    are told apart by it.
    """
    then, now = _tree(canonical), _tree(query.canonical)
    if then is None or now is None:
        return None
    names = [[item.lower() for item in tree.named_selects] for tree in (then, now)]
    new = tuple(name for name in now.named_selects if name.lower() not in names[0])
    gone = tuple(name for name in then.named_selects if name.lower() not in names[1])
    outer = {name.lower() for name in (*new, *gone)}
    others = _listed(then) ^ _listed(now) | outer
    if others - outer and _by_value(query.canonical):
        return None
    after = without_unsaid(query.canonical, canonical)
    below = [
        [line for line in text.splitlines() if line.startswith("-- ")]
        for text in (without_unsaid(canonical, after), after)
    ]
    same = below[0] == below[1] and _without(then, others) == _without(now, others)
    return OtherColumns(new, gone) if same else None


def refuse_changed_columns(model: Model, found: OtherColumns, row: StateRow, query: Query) -> None:
    """Raise QueryChanged where ``on_schema_change`` does not let a run go on with these columns."""
    config: ContinuousConfig = model.config.own
    if not (found.new or found.gone):
        return
    if config.on_schema_change == "fail":
        why = (
            f"a source of {model.name} has other columns than in the last run, and * stands for all"
            if row.sql == model.sql
            else f"{model.name} has other columns than in the last run"
        )
        raise QueryChanged(f"{found.told}: {why}", where=model.file, hint=DO)
    if config.on_schema_change == "ignore" and found.new and _by_value(query.canonical):
        raise QueryChanged(
            f"{found.told}: {model.name} tells its rows apart by all of its columns, so that"
            " without the new ones rows would come twice",
            where=model.file,
            hint="list the columns instead of *; or on_schema_change: append_new_columns, or run"
            " with --full-refresh",
        )


def _tree(canonical: str) -> exp.Query | None:
    """The text as a tree of its own; None for one that another version wrote otherwise."""
    try:
        tree = read_one(canonical).copy()
    except (SqlglotError, Refusal):
        return None
    return tree if isinstance(tree, exp.Query) else None


def _listed(tree: exp.Expr) -> set[str]:
    """The names of all columns in select lists."""
    selects = tree.find_all(exp.Select)
    return {item.alias_or_name.lower() for select in selects for item in select.expressions}


def _without(tree: exp.Expr, names: Collection[str]) -> str:
    """A query without the columns of these names; their order counts where it means something.

    The arms of a set operation are put on each other by the place of their columns.
    """
    for select in list(tree.find_all(exp.Select)):
        kept = [item for item in select.expressions if item.alias_or_name.lower() not in names]
        if select.find_ancestor(exp.SetOperation) is None:
            kept.sort(key=lambda item: item.sql("spark"))
        select.set("expressions", kept or [exp.Null()])
    return tree.sql("spark", comments=False)


def _by_value(canonical: str) -> bool:
    """Are rows of the query, or of a table that it is made of, told apart by their values?"""
    tree = read_one(canonical)
    every = tree.find_all(exp.Distinct, exp.SetOperation, exp.Group)
    return any(not isinstance(node, exp.Union) or bool(node.args.get("distinct")) for node in every)
