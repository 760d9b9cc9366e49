"""Changed columns of an incremental model: how its table is altered, or why the run is refused.

Changes that cannot be made are refused before the table is touched. A value that a column has no
room for would be cut silently (1.9 in an INT becomes 1): whatever ``on_schema_change`` says, the
run stops at it, or, where values cannot be tested one by one, at the type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import ParseError, exp

from dbt.adapters.tapestry.column_mapping import MODE
from dbt.adapters.tapestry.snapshot_columns import keeps
from tapestry.errors import QueryChanged
from tapestry.quoting import Sql, authored, identifier, properties, string
from tapestry.runs.engine.column_types import sql_type
from tapestry.runs.kinds.continuous.schema_change import same_type, widens

WIDENING = "delta.enableTypeWidening"


_T = exp.DataType.Type
_NUMBERS = frozenset({_T.TINYINT, _T.SMALLINT, _T.INT, _T.BIGINT, _T.FLOAT, _T.DOUBLE, _T.DECIMAL})
_TIMES = frozenset({_T.DATE, _T.TIMESTAMP, _T.TIMESTAMPTZ, _T.TIMESTAMPLTZ, _T.TIMESTAMPNTZ})


@dataclass(frozen=True)
class ChangedColumns:
    """The columns of a query and those of its table, with their types.

    rule
        ``on_schema_change``.
    promised
        A contract names the types: the table's columns have to have them.
    properties
        The table's; None where its format has no columns to be dropped or widened.
    by_value
        The rows to be written are a query that can be asked of each value whether it fits.
    """

    rule: str
    query: Mapping[str, str]
    table: Mapping[str, str]
    relation: str
    file: str = ""
    promised: bool = False
    properties: Mapping[str, str] | None = field(default_factory=dict)
    by_value: bool = False

    @property
    def added(self) -> dict[str, str]:
        """The columns of the query that the table lacks."""
        there = {name.lower() for name in self.table}
        return {name: kind for name, kind in self.query.items() if name.lower() not in there}

    @property
    def gone(self) -> dict[str, str]:
        """The columns of the table that the query no longer has."""
        asked = {name.lower() for name in self.query}
        return {name: kind for name, kind in self.table.items() if name.lower() not in asked}

    @property
    def retyped(self) -> dict[str, tuple[str, str]]:
        """The columns of the table that have another type in the query, with both types."""
        now = {name.lower(): kind for name, kind in self.query.items()}
        pairs = {name: (kind, now.get(name.lower(), kind)) for name, kind in self.table.items()}
        return {name: (old, new) for name, (old, new) in pairs.items() if not same_type(old, new)}

    def statements(self) -> list[str]:
        """Return the statements that give the table the query's columns, as far as the rule allows.

        Raises QueryChanged for what the rule does not allow, or the table cannot do.
        """
        if self.rule == "fail" and (self.added or self.gone or self.retyped):
            raise self._error(
                self._told(),
                "let on_schema_change be append_new_columns or sync_all_columns, or run with"
                " --full-refresh",
            )
        wider = self._types()
        dropped: list[str] = []
        if self.gone and self.rule == "ignore":
            raise self._error(
                f"the query no longer has {', '.join(self.gone)}, which the table has",
                "on_schema_change: append_new_columns keeps such a column, NULL in new rows;"
                " sync_all_columns takes it away; or run with --full-refresh",
            )
        if self.gone and self.rule == "sync_all_columns":
            dropped = self._dropped()
        added = self.added if self.rule in ("append_new_columns", "sync_all_columns") else {}
        alter = f"alter table {self.relation}"
        listed = ", ".join(f"{identifier(name)} {sql_type(kind)}" for name, kind in added.items())
        new = [f"{alter} add columns ({listed})"] if added else []
        return [*new, *dropped, *wider]

    def _dropped(self) -> list[str]:
        alter = f"alter table {self.relation}"
        names = ", ".join(identifier(name) for name in self.gone)
        if self.properties is None:
            raise self._error(
                f"the query no longer has {', '.join(self.gone)}, and a table of this format loses"
                " no column",
                "take on_schema_change: append_new_columns, which keeps it; or run with"
                " --full-refresh",
            )
        if self.properties.get(MODE, "none").lower() not in ("name", "id"):
            once = self._set(MODE, "name")
            raise self._error(
                f"the query no longer has {', '.join(self.gone)}, and Delta drops one only where"
                " columns are mapped",
                f"run once {once}; or take on_schema_change: append_new_columns, which keeps the"
                " column; or run with --full-refresh",
            )
        return [f"{alter} drop columns ({names})"]

    def _types(self) -> list[str]:
        """Return the statements that change types; a column that holds the query's values stays."""
        found, fitted_ = [], self.fitted()
        for name, (there, now) in self.retyped.items():
            if self._widened and widens(there, now):
                if str((self.properties or {}).get(WIDENING)).lower() != "true":
                    raise self._retyped(name, there, now)
                column = f"{identifier(name)} type {sql_type(now)}"
                found.append(f"alter table {self.relation} alter column {column}")
            elif self.promised or not (keeps(now, there) or name in fitted_):
                raise self._retyped(name, there, now)
        return found

    def fitted(self) -> list[str]:
        """Return the table's columns that may cut a value, and can be tested for it."""
        return [
            name
            for name, (there, now) in self.retyped.items()
            if self.by_value
            and not keeps(now, there)
            and not (self._widened and widens(there, now))
            and _fitted(name, now, there) is not None
        ]

    @property
    def _widened(self) -> bool:
        return self.rule == "sync_all_columns" and self.properties is not None

    def fitting(self, query: str) -> Sql | None:
        """Return the query, stopping at a value that its column would cut; None if none can be."""
        cut = {name.lower() for name in self.fitted()}
        if not cut:
            return None
        there = {name.lower(): kind for name, kind in self.table.items()}
        columns = [
            _as_kept(name, now, there[name.lower()]) if name.lower() in cut else identifier(name)
            for name, now in self.query.items()
        ]
        return Sql(f"select {', '.join(columns)} from (\n{authored(query)}\n) as model_rows")

    def _retyped(self, name: str, there: str, now: str) -> QueryChanged:
        column = identifier(name)
        widen = ""
        if self.properties is not None and widens(there, now):
            once = self._set(WIDENING, "true")
            then = f"ALTER TABLE {self.relation} ALTER COLUMN {column} TYPE {sql_type(now)}"
            if self.rule == "sync_all_columns":
                widen = f"run once {once}; or "
            else:
                widen = f"run once {once}, then {then}; or "
        promised = ", as the contract has it," if self.promised else ""
        return self._error(
            f"{column} is {now} in the query now{promised} but {there} in the table",
            f"{widen}write CAST(… AS {sql_type(there)}) AS {column}; or run with --full-refresh",
        )

    def _set(self, name: str, value: str) -> str:
        """Return the statement, for a message, that sets a property."""
        return f"ALTER TABLE {self.relation} SET TBLPROPERTIES ({properties({name: value})})"

    def _told(self) -> str:
        new = [f"a new column {name}" for name in self.added]
        gone = [f"no column {name} any more" for name in self.gone]
        other = [
            f"{name} as {now} instead of {there}" for name, (there, now) in self.retyped.items()
        ]
        return f"the query has {', '.join([*new, *gone, *other])}"

    def _error(self, reason: str, hint: str) -> QueryChanged:
        return QueryChanged(f"{reason}: {self.relation}", where=self.file, hint=hint)


