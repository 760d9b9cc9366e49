"""The author's SQL of an action, with the rows of one batch in it.

    merge into t using (select … from matches …) …
    WITH matches AS (the rows of the batch) merge into t using (select … from matches …) …

The bound tables are CTEs of each statement: no other session ever sees the rows of a batch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.errors import SqlglotError

from tapestry.errors import ActionFailed, ConfigurationError
from tapestry.quoting import Sql, identifier, string
from tapestry.runs.engine.column_types import sql_type
from tapestry.runs.kinds.action.config import ActionConfig
from tapestry.runs.kinds.action.rules_read import RuleRead, key_of
from tapestry.runs.kinds.action.statement_target import target_of
from tapestry.runs.protocol.standing_rules import BoundTable
from tapestry.runs.tables.action_batch import ActionBatch
from tapestry.runs.tables.bound_rows import FIRING, SHOWN
from tapestry.sql.read.parse import is_cte, table_name

_SAID = re.compile(r"'\{tapestry\.batch:([^']*)\}'")
"""The text that the macro `batch` renders."""
_KEY = "key."


def batch_mark(name: str) -> str:
    """Render the macro `batch`: a literal in whose place a value of the batch is put.

    >>> batch_mark("key.comp")
    "'{tapestry.batch:key.comp}'"
    """
    return f"'{{tapestry.batch:{str(name).replace(chr(39), '')}}}'"


@dataclass(frozen=True)
class ActionStatement:
    """One statement of an action: where its text begins, and whether it has its own WITH."""

    text: str
    with_: bool

    @property
    def whole(self) -> str:
        """The statement from its first word on, with its own WITH."""
        return f"with {self.text}" if self.with_ else self.text


def statements_in(sql: str, where: str = "") -> tuple[ActionStatement, ...]:
    """Return the statements of a text, without the comments before them.

    Raises ConfigurationError for a text without any, or that cannot be read.
    """
    try:
        tokens = sqlglot.tokenize(sql, read="spark")
    except SqlglotError as error:
        raise ConfigurationError(
            f"the action's SQL cannot be read: {str(error).splitlines()[0]}",
            where=where,
            hint="is a quote or a comment left open?",
        ) from error
    found: list[list[Token]] = []
    current: list[Token] = []
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            found.append(current)
            current = []
        else:
            current.append(token)
    found.append(current)
    parts = []
    for group in found:
        if not group:
            continue
        has_with = group[0].token_type == TokenType.WITH
        first = group[1] if has_with and len(group) > 1 else group[0]
        parts.append(ActionStatement(sql[first.start : group[-1].end + 1], has_with))
    if not parts:
        raise ConfigurationError(
            "the action does nothing: its text has no statement",
            where=where,
            hint="write an INSERT or a MERGE that reads the rows bound by its rule",
        )
    return tuple(parts)


def written_tables(sql: str) -> tuple[str, ...]:
    """Return the tables that the statements of a text write, as far as they can be told."""
    try:
        parts = statements_in(sql)
    except ConfigurationError:
        return ()
    found = (target_of(part.whole) for part in parts)
    return tuple(dict.fromkeys(name for name in found if name is not None))


def tables_read(sql: str, bound: Collection[str]) -> tuple[str, ...] | None:
    """Return the tables that a text's statements read, without written and given ones.

    None: they cannot be told.
    """
    try:
        trees = [tree for tree in sqlglot.parse(sql, read="spark") if tree is not None]
    except SqlglotError:
        return None
    given = {name.lower() for name in bound} | set(written_tables(sql))
    read = [table for tree in trees for table in tree.find_all(exp.Table)]
    names = (table_name(one) for one in read if not is_cte(one))
    return tuple(sorted({name for name in names if name not in given}))


def bound_names(rules: Sequence[RuleRead]) -> dict[str, None]:
    """Return the names of the bound tables, in order."""
    return dict.fromkeys(name for rule in rules for name in rule.bound)


def bound_rows(
    batch: ActionBatch, rules: Sequence[RuleRead], config: ActionConfig, name: str
) -> Sql:
    """Return a SELECT of the rows of a batch in a bound table."""
    parts = []
    for rule in rules:
        table, cut = rule.bound[name], batch.cut.get(rule.relation)
        if cut is None:
            continue
        parts.append(table.rows(cut, rule.unheld() + _of_key(batch, rule, config, table)))
    return Sql(" UNION ALL ".join(parts)) if parts else no_rows(rules[0].bound[name])


def refuse_gone(rules: Sequence[RuleRead], batch: ActionBatch) -> None:
    """Raise ActionFailed where the rows of a batch were removed with the former table of a rule."""
    there = {rule.relation: rule.generation for rule in rules}
    for relation, cut in batch.cut.items():
        if there.get(relation) != cut.generation:
            raise ActionFailed(
                f"{relation} was built again: the rows of this batch went with its table",
                hint="nothing is left to be done: drop the batch",
            )


def no_rows(table: BoundTable) -> Sql:
    """A SELECT of a bound table's columns, without a row."""
    nothing = [
        f"CAST(NULL AS {sql_type(kind)}) AS {identifier(one)}" for one, kind in table.columns
    ]
    kinds = ("timestamp", "bigint", "bigint")
    nothing += [f"CAST(NULL AS {kind}) AS {one}" for one, kind in zip(SHOWN, kinds, strict=True)]
    return Sql(f"SELECT {', '.join(nothing)} FROM range(0)")


def _of_key(batch: ActionBatch, rule: RuleRead, config: ActionConfig, table: BoundTable) -> str:
    """Return the condition, behind AND, that a row belongs to a batch of `unique_on`.

    A table without the columns goes whole to each batch of a firing: those of the firings that
    have the key in a table with them.
    """
    if not config.unique_on:
        return ""
    key = string(batch.key or "")

    def holds(one: BoundTable) -> str:
        return f" AND {key_of(one, config.unique_on)} = {key}"

    every = len(config.unique_on)
    split = [one for one in rule.bound.values() if len(one.has(config.unique_on)) == every]
    if table in split:
        return holds(table)
    cut = batch.cut[rule.relation]
    firings = " UNION ".join(
        f"SELECT {FIRING} FROM {one.within(cut, rule.unheld() + holds(one))}" for one in split
    )
    return f" AND {FIRING} IN ({firings})"


def with_rows(
    part: ActionStatement, rows: Mapping[str, Sql], said: Mapping[str, str | None]
) -> Sql:
    """Return a statement over the rows of a batch; ``said`` has the macro `batch`'s values."""

    def literal(found: re.Match[str]) -> str:
        value = said.get(found[1].lower())
        return "CAST(NULL AS STRING)" if value is None else string(value)

    text = Sql(_SAID.sub(literal, part.text))
    listed = ",\n".join(f"{identifier(name)} AS (\n{select}\n)" for name, select in rows.items())
    return Sql(f"WITH {listed}{',' if part.with_ else ''}\n{text}")


def said_of(
    batch: ActionBatch, config: ActionConfig, idempotency_key: str
) -> dict[str, str | None]:
    """Return the values that `batch('…')` stands for in a batch."""
    found: dict[str, str | None] = {
        "idempotency_key": idempotency_key,
        "release": batch.release.isoformat(),
        "attempt": str(batch.event.attempt),
    }
    values = json.loads(batch.key) if batch.key and config.unique_on else []
    for name, value in zip(config.unique_on, values, strict=False):
        found[_KEY + name.lower()] = value
    return found


def names_said(sql: str) -> list[str]:
    """Return the names that a text gives to the macro `batch`."""
    return [name.lower() for name in _SAID.findall(sql)]
