"""An author's declarations beside the query: the key of rows, expectations, functions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from tapestry.errors import ConfigurationError
from tapestry.quoting import identifier, remark
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.column_types import sql_type
from tapestry.runs.engine.session import Session
from tapestry.runs.expectations.validate import Expected, Prepared, prepare
from tapestry.runs.kinds.maintained.config import config_of
from tapestry.runs.model.declare import near
from tapestry.runs.model.model import Model
from tapestry.sql import timing
from tapestry.sql.catalog import Column
from tapestry.sql.passes.tree.refuse_nondeterministic import NONDETERMINISTIC, called
from tapestry.sql.read.read_tokens import read_one


@dataclass(frozen=True)
class Declared:
    """A model's key and expectations, fitted to its columns.

    alias
        The name by which conditions may refer to a row.
    unique
        The places of the columns of `unique_key`.
    functions
        The functions that give equal values for equal arguments.
    """

    alias: str = ""
    unique: tuple[int, ...] = ()
    expected: tuple[Prepared, ...] = ()
    functions: tuple[str, ...] = ()

    @property
    def drops(self) -> tuple[Prepared, ...]:
        """The expectations that keep a row out of the table."""
        return tuple(one for one in self.expected if one.expectation.on_violation == "drop")

    def taken(self, select: str, out: bool = False) -> str:
        """Return the rows of a SELECT that the table takes; with ``out`` those that it does not."""
        if not self.drops:
            return select
        fits = " AND ".join(f"coalesce(({one.condition}\n), true)" for one in self.drops)
        where = f"NOT ({fits})" if out else fits
        return f"SELECT * FROM (\n{select}\n) AS {identifier(self.alias)} WHERE {where}"

    def lines(self, columns: Sequence[Column]) -> Iterator[str]:
        """Yield comments for the canonical text: if they differ the table is another one."""
        if self.unique:
            listed = ", ".join(columns[place].name for place in self.unique)
            yield f"-- unique_key: {remark(listed)}"
        if self.functions:
            yield f"-- deterministic functions: {remark(', '.join(sorted(self.functions)))}"
        for one in (prepared.expectation for prepared in self.expected):
            said = one.condition or f"{one.kind} {one.arguments}"
            yield f"-- expected: {remark(f'{one.name}: {said} ({one.on_violation})')}"


NOTHING_DECLARED = Declared()


def declared(
    session: Session,
    model: Model,
    invocation: Invocation,
    columns: tuple[Column, ...],
    shown: tuple[Column, ...],
) -> Declared:
    """Read the declarations; ``shown`` are the table's columns, ``columns`` those of a row.

    Raises ConfigurationError for a key or an expectation that does not fit the columns.
    """
    found = _expected(session, model, invocation, shown)
    stamps = {column.name.lower() for column in shown if column not in columns}
    said = Declared(
        model.name, _places(model, columns), found, model.config.deterministic_functions
    )
    for one in said.drops:
        _refuse_changing(model, one, stamps)
    return said


def _refuse_changing(model: Model, one: Prepared, stamps: Collection[str]) -> None:
    """Raise ConfigurationError for a condition whose value for a row may change later.

    A row that stays is not checked again.
    """
    tree = read_one(f"SELECT {one.condition}")
    clock = timing.contains_now(tree)
    clock = clock or any(column.name.lower() in stamps for column in tree.find_all(exp.Column))
    looked_at = "the clock" if clock else ""
    if not looked_at and any(tree.find_all(exp.Table)):
        looked_at = "other tables"
    names = {name.lower() for node in tree.find_all(exp.Func) for name in called(node)}
    if not looked_at and (chance := sorted(names & NONDETERMINISTIC)):
        looked_at = f"{chance[0]}()"
    if looked_at:
        raise ConfigurationError(
            f"{one.expectation.name}: on_violation: drop looks at {looked_at}: what it says of a"
            " row that stays may change unseen",
            where=model.file,
            hint="write the condition into the query, which follows such changes, or use warn",
        )


def _places(model: Model, columns: Sequence[Column]) -> tuple[int, ...]:
    names = [column.name.lower() for column in columns]
    wanted = config_of(model.config.own).unique_key
    for name in wanted:
        if name.lower() not in names:
            listed = [column.name for column in columns]
            raise ConfigurationError(
                f"unique_key: there is no column {name}",
                where=model.file,
                hint=f"{near(name, listed)}Columns are: {', '.join(listed)}",
            )
    return tuple(dict.fromkeys(names.index(name.lower()) for name in wanted))


def _expected(
    session: Session, model: Model, invocation: Invocation, columns: tuple[Column, ...]
) -> tuple[Prepared, ...]:
    if not model.config.expectations:
        return ()
    listed = ", ".join(f"CAST(NULL AS {sql_type(c.type)}) AS {identifier(c.name)}" for c in columns)
    of = Expected(f"SELECT {listed} WHERE false", model.name, [c.name for c in columns], model.file)
    return prepare(session, model.config.expectations, of, recall=invocation.recall)
