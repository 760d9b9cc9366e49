"""Reads the rules of an action as they stand: which of their rows count, and their columns."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from tapestry.errors import (
    BaselineGap,
    BoundTablesDiffer,
    ConfigurationError,
    StateMissing,
    UniqueColumnMissing,
)
from tapestry.quoting import identifier
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.action.config import AUTO, BLOCK, ActionConfig
from tapestry.runs.model.model import Model
from tapestry.runs.model.triggers import triggers_of
from tapestry.runs.protocol.rule_gaps import gap_above, lacks_a_gap
from tapestry.runs.protocol.standing_rules import (
    BoundTable,
    RuleStanding,
    bound_tables,
    landed_run,
)
from tapestry.runs.sources.transactions import has_order
from tapestry.runs.tables.bound_rows import (
    AFTER,
    COMMIT_VERSION,
    START,
    TABLE,
    key_text,
    makes_key,
)
from tapestry.runs.tables.target import generation_of, look

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RuleRead(RuleStanding):
    """A rule as an action reads it.

    after
        How long a firing waits.
    start
        The commit after which the rule began to look at its table.
    position
        The version of its table up to which it has looked.
    baseline
        The commit up to which some table that the action writes holds its firings already;
        ``least``: up to which all of them do.
    derived
        One of these tables is a derived one.
    """

    after: timedelta
    start: int = -1
    position: int = -1
    baseline: int = -1
    least: int = -1
    derived: bool = False

    def unheld(self, version: str = COMMIT_VERSION) -> str:
        """Return the condition, with AND, that no written table holds a firing of a commit yet."""
        return f" AND {version} > {self.baseline:d}"


def rules_that_ran(session: Session, model: Model, invocation: Invocation) -> list[RuleRead]:
    """Return those rules of an action that have run; raises what ``read_rules`` raises."""
    read = (_read(session, model, invocation, relation) for relation in triggers_of(model))
    return [one for one in read if one is not None]


def read_rules(
    session: Session,
    model: Model,
    invocation: Invocation,
    written: Sequence[str] = (),
) -> list[RuleRead] | None:
    """Return the rules of an action; None where one of them has not run yet.

    ``written`` are the tables that the action writes.

    Raises ConfigurationError for a relation that is no rule's, StateMissing for one whose state is
    gone, BoundTablesDiffer where two of them bind something else.
    """
    found = rules_that_ran(session, model, invocation)
    if len(found) < len(triggers_of(model)):
        return None
    _refuse_different(model, found)
    return [_above_baselines(session, model, invocation, one, written) for one in found]


def _above_baselines(
    session: Session,
    model: Model,
    invocation: Invocation,
    rule: RuleRead,
    written: Sequence[str],
) -> RuleRead:
    """Return the rule, with the last commit that derived tables among those written hold.

    Raises BaselineGap where the rule has not looked at all commits after it.
    """
    for name in written:
        generation = generation_of(session, name, "derived")
        if generation is None:
            continue
        rule = replace(rule, derived=True)
        row = invocation.states.of(session, generation)
        pin = None if row is None else row.after.pins.get(rule.table)
        if row is None or pin is None:
            continue
        if pin.version < rule.start and not gap_above(session, invocation, [rule.relation], row):
            raise BaselineGap(
                f"{name} was built from version {pin.version} of {rule.table}, and {rule.relation}"
                f" looks at the commits after version {rule.start}",
                where=model.file,
                hint=f"build {name} anew: --full-refresh; or the rule, with begin:"
                f" {pin.version + 1}",
            )
        least = pin.version if rule.least < 0 else min(rule.least, pin.version)
        rule = replace(rule, baseline=max(rule.baseline, pin.version), least=least)
    return rule


def held_up(
    session: Session,
    model: Model,
    invocation: Invocation,
    rules: Sequence[RuleRead],
    written: Sequence[str],
) -> bool:
    """Return whether a written table has to be built again first, as a rule left commits out."""
    if not any(rule.derived for rule in rules):
        return False
    found = lacks_a_gap(session, invocation, [rule.relation for rule in rules], written)
    if found is not None:
        logger.warning("%s waits until %s is built again: %s", model.name, *found)
    return found is not None


def _read(session: Session, model: Model, invocation: Invocation, relation: str) -> RuleRead | None:
    target = look(session, relation)
    if target is None:
        return None
    if target.generation is None or target.kind != "rule":
        raise ConfigurationError(
            f"{model.name} is triggered by {relation}, which is no rule",
            where=model.file,
            hint="write a rule over that table (materialized='rule'), and name the rule here",
        )
    row = invocation.states.of(session, target.generation)
    if row is None:
        raise StateMissing(
            f"{invocation.state_table} knows nothing of the rule {relation}",
            where=model.file,
            hint="bring the state table back, or run the rule with --full-refresh",
        )
    n = min(row.n, landed_run(session, relation, row.generation))
    position = row.after if n == row.n or row.before is None else row.before
    after = timedelta(microseconds=int(position.own.get(AFTER, 0)))
    bound = bound_tables(session, relation, position.own)
    table, start = str(position.own.get(TABLE, "")), int(position.own.get(START, -1))
    pin = position.pins.get(table)
    looked = -1 if pin is None else pin.version
    return RuleRead(relation, row.generation, n, row.failed, table, bound, after, start, looked)


def _refuse_different(model: Model, rules: Sequence[RuleRead]) -> None:
    first, *others = rules
    for other in others:
        for name in dict.fromkeys([*first.bound, *other.bound]):
            one, two = first.bound.get(name), other.bound.get(name)
            if one is not None and two is not None and one.columns == two.columns:
                continue
            raise BoundTablesDiffer(
                f"the rules of {model.name} bind different tables: {name} of {first.relation} is"
                f" {_told(one)}, of {other.relation} {_told(two)}",
                where=model.file,
                hint="let their queries have the same names, columns and types (bind_as, CAST)",
            )


def _told(table: BoundTable | None) -> str:
    if table is None:
        return "not bound"
    return ", ".join(f"{name} {kind}" for name, kind in table.columns)


def blocks_key(config: ActionConfig, rules: Sequence[RuleRead]) -> bool:
    """Return whether the rows of a key wait behind a dead batch.

    By default they do if the action writes a derived table: the sums of a batch are wrong for ever
    without those before it.
    """
    return config.on_dead == BLOCK or (
        config.on_dead == AUTO and any(rule.derived for rule in rules)
    )


def has_columns(rule: RuleRead, unique_on: Sequence[str]) -> bool:
    """Return whether the bound rows of a rule are split by these columns."""
    has = {len(table.has(unique_on)) for table in rule.bound.values()}
    return len(unique_on) in has and has <= {0, len(unique_on)}


def split_by(model: Model, rule: RuleRead, unique_on: Sequence[str]) -> list[BoundTable]:
    """Return the bound tables whose rows are split by the columns of `unique_on`.

    Raises UniqueColumnMissing for a table that has some of them only, or where none has them.
    """
    split = []
    for table in rule.bound.values():
        has = table.has(unique_on)
        if len(has) == len(unique_on):
            split.append(table)
        elif has:
            raise _missing(model, f"{table.name} of {rule.relation}", unique_on, has)
    if not split:
        raise _missing(model, f"no bound table of {rule.relation}", unique_on, [])
    for table in split:
        kinds = dict(table.columns)
        odd = [name for name in table.has(unique_on) if not makes_key(kinds[name])]
        if odd:
            raise ConfigurationError(
                f"unique_on: {odd[0]} of {rule.relation} is {kinds[odd[0]]}, whose values do not"
                " tell batches apart",
                where=model.file,
                hint="select what does as a column of its own in the rule's query: a field of a"
                " struct, to_json(…) of an array",
            )
    return split


def _missing(
    model: Model, where: str, unique_on: Sequence[str], has: Sequence[str]
) -> UniqueColumnMissing:
    lacks = [one for one in unique_on if one.lower() not in {name.lower() for name in has}]
    told = f"{where} lacks {', '.join(lacks)}" if has else f"{where} has {', '.join(unique_on)}"
    return UniqueColumnMissing(
        f"unique_on: {told}",
        where=model.file,
        hint="select the columns in the rule's query, all of them or none in a table that is to go"
        " whole into each batch",
    )


def key_of(table: BoundTable, unique_on: Sequence[str]) -> str:
    """Return SQL for the values that tell the batch of a row, as JSON text."""
    return key_text(dict(table.columns), table.has(unique_on))


def key_values(table: BoundTable, split: Sequence[BoundTable], unique_on: Sequence[str]) -> str:
    """Return SQL for the same values as a struct that has their order, NULL first.

    It has one type in all tables ``split``: values of different types, or without order, are text.
    """
    kinds = [dict(one.columns) for one in split]
    alike = [
        {of[name] for of, one in zip(kinds, split, strict=True) for name in one.has([column])}
        for column in unique_on
    ]
    values = [
        identifier(name)
        if len(types) == 1 and has_order(next(iter(types)))
        else f"CAST({identifier(name)} AS STRING)"
        for name, types in zip(table.has(unique_on), alike, strict=True)
    ]
    return f"struct({', '.join(f'{value} AS v{place}' for place, value in enumerate(values))})"
