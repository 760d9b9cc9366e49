"""Changes told by the versions of a table, and by ids of rows, beside what was done to it."""

from __future__ import annotations

import random
import re
from collections import Counter
from typing import Any

import duckdb
import pytest
import sqlglot
from tests.rules.bags import by_bags
from tests.rules.definitions import Change, Row
from tests.seeds import seeds

from tapestry.runs.sources import row_ids, version_diff
from tapestry.runs.sources.describe import DeltaSource
from tapestry.runs.sources.history import SourceCommit
from tapestry.runs.sources.row_ids import PAIR, RowIds
from tapestry.runs.sources.version_diff import VersionDiffs
from tapestry.sql.catalog import Column

COLUMNS = (Column("id", "int"), Column("v", "int"))
TABLE = DeltaSource("db.t", COLUMNS, "id", "/nowhere")


class Versions:
    """Rows with their ids and the commit that has written each last, by version."""

    def __init__(self) -> None:
        self.duckdb = duckdb.connect(config={"threads": 1})
        self.duckdb.execute(
            "CREATE TABLE t (version BIGINT, id INT, v INT, rid BIGINT, written BIGINT)"
        )
        self.rows_at: list[dict[int, tuple[Row, int]]] = [{}]
        self.ids = 0

    def commit(self, changes: list[tuple[int | None, Row | None]]) -> list[Change]:
        """Changes as (id of the old row, new row)."""
        now, version, told = dict(self.rows_at[-1]), len(self.rows_at), []
        for rid, new in changes:
            old = None if rid is None else now.pop(rid)[0]
            told.append(Change(old, new))
            if new is not None:
                if rid is None:
                    self.ids += 1
                now[self.ids if rid is None else rid] = (new, version)
        self.rows_at.append(now)
        for rid, (row, written) in now.items():
            self.duckdb.execute("INSERT INTO t VALUES (?,?,?,?,?)", [version, *row, rid, written])
        return told

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        text = re.sub(r"`db`\.`t` VERSION AS OF (\d+) AS _tap_s",
                      r"(SELECT * FROM t WHERE version = \1) AS _tap_s", sql)  # fmt: skip
        text = text.replace("_tap_s._metadata.row_id", "_tap_s.rid")
        text = text.replace("_tap_s._metadata.row_commit_version", "_tap_s.written")
        text = text.replace("explode(array_repeat(0, CAST(abs(_tap_more) AS INT)))", "UNNESTED")
        told = sqlglot.transpile(text, read="spark", write="duckdb")[0]
        told = told.replace("UNNESTED", "unnest(range(CAST(abs(_tap_more) AS INT)))")
        return self.duckdb.execute(told).fetchall()


def history(_session: Any, _table: Any, after: int, until: int) -> tuple[SourceCommit, ...]:
    return tuple(SourceCommit(version, "rewrite") for version in range(after + 1, until + 1))


def random_changes(
    rng: random.Random, versions: Versions, keyed: bool
) -> list[tuple[int | None, Row | None]]:
    """Some rows go, come, change, or are written as they are."""
    there = versions.rows_at[-1]
    found: list[tuple[int | None, Row | None]] = []
    for rid, (row, _) in there.items():
        way = rng.random()
        if way < 0.15:
            found.append((rid, None))
        elif way < 0.5:
            id_ = row[0] if keyed else rng.choice((1, 2, 3))
            found.append((rid, (id_, rng.choice((None, 1, 2)))))
        elif way < 0.6:
            found.append((rid, row))
    for _ in range(rng.choice((0, 0, 1, 2))):
        id_ = 100 * len(versions.rows_at) + len(found) if keyed else rng.choice((1, 2, 3))
        found.append((None, (id_, rng.choice((None, 1, 2)))))
    return found


@pytest.mark.parametrize("keyed", [True, False])
@pytest.mark.parametrize("number", seeds(20))
def test_versions_are_compared_as_bags(
    number: int, keyed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(version_diff, "read_history", history)
    rng, versions = random.Random(number), Versions()
    done = [versions.commit(random_changes(rng, versions, keyed)) for _ in range(5)]
    diffs = VersionDiffs(versions, TABLE, COLUMNS, ("id",) if keyed else ())  # type: ignore[arg-type]
    found: dict[int, Counter[Any]] = {version: Counter() for version in range(1, 6)}
    for *row, what, version in versions.rows(diffs.told_apart(range(1, 6))):
        found[version][what, tuple(row)] += 1
    for version, changes in enumerate(done, start=1):
        assert found[version] == images(by_bags(changes, 0 if keyed else None))


@pytest.mark.parametrize("number", seeds(20))
def test_ids_tell_each_row_that_was_written(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_ids, "read_history", history)
    rng, versions = random.Random(number), Versions()
    done = [versions.commit(random_changes(rng, versions, False)) for _ in range(5)]
    told = RowIds(versions, TABLE, COLUMNS).with_ids([1, 2, 4, 5])  # type: ignore[arg-type]
    assert told is not None
    rows = versions.rows(told)
    for version in (1, 2, 4, 5):
        of_commit = [row for row in rows if row[-1] == version]
        assert Counter((row[3], row[:2]) for row in of_commit) == images(done[version - 1])
        pairs = {row[2]: [None, None] for row in of_commit}
        for row in of_commit:
            pairs[row[2]][row[3] == "update_postimage"] = row[:2] if "update" in row[3] else None
        updated = [(one.old, one.new) for one in done[version - 1] if one.old and one.new]
        assert Counter(tuple(two) for two in pairs.values() if two != [None, None]) == Counter(
            updated
        )
    assert PAIR in told


def images(changes: Any) -> Counter[Any]:
    """Changes as the rows of a change feed."""
    found: Counter[Any] = Counter()
    for one in changes:
        if one.old is not None:
            found["delete" if one.new is None else "update_preimage", one.old] += 1
        if one.new is not None:
            found["insert" if one.old is None else "update_postimage", one.new] += 1
    return found
