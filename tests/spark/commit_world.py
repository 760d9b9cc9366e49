"""Two sources with the same rows: one says when they were committed, the other in a column.

What a model over the first gives must be what the same model over the second gives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from tests.spark.run_world import run_alone

from tapestry.names import MATCHED_AT
from tapestry.runs.context.clock import Clock
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.context.recall import Recall
from tapestry.runs.kinds.registry import parse_config, prepare
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.outcome import Outcome
from tapestry.runs.protocol.plan import Decided

TRACKED = (
    "'delta.enableRowTracking' = 'true', 'delta.enableInCommitTimestamps' = 'true',"
    " 'delta.checkpointInterval' = '3'"
)
Row = tuple[int, int | None]


def instant(millis: int) -> datetime:
    """The instant of a commit."""
    return datetime.fromtimestamp(millis // 1000, timezone.utc).replace(
        microsecond=millis % 1000 * 1000
    )


@dataclass
class Twins:
    """``messages``, which arrive with their commits, and ``stamped``, which say the same."""

    session: Any
    schema: str
    recall: Recall = field(default_factory=Recall)

    def create(self) -> Twins:
        """Both, empty."""
        self.sql(
            "create table {s}.messages (id int, parent int) using delta"
            f" tblproperties ({TRACKED})"
        )
        self.sql("create table {s}.stamped (id int, parent int, at timestamp) using delta")
        return self

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        """Execute a text in which {s} is the schema."""
        rows: list[tuple[Any, ...]] = self.session.rows(text.replace("{s}", self.schema))
        return rows

    def add(self, rows: Iterable[Row]) -> datetime:
        """Append rows in one commit; when that was made."""
        pairs = [(str(one), "null" if other is None else str(other)) for one, other in rows]
        listed = ", ".join(f"({one}, {other})" for one, other in pairs)
        self.sql(f"insert into {{s}}.messages values {listed}")
        at = self.newest_commit()
        stamp = f"timestamp'{at:%Y-%m-%d %H:%M:%S.%f}'"
        stamped = ", ".join(f"({one}, {other}, {stamp})" for one, other in pairs)
        self.sql(f"insert into {{s}}.stamped values {stamped}")
        return at

    def newest_commit(self, table: str = "messages") -> datetime:
        """When the newest version was made, as Delta's own history has it."""
        ((_, at, *_),) = self.sql(f"describe history {{s}}.{table} limit 1")
        return at.astimezone(timezone.utc)  # type: ignore[no-any-return]

    def forget_log(self, before: int, table: str = "messages") -> int:
        """Delete what a checkpoint makes superfluous of the log, as Delta does in time."""
        log = self.log(table)
        checkpoints = [int(path.name[:20]) for path in log.glob("*.checkpoint*.parquet")]
        until = min(max(checkpoints, default=0), before)
        gone = [path for path in log.glob("*.json") if int(path.name[:20]) < until]
        for path in gone:
            path.unlink()
            (log / f".{path.name}.crc").unlink(missing_ok=True)
        return len(gone)

    def log(self, table: str = "messages") -> Path:
        """The folder of a table's log."""
        ((_, _, _, _, location, *_),) = self.sql(f"describe detail {{s}}.{table}")
        return Path(location.removeprefix("file:")) / "_delta_log"

    def model(self, sql: str, table: str = "messages", **config: Any) -> Model:
        """A model over one of the tables; {m} in its text is the source."""
        text = sql.replace("{m}", f"{self.schema}.{table}")
        said = "at" if table == "stamped" else "commit"
        return Model(
            name=f"of_{table}",
            relation=f"{self.schema}.of_{table}",
            sql=text,
            config=parse_config("continuous", {"verify": "full", **config}),
            arrivals={f"{self.schema}.{table}": (said,)},
            file=f"models/of_{table}.sql",
        )

    def plan(self, model: Model, t: datetime, full_refresh: bool = False) -> Decided:
        """What an invocation at t would do."""
        return prepare(self.session, model, self.invocation(t), full_refresh)

    def invocation(self, t: datetime) -> Invocation:
        """An invocation at t."""
        state = f"{self.schema}.tapestry_state"
        return Invocation("test", Clock(t, True), state, "UTC", self.recall)

    def run(self, model: Model, t: datetime, full_refresh: bool = False) -> Outcome:
        """One invocation with this model only."""
        return run_alone(self.session, model, self.invocation(t), full_refresh)

    def run_both(self, sql: str, t: datetime, full_refresh: bool = False, **config: Any) -> None:
        """The model over each of the two; both tables must be the same then."""
        for table in ("messages", "stamped"):
            asked = {"verify": "off"} if table == "stamped" else {}
            self.run(self.model(sql, table, **{**config, **asked}), t, full_refresh)
        assert self.answers("of_messages") == self.answers("of_stamped")

    def answers(self, name: str = "of_messages") -> Counter[tuple[Any, ...]]:
        """What stands in a target, the instants in microseconds."""
        return Counter(
            self.sql(f"select * except ({MATCHED_AT}), unix_micros({MATCHED_AT}) from {{s}}.{name}")
        )
