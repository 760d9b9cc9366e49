"""A model's table without Spark: DuckDB behind the session's protocol, runs as plain inserts."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import duckdb
from tests.runs.state_rows import other

from tapestry.delivery.deliver import DeliveryOutcome, deliver
from tapestry.quoting import timestamp
from tapestry.runs.context.clock import Clock
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.registry import parse_config
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.standing import Standing
from tapestry.runs.sources.pins import Pin
from tapestry.runs.tables.run_identity import RunIdentity
from tapestry.runs.tables.state_row import Position, StateRow

BEGIN = datetime(2026, 1, 1, tzinfo=timezone.utc)
_TRANSACTION = re.compile(r" WITH \('txnAppId' = '([^']*)', 'txnVersion' = '(\d+)'\)")
_JSON = re.compile(r"to_json\(struct\(([^)]*)\), map\((?:[^()']|'(?:\\.|[^'\\])*')*\)\)")


def at(seconds: float) -> datetime:
    """The instant so many seconds after the beginning."""
    return BEGIN + timedelta(seconds=seconds)


class DuckSession(Session):
    """Spark's words in DuckDB's, and Delta's rule for transactions: a number lands once."""

    def __init__(self) -> None:
        self.connection = duckdb.connect()
        self.connection.execute("SET TimeZone = 'UTC'")
        self.transactions: dict[str, int] = {}
        self.texts: list[str] = []

    def run(self, sql: str) -> None:
        """Execute a statement, unless its transaction has landed."""
        self.texts.append(sql)
        found = _TRANSACTION.search(sql)
        if found is not None:
            if self.transactions.get(found[1], -1) >= int(found[2]):
                return
            sql = _TRANSACTION.sub("", sql)
        self._execute(sql)
        if found is not None:
            self.transactions[found[1]] = int(found[2])

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Execute a query."""
        return self._execute(sql).fetchall()

    def _execute(self, sql: str) -> Any:
        text = _JSON.sub(self._json, sql).replace("`", '"').replace("unix_micros(", "epoch_us(")
        text = re.sub(r" USING delta( COMMENT '[^']*')?( TBLPROPERTIES \([^)]*\))?", "", text)
        text = text.replace("DESCRIBE TABLE", "DESCRIBE").replace("current_timestamp()", "now()")
        text = re.sub(r"ADD COLUMNS \((\w+ \w+)\)", r"ADD COLUMN \1", text)
        try:
            return self.connection.execute(text)
        except duckdb.CatalogException as error:
            raise RuntimeError(f"TABLE_OR_VIEW_NOT_FOUND: {error}") from error
        except duckdb.BinderException as error:
            raise RuntimeError(f"UNRESOLVED_COLUMN: {error}") from error

    @staticmethod
    def _json(found: re.Match[str]) -> str:
        names = [name.strip().strip("`") for name in found[1].split(",")]
        return "to_json({" + ", ".join(f"'{name}': \"{name}\"" for name in names) + "})"


@dataclass
class World:
    """One model with sinks; ``run`` stands for a run of it, ``deliver`` for what comes after."""

    root: Path
    monkeypatch: Any
    sinks: Sequence[dict[str, Any]] = ()
    session: Any = field(default_factory=DuckSession)
    states: dict[str, list[StateRow]] = field(default_factory=dict)
    generation: str = ""

    def create(self, *sinks: dict[str, Any]) -> World:
        """The model's table after a first run to 10, with one answer."""
        self.sinks = sinks
        self.session.connection.execute("CREATE SCHEMA db")
        self.session.connection.execute(
            'CREATE TABLE db.model (id INT, who VARCHAR, "_matched_at" TIMESTAMP)'
        )
        self.monkeypatch.setattr(
            "tapestry.delivery.cursors.runs_of", lambda _s, _t, name: self.states.get(name, [])
        )
        self.monkeypatch.setattr(
            "tapestry.delivery.deliver.stand", lambda *_: Standing(None, self.states_now[-1])
        )
        self.build("g1", 10, (1, 5))
        return self

    @property
    def states_now(self) -> list[StateRow]:
        """The runs of the generation that is in force."""
        return self.states[self.generation]

    def insert(self, *answers: tuple[int, float]) -> None:
        """Answers with their first instants."""
        for i, second in answers:
            self.session.connection.execute(
                f"INSERT INTO db.model VALUES ({i}, 'w{i}', {timestamp(at(second))})"
            )

    def build(self, name: str, t: float, *answers: tuple[int, float], continues: str = "") -> None:
        """A first run, or a refresh: the table anew."""
        self.session.connection.execute("DELETE FROM db.model")
        self.insert(*answers)
        row = StateRow(
            RunIdentity("db.model", name, 1, f"{name}-1"),
            "continuous",
            Pin("", -1),
            None,
            Position(at(t), {}, ""),
            continues=continues,
        )
        self.states[name], self.generation = [row], name

    def run(self, t: float, *answers: tuple[int, float]) -> None:
        """The next run."""
        last = self.states_now[-1]
        self.insert(*answers)
        self.states_now.append(other(last, n=last.n + 1, tau=last.after.t, t=at(t)))

    def rewind(self, name: str, t: float) -> None:
        """Forget what came after t."""
        self.session.connection.execute(
            f'DELETE FROM db.model WHERE "_matched_at" > {timestamp(at(t))}'
        )
        last = self.states_now[-1]
        row = other(last, generation=name, n=1, tau=None, t=at(t), continues=self.generation)
        self.states[name], self.generation = [row], name

    def model(self) -> Model:
        """The model with its sinks."""
        config = parse_config("continuous", {"deliver": list(self.sinks)})
        return Model("model", "db.model", "", config, file="models/model.sql")

    def deliver(self, only: Sequence[str] = ()) -> list[DeliveryOutcome]:
        """What an invocation does at its end."""
        invocation = Invocation("test", Clock(at(0)), "db.tapestry_state")
        return deliver(self.session, invocation, [self.model()], self.root, only)

    def one(self) -> DeliveryOutcome:
        """The same where there is one sink."""
        (outcome,) = self.deliver()
        return outcome

    def files(self, folder: str = "out") -> list[list[int]]:
        """The ids in each of the files that were delivered, in the order of batches."""
        paths = sorted((self.root / folder).glob("*.jsonl"))
        return [[json.loads(line)["id"] for line in p.read_text().splitlines()] for p in paths]
