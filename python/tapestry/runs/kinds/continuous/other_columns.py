"""A query that differs from the last run's only in the columns of its select lists.

``on_schema_change`` alone decides about these: the rows are found under the same conditions as
before. This includes a `*` that stands for more columns than it did.
"""

from __future__ import annotations

from collections.abc import Collection
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
    """The columns that were added to a query and those that were removed, in order."""

    new: tuple[str, ...]
    gone: tuple[str, ...]

    @property
    def told(self) -> str:
        """The change in words.

        >>> OtherColumns(("w", "x"), ("y",)).told
        'new columns w, x; y no longer there'
        """
        new, gone = self.new, self.gone
        parts = [f"new column{'s' * (len(new) > 1)} {', '.join(new)}"] * bool(new)
        return "; ".join(parts + [f"{', '.join(gone)} no longer there"] * bool(gone))


def other_columns(canonical: str, query: Query) -> OtherColumns | None:
    """Return the changed columns since a query with this text; None if more has changed.

    Without the items of the columns that came or went, in whatever select list, both texts are one;
    a select list that serves a condition (a column under a NATURAL JOIN) stands elsewhere, too. A
    column that is only in the list of a table in FROM changes no row, unless that table's rows are
    told apart by it.
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
    """Return the text as a tree of its own; None for a text in another version's form."""
    try:
        tree = read_one(canonical).copy()
    except (SqlglotError, Refusal):
        return None
    return tree if isinstance(tree, exp.Query) else None


def _listed(tree: exp.Expr) -> set[str]:
    """Return the names of all columns in select lists."""
    selects = tree.find_all(exp.Select)
    return {item.alias_or_name.lower() for select in selects for item in select.expressions}


def _without(tree: exp.Expr, names: Collection[str]) -> str:
    """Return a query without the columns of these names; sorted where order has no meaning.

    The arms of a set operation are matched by the place of their columns.
    """
    for select in list(tree.find_all(exp.Select)):
        kept = [item for item in select.expressions if item.alias_or_name.lower() not in names]
        if select.find_ancestor(exp.SetOperation) is None:
            kept.sort(key=lambda item: item.sql("spark"))
        select.set("expressions", kept or [exp.Null()])
    return tree.sql("spark", comments=False)


def _by_value(canonical: str) -> bool:
    """Return whether rows of the query, or of a table within, are told apart by their values."""
    tree = read_one(canonical)
    every = tree.find_all(exp.Distinct, exp.SetOperation, exp.Group)
    return any(not isinstance(node, exp.Union) or bool(node.args.get("distinct")) for node in every)
