"""A case of the reference interpreter, done by the product; and what both have to agree in.

The log files of the tables get the times that the case says, so that nobody waits. Versions and
times are then read from the history of each table, and shown to the interpreter with the changes
that the case itself has made.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from tests.rules.case import BEFORE, Act, Case, Do, Look, at_instants
from tests.rules.definitions import Action, ActionRun, At, Commit, Key, Row, RuleRun, Step
from tests.rules.definitions import inserted as all_inserted
from tests.rules.firing import Evaluator
from tests.rules.interpreter import Interpreter
from tests.rules.queues import Batch
from tests.spark.rule_world import FEED, Rules

from tapestry.errors import ActionFailed
from tapestry.instants import now_utc
from tapestry.runs.context.clock import Clock
from tapestry.runs.kinds.action.statement import batch_mark
from tapestry.runs.kinds.registry import execute, prepare
from tapestry.runs.model.model import Model

LOG = "create table {s}.log (run int, batch string, bound string, row string, version bigint)"
Texts = tuple[str | None, ...]
TIES = timedelta(milliseconds=100)


@dataclass(frozen=True)
class Executed:
    """A batch in a form that can be compared: its rows as texts, each with its commit."""

    run: int
    key: Texts | None
    rows: frozenset[tuple[tuple[str, Texts, int], int]]


@dataclass
class World(Rules):
    """The tables of a case; ``versions`` has, by step, the version that a statement has made."""

    begin: datetime = field(default_factory=lambda: now_utc().replace(microsecond=0))
    versions: dict[int, int] = field(default_factory=dict)
    acted: int = 0

    def at(self, seconds: float) -> datetime:
        """The instant so many seconds after the beginning: three hours ago."""
        return self.begin - timedelta(hours=3) + timedelta(seconds=seconds)

    def perform(self, case: Case) -> None:
        """Do all steps."""
        self.do(f"{LOG} using delta")
        for name, table in case.tables.items():
            listed = ", ".join(f"{column} {kind}" for column, kind in table.columns.items())
            made = f"create table {{s}}.{name} ({listed}) using delta {FEED}"
            if table.rows:
                casts = ", ".join(
                    f"cast({c} as {kind}) as {c}" for c, kind in table.columns.items()
                )
                made = (
                    f"create table {{s}}.{name} using delta {FEED} as select {casts} from"
                    f" {values(table.rows, self.at(0))} as x({', '.join(table.columns)})"
                )
            self.do(made)
            self.made(name, -1, self.at(-BEFORE))
        for place, step in enumerate(case.steps):
            if isinstance(step, Do):
                self.change(place, step)
            elif isinstance(step, Look):
                self.run_at(self.rule_of(case, step.rule), step.at)
            else:
                self.act(case, step)

    def change(self, place: int, step: Do) -> None:
        """Execute a statement; its version, if it made one, gets the time of the step."""
        rows = tuple(one.new for one in step.changes if one.new is not None)
        before = self.newest(step.table)
        self.do(step.sql or f"insert into {{s}}.{step.table} {values(rows, self.at(0))}")
        self.made(step.table, before, self.at(step.at))
        if self.newest(step.table) > before:
            self.versions[place] = self.newest(step.table)

    def log_of(self, table: str) -> Path:
        """The folder of a table's log."""
        detail = self.rows(f"describe detail {{s}}.{table}")
        return Path(detail[0][4].removeprefix("file:")) / "_delta_log"

    def newest(self, table: str) -> int:
        """The newest version of a table."""
        return max(int(path.stem) for path in self.log_of(table).glob("*.json"))

    def made(self, table: str, before: int, at: datetime) -> None:
        """Let the versions after one have been made at an instant."""
        for path in self.log_of(table).glob("*.json"):
            if int(path.stem) > before:
                os.utime(path, (at.timestamp(), at.timestamp()))

    def run_at(self, model: Model, seconds: float) -> None:
        """Run a model at t."""
        invocation = self.invoked(Clock(self.at(seconds), True))
        self.invocations.append(invocation)
        execute(self.session, prepare(self.session, model, invocation, False), invocation)

    def rule_of(self, case: Case, name: str) -> Model:
        """The model of a rule."""
        rule = case.program.rule(name)
        with_ = ", ".join(f"{cte} as ({sql})" for cte, sql in rule.ctes.items())
        config: dict[str, Any] = {
            "when": list(rule.when),
            "evaluate": list(rule.evaluate),
            "after": f"{rule.after.total_seconds():g} seconds",
            "begin": rule.begin,
        }
        if "id" in case.tables[rule.on].columns:
            config["key"] = "id"
        if rule.changes != "cdf":
            config["changes"] = rule.changes
        if rule.on_overwrite != "diff":
            config["on_overwrite"] = rule.on_overwrite
        if (log := rule.log) is not None:
            config |= {"changes": "log", "transaction": log.transaction, "commit_time": log.time}
            config |= {"order": log.order, "key": log.key, "op": log.op, "before": log.before}
            config = {name: value for name, value in config.items() if value}
        if rule.conditions is not None:
            config["if"] = list(rule.conditions)
        if rule.bind_as is not None:
            config["bind_as"] = rule.bind_as
        text = f"with {with_} {rule.body}" if with_ else rule.body
        return self.rule(name, text, rule.on, **config)

    def act(self, case: Case, step: Act) -> None:
        """A run of an action."""
        action = next(one for one in case.actions if one.name == step.action)
        text = statement(case, action, self.acted, step.failing)
        self.acted += 1
        model = self.action(
            action.name, text, *action.rules, unique=action.unique, attempts=action.attempts,
            unique_on=list(action.unique_on), max_batches=action.max_batches,
            backoff=f"{action.backoff.total_seconds():g} seconds", on_dead=action.on_dead,
            batching=action.batching,
        )  # fmt: skip
        try:
            self.run_at(model, step.at)
        except ActionFailed:
            assert step.failing or action.on_dead == "block"

    def executed(self) -> Counter[Executed]:
        """The batches that have been executed, as they have written themselves down."""
        keys: dict[tuple[int, str], Texts | None] = {}
        rows: dict[tuple[int, str], Counter[tuple[str, Texts, int]]] = {}
        for run, batch, bound, row, version in self.rows("select * from {s}.log"):
            texts = None if row is None else tuple(plain(one) for one in json.loads(row))
            if bound == "":
                assert (run, batch) not in keys
                keys[run, batch] = texts
            else:
                rows.setdefault((run, batch), Counter())[bound, texts or (), version] += 1
        assert rows.keys() <= keys.keys()
        return Counter(
            Executed(place[0], key, frozenset(rows.get(place, Counter()).items()))
            for place, key in keys.items()
        )

    def history(self, case: Case) -> list[Step]:
        """The steps for the interpreter: versions and times are those of Delta's own history."""
        times = {name: self.times(name) for name in case.tables}
        found: list[Step] = [
            Commit(
                name, 0, times[name][0], at_instants(all_inserted(*table.rows), naive(self.at(0)))
            )
            for name, table in case.tables.items()
        ]
        for place, step in enumerate(case.steps):
            at = naive(self.at(step.at))
            if isinstance(step, Look):
                found.append(RuleRun(step.rule, at))
            elif isinstance(step, Act):
                found.append(ActionRun(step.action, at, step.failing))
            elif place in self.versions:
                version = self.versions[place]
                made = times[step.table][version]
                assert at <= made <= at + TIES  # Delta moves a tie on
                changes = at_instants(step.changes, naive(self.at(0)))
                found.append(Commit(step.table, version, made, changes, step.overwrites))
            else:
                assert not step.changes
        return found

    def times(self, table: str) -> dict[int, datetime]:
        """When each version of a table was made."""
        rows = self.rows(f"describe history {{s}}.{table}")
        return {int(row[0]): naive(row[1]) for row in rows}


