"""Snapshots of a table that changes at random hold the histories that their settings describe."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from random import Random
from typing import Any

import pytest
from dbt.tests.util import run_dbt
from tests.seeds import seed

pytestmark = pytest.mark.gate

ROUNDS = 5
IN_THE_GATE = 3
KEYS = 120
"""Each key has a history of its own."""
NEW_COLUMN_FROM = 2
"""From this round on the source has the column ``extra``."""
NAMES = {
    "dbt_valid_from": "begins",
    "dbt_valid_to": "ends",
    "dbt_scd_id": "record",
    "dbt_updated_at": "changed",
    "dbt_is_deleted": "is_gone",
}
FOREVER = datetime(9999, 12, 31)
CONFIGS: dict[str, dict[str, Any]] = {
    "check_ignore": {"strategy": "check", "check_cols": "all", "unique_key": "id"},
    "check_invalidate": {
        "strategy": "check",
        "check_cols": "all",
        "unique_key": ["k1", "k-2"],
        "hard_deletes": "invalidate",
    },
    "check_record": {
        "strategy": "check",
        "check_cols": "all",
        "unique_key": "id",
        "hard_deletes": "new_record",
    },
    "check_dated": {
        "strategy": "check",
        "check_cols": ["V", "w"],
        "updated_at": "Read-At",
        "unique_key": ["k1", "k-2"],
        "hard_deletes": "new_record",
        "dbt_valid_to_current": "cast('9999-12-31' as timestamp)",
        "snapshot_meta_column_names": NAMES,
    },
    "dated_ignore": {"strategy": "timestamp", "updated_at": "Read-At", "unique_key": "id"},
    "dated_invalidate": {
        "strategy": "timestamp",
        "updated_at": "Read-At",
        "unique_key": "id",
        "hard_deletes": "invalidate",
        "dbt_valid_to_current": "cast('9999-12-31' as timestamp)",
    },
    "dated_record": {
        "strategy": "timestamp",
        "updated_at": "Read-At",
        "unique_key": ["k1", "k-2"],
        "hard_deletes": "new_record",
    },
}
COLUMNS = ("id", "k1", "`k-2`", "v", "w", "`read-at`")
Row = tuple[Any, ...]
Instant = tuple[int, datetime | int | None]
"""(0, an instant of the data), (1, the number of a run), which is later than those, or (2, one of
the data that is later than every run); in the first place None stands for no instant."""
LATER = datetime(2100, 1, 1)


@dataclass
class Record:
    row: Row
    begin: Instant | None
    end: Instant | None = None
    deleted: bool = False


@dataclass
class History:
    """What a snapshot with these settings holds, worked out a key at a time."""

    config: dict[str, Any]
    records: dict[Any, list[Record]] = field(default_factory=dict)

    def snap(self, rows: list[Row], run: int) -> None:
        now: Instant = (1, run)
        keys = set()
        for row in rows:
            key = self._key(row)
            keys.add(key)
            records = self.records.setdefault(key, [])
            at = _of_data(row[5]) if "updated_at" in self.config else now
            current = records[-1] if records and records[-1].end is None else None
            if current is not None and not self._changed(current, row, run):
                continue
            bounds = [i for r in records for i in (r.begin, r.end) if i and i[1] is not None]
            # A record that ended at no instant would be open still.
            in_order = not records or (at[1] is not None and all(at > bound for bound in bounds))
            begin = at if in_order else max([now, *bounds])
            if current is not None:
                current.end = begin
            records.append(Record(row, begin))
        if self.config.get("hard_deletes", "ignore") == "ignore":
            return
        for key, records in self.records.items():
            last = records[-1]
            if key in keys or last.deleted or last.end is not None:
                continue
            last.end = max(now, last.begin or now)
            if self.config["hard_deletes"] == "new_record":
                records.append(Record(last.row, last.end, deleted=True))

    def _key(self, row: Row) -> Any:
        return row[0] if self.config["unique_key"] == "id" else row[1:3]

    def _changed(self, record: Record, row: Row, run: int) -> bool:
        """Is a row another than the one that was recorded?"""
        if record.deleted:
            return True
        if self.config["strategy"] == "timestamp":
            recorded, given = record.row[5], row[5]
            return given is not None and (recorded is None or recorded < given)
        if self.config["check_cols"] == "all":
            return run == NEW_COLUMN_FROM or record.row != row
        return record.row[3:5] != row[3:5]


def _of_data(at: datetime | None) -> Instant:
    return (2 if at is not None and at >= LATER else 0, at)


def _states() -> Iterator[list[Row]]:
    """The source's rows at every run: some change, go away, or come back as they were."""
    random = Random(seed())
    known: dict[int | None, Row] = {}
    for run in range(ROUNDS):
        for number in [*range(KEYS), None]:
            row = known.get(number)
            choice = random.random()
            if row is None or choice < 0.3:
                known[number] = (
                    number,
                    None if number is None else number // 4,
                    random.choice([None]) if number in (None, 3) else f"k{number % 4}",
                    random.choice([None, "a", "b"]),
                    random.choice([None, 0.0, 1.5]),
                    _updated(random, run, None if row is None else row[5]),
                )
            elif choice < 0.45:  # changed, without a new date
                known[number] = (*row[:3], random.choice([None, "c"]), *row[4:])
        rows = [row for row in known.values() if random.random() < 0.7]
        extra = () if run < NEW_COLUMN_FROM else ("new",)
        yield [(*row, *extra) for row in rows]


