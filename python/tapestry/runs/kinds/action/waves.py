"""Batches of a round that one statement executes: a wave has no two of one key.

    X       the transaction of a wave: whoever executes it, it lands once
    closed  where it fails, X is spent on a commit that changes nothing; then its batches are
            executed one by one, and nobody can execute the wave any more

The log of the table tells which of the two commits has the transaction X: so a process that was
slow, or took a landed commit for a failed one, never executes a batch both ways.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from tapestry.errors import ConfigurationError, TargetChanged
from tapestry.quoting import Sql, identifier, relation_name, string
from tapestry.runs.engine.column_types import columns_of_table
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.action.config import ActionConfig, config_of
from tapestry.runs.kinds.action.python_text import returned_to
from tapestry.runs.kinds.action.rules_read import RuleRead, key_of
from tapestry.runs.kinds.action.statement import ActionStatement, no_rows
from tapestry.runs.kinds.action.together import NotTogetherError, OneStatement, Unit, together_of
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.standing_rules import BoundTable
from tapestry.runs.tables.action_batch import ActionBatch, Cut
from tapestry.runs.tables.bound_rows import FIRING, SHOWN
from tapestry.runs.tables.target import FIRST_LOOK, MANY, commit_notes, look

_SAME = "r._tap_key = c.key AND "
_CUTS = "array<struct<key: string, after: bigint, until: bigint>>"


def in_waves(batches: Sequence[ActionBatch], max_depth: int) -> list[ActionBatch]:
    """Return the batches of a round, each with its wave: its number among those of its key.

    A wave of a single batch is none; nor has a batch a wave that is not to be executed.
    """
    before: Counter[str | None] = Counter()
    found = []
    for one in batches:
        before[one.key] += one.key is not None
        wave = max(before[one.key], 1) if one.depth <= max_depth else 0
        found.append(replace(one, wave=wave))
    size = Counter(one.wave for one in found)
    return [one if size[one.wave] > 1 else replace(one, wave=0) for one in found]


def together_now(
    session: Session,
    model: Model,
    rules: Sequence[RuleRead],
    parts: Sequence[ActionStatement],
) -> OneStatement:
    """Return the decision for an action's present rules and tables; raise NotTogetherError."""
    config = config_of(model.config.own)
    if not parts:
        return _function_together(model, config, rules)
    every = len(config.unique_on)
    split = {
        name: {len(rule.bound[name].has(config.unique_on)) == every for rule in rules}
        for name in rules[0].bound
    }
    whole = [name for name, found in split.items() if found == {True}]
    unit = Unit(whole, tuple(split), config.unique_on, not config.unique_on and not config.unique)
    found = together_of(parts, unit)
    refuse_tables(session, found, rules)
    return found


def together_or_not(
    session: Session, model: Model, rules: Sequence[RuleRead], parts: Sequence[ActionStatement]
) -> OneStatement | None:
    """Return how one statement executes many batches of an action; None: it does not.

    Raises ConfigurationError where the author demands it, and the result would differ.
    """
    config = config_of(model.config.own)
    if config.together == "false" or config.unique:
        return None
    try:
        return together_now(session, model, rules, parts)
    except NotTogetherError as reason:
        if config.together == "auto":
            return None
        raise ConfigurationError(
            "together: true, but many batches in one statement could give another result than one"
            f" by one: {reason}",
            where=model.file,
            hint="leave it at auto, which executes the batches of this action one by one",
        ) from None


def _function_together(
    model: Model, config: ActionConfig, rules: Sequence[RuleRead]
) -> OneStatement:
    """Decide of a function in Python, of which only its author can know."""
    if not config.separable:
        raise NotTogetherError("it is a function in Python that is not said to be separable")
    tables = returned_to(model, config.writes)
    if len(tables) != 1:
        raise NotTogetherError("writes: does not name the one table that takes its rows")
    every = len(config.unique_on)
    for rule in rules:
        for name, table in rule.bound.items():
            if len(table.has(config.unique_on)) < every:
                raise NotTogetherError(f"{name} goes whole to each batch of a firing")
    return OneStatement(tables[0], "")