def statement(case: Case, action: Action, run: int, failing: frozenset[Key]) -> str:
    """An action that writes down the rows of its batch; told to, it fails for some keys."""
    batch = batch_mark("idempotency_key")
    key = "cast(null as string)"
    if action.unique or action.unique_on:
        marks = (batch_mark(f"key.{name}") for name in action.unique_on)
        key = f"to_json(cast(array({', '.join(marks)}) as array<string>))"
    if failing:
        listed = ", ".join(f"'{as_json(one)}'" for one in failing)
        key = f"if({key} in ({listed}), raise_error('it was told to fail'), {key})"
    selects = [f"select {run}, {batch}, '', {key}, 0L"]
    rule = case.program.rule(action.rules[0])
    for name, columns in Evaluator(case.program).columns(rule).items():
        casts = ", ".join(f"cast({column} as string)" for column in columns)
        row = f"to_json(array({casts}))"
        selects.append(f"select {run}, {batch}, '{name}', {row}, _commit_version from {name}")
    return f"insert into {{s}}.log {' union all '.join(selects)}"


def interpreted(run: int, batch: Batch) -> Executed:
    """A batch of the interpreter in the form of one that was executed."""
    found: Counter[tuple[str, Texts, int]] = Counter()
    for part in batch.parts:
        for name, rows in part.rows.items():
            for row in rows:
                found[name, texts_of(row), part.firing.commit.version] += 1
    return Executed(run, None if batch.key is None else texts_of(batch.key),
                    frozenset(found.items()))  # fmt: skip


