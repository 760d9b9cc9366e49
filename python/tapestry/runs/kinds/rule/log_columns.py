"""The declared columns of a log of changes that is a rule's table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tapestry.errors import ConfigurationError
from tapestry.quoting import identifier, string
from tapestry.runs.kinds.rule.config import LOG, OpOfLog, RuleConfig
from tapestry.runs.sources.describe import ARRIVAL_TYPES, DeltaSource, arrival_sql
from tapestry.runs.sources.transactions import has_order
from tapestry.sql.catalog import Column


@dataclass(frozen=True)
class LogColumns:
    """The columns of a log.

    changed
        Those of the rows whose changes it has, and the one that names the transaction.
    before
        By column of these rows: the one with its old value. None: no column has old values.
    """

    changed: tuple[Column, ...]
    transaction: Column
    time: Column
    order: tuple[Column, ...]
    key: tuple[Column, ...]
    op: OpOfLog
    before: Mapping[str, Column] | None

    @property
    def values(self) -> tuple[Column, ...]:
        """The columns whose values an update changes."""
        return tuple(one for one in self.changed if one != self.transaction)

    @property
    def instant(self) -> str:
        """Return SQL: when the transaction of a row was committed."""
        return arrival_sql(self.time)

    @property
    def kind(self) -> str:
        """Return SQL: our word for the kind of a row's change; NULL for an unknown one."""
        column = f"CAST({identifier(self.op.column)} AS STRING)"
        cases = " ".join(
            f"WHEN {string(said)} THEN {string(word)}" for word, said in self.op.words.items()
        )
        return f"CASE {column} {cases} END"

    @property
    def keys(self) -> list[str]:
        """Return SQL: the columns of the key."""
        return [identifier(one.name) for one in self.key]

    @property
    def place(self) -> list[str]:
        """Return SQL: the columns that order the changes of a transaction."""
        return [identifier(one.name) for one in self.order]


def log_columns(config: RuleConfig, table: DeltaSource, where: str) -> LogColumns | None:
    """Read the columns of a log from the configuration; None: the table is no log.

    Raises ConfigurationError for a key that is missing or misplaced, and for a column that the
    table does not have, or that has no order.
    """
    said = {
        "transaction": config.transaction,
        "commit_time": config.commit_time,
        "op": config.op,
        "order": config.order,
        "before": config.before,
    }
    if config.changes != LOG:
        if (odd := next((name for name, value in said.items() if value), None)) is not None:
            raise ConfigurationError(
                f"{odd} is about a log of changes, and changes: {config.changes} is none",
                where=where,
                hint=f"say changes: log, or take {odd} out",
            )
        return None
    needed = {**said, "key": config.key}
    for name in ("transaction", "commit_time", "op", "key"):
        if not needed[name]:
            raise ConfigurationError(
                f"changes: log needs {name}",
                where=where,
                hint="name the columns of the log: transaction, commit_time, op and key",
            )
    assert config.op is not None
    columns = _Named(table, where)
    time = columns.one(config.commit_time)
    if time.type.lower() not in ARRIVAL_TYPES:
        raise ConfigurationError(
            f"commit_time: {time.name} of {table.name} has the type {time.type}",
            where=where,
            hint="name a column of type TIMESTAMP, TIMESTAMP_NTZ or DATE",
        )
    order, op = columns.ordered(config.order), columns.one(config.op.column)
    before = columns.before(config.before) if config.before else None
    hidden = {time.name, op.name, *(one.name for one in order)}
    hidden |= {one.name for one in (before or {}).values()}
    key = columns.ordered(config.key)
    changed = tuple(one for one in table.columns if one.name not in hidden or one in key)
    (transaction,) = columns.ordered([config.transaction])
    return LogColumns(changed, transaction, time, order, key, config.op, before)


@dataclass(frozen=True)
class _Named:
    """Finds columns of a table by the names that the author has written."""

    table: DeltaSource
    where: str

    def one(self, name: str) -> Column:
        """Return the column of a name."""
        wanted = name.strip().strip("`").lower()
        for column in self.table.columns:
            if column.name.lower() == wanted:
                return column
        listed = ", ".join(column.name for column in self.table.columns[:20])
        raise ConfigurationError(
            f"{self.table.name} has no column {name}",
            where=self.where,
            hint=f"it has {listed}",
        )

    def ordered(self, names: Sequence[str]) -> tuple[Column, ...]:
        """Return columns whose values can be put in order."""
        found = tuple(self.one(name) for name in names)
        for column in found:
            if not has_order(column.type):
                raise ConfigurationError(
                    f"{column.name} of {self.table.name} has the type {column.type}, whose values"
                    " have no order",
                    where=self.where,
                    hint="name a column of numbers, texts or instants",
                )
        return found

    def before(self, prefix: str) -> dict[str, Column]:
        """Return, by column, the one with its old value."""
        there = {column.name.lower(): column for column in self.table.columns}
        found = {
            column.name: there[prefix.lower() + column.name.lower()]
            for column in self.table.columns
            if prefix.lower() + column.name.lower() in there
        }
        if not found:
            raise ConfigurationError(
                f"before: no column of {self.table.name} begins with {prefix} and then is called as"
                " another one",
                where=self.where,
                hint="write the prefix, like old_ where old_price is what price was",
            )
        return found