def _updated(random: Random, run: int, before: datetime | None) -> datetime | None:
    """When a row says that it was changed: mostly late, at times too early, as before, or never."""
    choice = random.random()
    if choice < 0.1:
        return None
    if choice < 0.2:
        return before
    year = 2020 + random.randrange(ROUNDS) if choice < 0.4 else 2020 + run
    return datetime(2100 if choice > 0.97 else year, 1, 1) + timedelta(days=random.randrange(300))


class TestHistories:
    chosen: tuple[str, ...] = ("check_record", "dated_invalidate")
    rounds = IN_THE_GATE

    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        listed = ", ".join(
            f"{{name: {name}, relation: \"source('given', 'rows')\", config: {CONFIGS[name]}}}"
            for name in self.chosen
        )
        table = "{name: rows, config: {event_time: '`read-at`'}}"
        source = f"{{name: given, schema: '{{{{ target.schema }}}}', tables: [{table}]}}"
        return {"snapshots.yml": f"sources: [{source}]\nsnapshots: [{listed}]"}

    def test_histories(self, project: Any, embedded_spark: Any) -> None:
        expected = {name: History(CONFIGS[name]) for name in self.chosen}
        begun: list[datetime] = []
        random = Random(seed())
        for run, rows in enumerate(islice(_states(), self.rounds)):
            more = ", extra string" if run >= NEW_COLUMN_FROM else ""
            schema = (
                "id int, k1 int, `k-2` string, v string, w double, `read-at` timestamp_ntz" + more
            )
            frame = embedded_spark.createDataFrame(rows, schema)
            frame = frame.withColumn("read-at", frame["`read-at`"].cast("timestamp"))
            writer = frame.write.format("delta").mode("overwrite")
            writer.option("overwriteSchema", "true").saveAsTable(f"{project.test_schema}.rows")
            begun.append(_now(embedded_spark))
            limit = random.choice([None, ["--empty"], ["--sample", "1 day"]])
            if limit is not None:
                run_dbt(["build", *limit])
            run_dbt(["snapshot"])
            for name, history in expected.items():
                history.snap(rows, run)
                found = _records(embedded_spark, project.test_schema, name, begun)
                wanted = _wanted(history)
                assert found == wanted, (name, run)


@pytest.mark.more
class TestAllHistories(TestHistories):
    chosen = tuple(CONFIGS)
    rounds = ROUNDS


def _now(spark: Any) -> datetime:
    found = spark.sql("select cast(current_timestamp() as timestamp_ntz)").collect()[0][0]
    assert isinstance(found, datetime)
    return found


def _records(spark: Any, schema: str, name: str, begun: list[datetime]) -> list[Any]:
    """The table's records as the history has them, sorted."""
    names = {key: key for key in NAMES}
    names |= CONFIGS[name].get("snapshot_meta_column_names", {})
    frame = spark.table(f"{schema}.{name}")
    flag = (
        names["dbt_is_deleted"] if CONFIGS[name].get("hard_deletes") == "new_record" else "'False'"
    )
    own = [*COLUMNS, *(["extra"] if "extra" in frame.columns else [])]
    chosen = frame.selectExpr(
        *(f"cast({column} as timestamp_ntz)" if "read" in column else column for column in own),
        *(f"cast({names[key]} as timestamp_ntz)" for key in ("dbt_valid_from", "dbt_valid_to")),
        flag,
        names["dbt_scd_id"],
    ).collect()
    assert len({row[-1] for row in chosen}) == len(chosen), "dbt_scd_id is unique"
    found = []
    for row in chosen:
        *values, begin, end, deleted, _ = row
        ends = None if end is None or end == FOREVER else _instant(end, begun)
        values += [None] * (7 - len(values))
        found.append((tuple(values), _instant(begin, begun), ends, deleted == "True"))
    return sorted(found, key=repr)


def _wanted(history: History) -> list[Any]:
    found = []
    for records in history.records.values():
        for record in records:
            values = (*record.row, *[None] * (7 - len(record.row)))
            found.append((values, record.begin, record.end, record.deleted))
    return sorted(found, key=repr)


def _instant(at: datetime | None, begun: list[datetime]) -> Instant:
    """An instant of the data, or the run in which it lies."""
    if at is None or at < begun[0] or at >= LATER:
        return _of_data(at)
    return (1, max(run for run, begin in enumerate(begun) if begin <= at))