def agree(world: World, case: Case) -> Interpreter:
    """The product has done what the interpreter does: firings, and batches of each run."""
    interpreter = Interpreter(case.program)
    runs = interpreter.read(world.history(case))
    schema = world.schema
    fired = world.rows("select rule, commit_version from {s}.tapestry_firings")
    assert Counter(
        (rule.removeprefix(f"{schema}."), version) for rule, version in fired
    ) == Counter((one.rule.name, one.commit.version) for one in interpreter.firings), case
    expected = Counter(interpreted(run, one) for run, found in enumerate(runs) for one in found)
    executed = world.executed()
    assert executed == expected, (
        f"{case}\nnot done: {expected - executed}\ntoo much: {executed - expected}"
    )
    return interpreter


def agree_in_numbers(world: World, case: Case) -> None:
    """What is told of each batch: its key, how many firings, how many rows of all its tables."""
    runs = Interpreter(case.program).read(world.history(case))
    batches = [one for found in runs for one in found]
    told = world.rows("select key, firings, rows from {s}.tapestry_batches where event = 'done'")
    assert Counter((plain_key(key), firings, rows) for key, firings, rows in told) == Counter(
        (
            None if one.key is None else texts_of(one.key),
            len(one.firings),
            sum(bag.total() for bag in one.rows.values()),
        )
        for one in batches
    ), case


def all_in_one_place(world: World, case: Case, interpreter: Interpreter) -> None:
    """Each row that stands in the tables of the rules was in exactly one batch of each of their
    actions, or still waits there."""
    acts = [step.action for step in case.steps if isinstance(step, Act)]
    for action in case.actions:
        found: Counter[tuple[str, Texts, int]] = Counter()
        for one in world.executed().elements():
            if acts[one.run] == action.name:
                found.update(dict(one.rows))
        for part in interpreter.queues[action.name].waiting:
            for name, rows in part.rows.items():
                version = part.firing.commit.version
                found.update((name, texts_of(row), version) for row in rows)
        fired: Counter[tuple[str, Texts, int]] = Counter()
        for rule in map(case.program.rule, action.rules):
            for name, columns in interpreter.evaluator.columns(rule).items():
                beside = "" if name == rule.own_name else f"__{name}"
                for *row, version in world.rows(
                    f"select {', '.join(columns)}, _commit_version from {{s}}.{rule.name}{beside}"
                ):
                    fired[name, texts_of(tuple(row)), version] += 1
        assert found == fired, case


def values(rows: tuple[Row, ...], begin: datetime) -> str:
    """VALUES with these rows."""
    told = [", ".join(literal(value, begin) for value in row) for row in rows]
    return "values " + ", ".join(f"({row})" for row in told)


def literal(value: Any, begin: datetime) -> str:
    """A value as SQL."""
    if isinstance(value, At):
        return f"timestamp'{begin + timedelta(seconds=value.seconds)}'"
    if value is None:
        return "null"
    if isinstance(value, float):
        return f"double('{value}')"
    return f"'{value}'" if isinstance(value, str) else str(value)


def texts_of(row: Row) -> Texts:
    """Values as Spark writes them."""
    return tuple(None if one is None else plain(str(one)) for one in row)


def plain(text: str | None) -> str | None:
    """-0.0 is 0.0."""
    return "0.0" if text == "-0.0" else text


def plain_key(key: str | None) -> Texts | None:
    """The key of a batch as it is written down."""
    return None if key is None else tuple(plain(one) for one in json.loads(key))


def as_json(key: Key) -> str:
    """A key as Spark's to_json writes it."""
    return json.dumps([None if one is None else str(one) for one in key], separators=(",", ":"))


def naive(instant: datetime) -> datetime:
    """An instant in UTC, without a zone."""
    return instant.astimezone(timezone.utc).replace(tzinfo=None)