def _as_kept(name: str, now: str, there: str) -> Sql:
    """Return a column of the query, cast to the type that the table has."""
    return Sql(f"{_fitted(name, now, there)} as {identifier(name)}")


def _fitted(name: str, given: str, kept: str) -> Sql | None:
    """Return the column ``name``, of the type ``given``, cast to the type ``kept``.

    A value fits if it is the same once it is cast there and back. A FLOAT is by its nature the
    nearest to a DOUBLE: only a DOUBLE that is too large for it does not fit. Returns None for types
    of which this cannot be tested: others than two of numbers, or two of times.
    """
    try:
        kinds = [exp.DataType.build(text, dialect="spark").this for text in (given, kept)]
    except (ParseError, ValueError):
        return None
    if not any(set(kinds) <= group for group in (_NUMBERS, _TIMES)):
        return None
    column = identifier(name)
    cast = f"try_cast({column} as {sql_type(kept)})"
    if kinds == [_T.DOUBLE, _T.FLOAT]:
        endless = "double('infinity')"
        fits = f"isnan({column}) or abs({column}) = {endless} or abs({cast}) < {endless}"
    else:
        fits = f"try_cast({cast} as {sql_type(given)}) = {column}"
    told = string(f"{column} is {given} in the query now, and {kept} in the table cuts the value ")
    error = f"raise_error(concat({told}, cast({column} as string)))"
    return Sql(f"case when {column} is null or {fits} then {cast} else {error} end")