def refuse_tables(session: Session, found: OneStatement, rules: Sequence[RuleRead]) -> None:
    """Raise NotTogetherError where the tables of a statement contradict the decision.

    Keys that differ might be equal once they have the type of the target's column; a view might
    show rows that an earlier batch has written.
    """
    for name in found.others:
        try:
            if look(session, name) is None:
                raise NotTogetherError(f"it reads {name}, which is no table")
        except TargetChanged:
            continue  # a table of another format
    there = columns_of_table(session, found.target) if found.equal else ()
    kinds = {name.lower(): kind for name, kind in there}
    for rule in rules:
        table = next(one for name, one in rule.bound.items() if name.lower() == found.bound)
        bound = {name.lower(): kind for name, kind in table.columns}
        for column, key in found.equal:
            if kinds.get(column) != bound.get(key):
                raise NotTogetherError(
                    f"{column} of {found.target} is {kinds.get(column)}, and {key} of"
                    f" {table.name} {bound.get(key)}"
                )


def rows_of_wave(
    batches: Sequence[ActionBatch], rules: Sequence[RuleRead], config: ActionConfig, name: str
) -> Sql:
    """Return a SELECT of the rows of several batches in a bound table that is split."""
    parts = []
    for rule in rules:
        table = _bound_as(rule, name)
        cuts = [(one, one.cut[rule.relation]) for one in batches if rule.relation in one.cut]
        for run in dict.fromkeys((cut.generation, cut.n, cut.failed) for _, cut in cuts):
            of_run = [one for one in cuts if (one[1].generation, one[1].n, one[1].failed) == run]
            parts.append(_within(table, rule, config, of_run))
    return Sql(" UNION ALL ".join(parts)) if parts else no_rows(_bound_as(rules[0], name))


def _bound_as(rule: RuleRead, name: str) -> BoundTable:
    return next(one for called, one in rule.bound.items() if called.lower() == name.lower())


def _within(
    table: BoundTable, rule: RuleRead, config: ActionConfig, cuts: Sequence[tuple[ActionBatch, Cut]]
) -> str:
    first = cuts[0][1]
    after, until = min(cut.after for _, cut in cuts), max(cut.until for _, cut in cuts)
    whole = table.within(replace(first, after=after, until=until), rule.unheld())
    listed = [{"key": _hex(one.key), "after": cut.after, "until": cut.until} for one, cut in cuts]
    names = ", ".join([*(identifier(column) for column, _ in table.columns), *SHOWN])
    keyed, same = "", ""
    if config.unique_on:
        keyed, same = f", hex({key_of(table, config.unique_on)}) AS _tap_key", _SAME
    return (
        f"SELECT {names} FROM (SELECT *{keyed} FROM {whole}) AS r LEFT SEMI JOIN"
        f" (SELECT inline(from_json({string(json.dumps(listed))}, {string(_CUTS)}))) AS c"
        f" ON {same}r.{FIRING} > c.after AND r.{FIRING} <= c.until"
    )


def _hex(key: str | None) -> str:
    """Return a key as text without quotes, each of which would lengthen the literal of all keys."""
    return "" if key is None else key.encode("utf-8").hex().upper()


def closing_statement(target: str) -> Sql:
    """Return a statement that changes no row of a table, and yet is a commit."""
    return Sql(
        f"MERGE INTO {relation_name(target)} USING (SELECT 1 AS one) AS nothing ON false"
        " WHEN MATCHED THEN DELETE"
    )


def landed(session: Session, target: str, batch: str) -> bool:
    """Return whether the commit of a wave is its own; false: it was closed.

    ``batch`` is the batch in its note. A commit that is no longer in the log has landed: nobody
    closes a wave later.
    """
    for most in (FIRST_LOOK, MANY):
        for _, said in commit_notes(session, target, most):
            if said.get("batch") == batch:
                return not said.get("closed")
    return True
