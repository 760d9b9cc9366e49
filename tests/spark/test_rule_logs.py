"""A log of changes as the table of a rule: its transactions, and the rows that they change."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.spark.rule_world import FEED, Rules

from tapestry.errors import AssumptionWrong, CannotPair, ChangesGone, StateGone
from tapestry.instants import now_utc

LOG = {
    "changes": "log", "transaction": "tx", "commit_time": "at", "order": "seq", "key": "id",
    "op": {"column": "op", "insert": "I", "update": "U", "delete": "D"},
}  # fmt: skip
PAIRS = (
    "select new.id, old.v as a, new.v as b, new.tx from old, new"
    " where old.execute_order = new.execute_order"
)
FILES, TRACKED = "", "tblproperties ('delta.enableRowTracking' = true)"


class Logs(Rules):
    """A schema with a log of changes; instants are minutes of an hour of yesterday."""

    def made(self, how: str = FILES, more: str = "") -> Logs:
        self.do(
            f"create table {{s}}.log (id int, v int, tx int, at timestamp, seq int,"
            f" op string{more})"
            f" using delta {how}"
        )
        self.begin = (now_utc() - timedelta(days=1)).replace(minute=0, second=0, microsecond=0)
        return self

    def at(self, minute: float) -> str:
        """An instant as SQL."""
        return f"timestamp'{self.begin + timedelta(minutes=minute)}'"

    def load(self, *rows: tuple[Any, ...]) -> None:
        """One commit with changes, each (id, v, tx, minute, seq, op, …)."""
        told = []
        for id_, v, tx, minute, seq, op, *more in rows:
            values = [id_, v, tx, self.at(minute), seq, f"'{op}'", *more]
            told.append("(" + ", ".join("null" if x is None else str(x) for x in values) + ")")
        self.do(f"insert into {{s}}.log values {', '.join(told)}")

    def looking(self, sql: str = PAIRS, **config: Any) -> Any:
        """A rule over the log that looks from the beginning."""
        return self.rule("r", sql, "log", **{"when": "updated v", "begin": "0", **LOG, **config})


@pytest.fixture
def logs(session: Any, schema: str) -> Logs:
    return Logs(session, schema)


@pytest.mark.parametrize("how", [FILES, TRACKED, FEED], ids=["files", "tracked", "feed"])
def test_log_two_updates_one_transaction(logs: Logs, how: str) -> None:
    """A row changes twice in one transaction, and each change has its place; compactions and loads
    with several transactions change nothing."""
    logs.made(how)
    logs.load((1, 10, 1, 1, 1, "I"), (2, 20, 1, 1, 2, "I"))
    logs.load((1, 12, 2, 2, 2, "U"), (1, 11, 2, 2, 1, "U"), (2, 20, 3, 3, 1, "U"))
    logs.do("optimize {s}.log")
    logs.load((1, 13, 4, 4, 1, "U"))
    rule = logs.looking("select new.id, old.v as a, new.v as b, new.execute_order as e from old,"
                        " new where old.execute_order = new.execute_order")  # fmt: skip
    logs.now(rule)
    logs.do("optimize {s}.log")
    logs.load((2, 21, 5, 5, 1, "U"), (1, None, 6, 6, 1, "D"), (1, 1, 7, 7, 1, "I"))
    logs.load((1, 2, 8, 8, 1, "U"))
    logs.now(rule)
    found = logs.rows("select id, a, b, e, _commit_version from {s}.r order by _firing, _row")
    assert [row[:4] for row in found] == [
        (1, 10, 11, 1), (1, 11, 12, 2), (1, 12, 13, 1), (2, 20, 21, 1), (1, 1, 2, 1),
    ]  # fmt: skip
    assert len({row[4] for row in found}) == 4  # loads


def test_rows_that_come_late_or_are_of_the_future(logs: Logs) -> None:
    """A row that comes late for a transaction is one of its own; one committed later waits."""
    logs.made(TRACKED)
    logs.load((1, 10, 1, 1, 1, "I"), (2, 20, 1, 1, 2, "I"))
    rule = logs.looking(begin="now")
    action = logs.action("act", "insert into {s}.seen select count(*), max(b) from matches", "r")
    logs.do("create table {s}.seen (n bigint, b int) using delta")
    logs.now(rule)
    logs.now(action)
    soon = 24 * 60 + 70
    logs.load((1, 11, 2, 2, 1, "U"), (1, 99, 9, soon, 1, "U"), (1, 12, 4, 4, 1, "U"))
    logs.now(rule)
    logs.load((2, 21, 2, 2, 2, "U"), (1, 77, 3, 3, 1, "U"))
    logs.now(rule)
    logs.now(rule, later=7200)
    logs.now(rule, later=7300)
    found = logs.rows("select id, a, b, tx from {s}.r order by _firing")
    assert found == [
        (1, 10, 11, 2), (1, 11, 12, 4), (2, 20, 21, 2), (1, 11, 77, 3), (1, 12, 99, 9),
    ]  # fmt: skip
    assert str(logs.now(action)) == "4 batches of 4 firings"
    assert str(logs.now(action, later=7300)) == "1 batch of 1 firing"
    assert logs.rows("select b from {s}.seen order by b") == [(11,), (12,), (21,), (77,), (99,)]


def test_rows_that_say_too_little(logs: Logs) -> None:
    logs.made()
    logs.load((1, 10, 1, 1, 1, "U"))
    with pytest.raises(CannotPair, match=r"update of \[\"1\"\] without a row"):
        logs.now(logs.looking())
    logs.now(logs.looking("select id, tx from inserted", when="inserted"))
    logs.do("drop table {s}.r", "delete from {s}.log where true")
    with pytest.raises(ChangesGone, match="DELETE"):
        logs.now(logs.looking())
    begin = str(logs.rows("describe history {s}.log limit 1")[0][0] + 1)
    logs.load((1, 10, 1, 1, 1, "I"), (1, 11, 1, 1, 1, "U"))
    with pytest.raises(CannotPair, match="twice"):
        logs.now(logs.looking(begin=begin))
    begin = str(int(begin) + 1)
    logs.load((1, 12, 2, 2, 1, "X"))
    with pytest.raises(AssumptionWrong, match="none of I, U, D"):
        logs.now(logs.looking(begin=begin))
    begin = str(int(begin) + 1)
    logs.do("insert into {s}.log values (1, 1, 1, null, 1, 'I')")
    with pytest.raises(AssumptionWrong, match="have no at"):
        logs.now(logs.looking(begin=begin))


def test_old_values_in_columns_of_their_own(logs: Logs) -> None:
    logs.made(more=", old_v int")
    logs.load((1, 11, 1, 1, 1, "U", 10), (1, 12, 1, 1, 2, "U", None), (2, 5, 2, 2, 1, "D", 6))
    rule = logs.looking(
        before="old_", evaluate=["gone"], when=["updated v", "deleted"],
        sql="with gone as (select id, v from deleted)"
        " select new.id, old.v as a, new.v as b from old, new"
        " where old.execute_order = new.execute_order", **{"if": []}, bind_as="matches",
    )  # fmt: skip
    logs.now(rule)
    assert logs.rows("select id, a, b from {s}.r order by b") == [(1, 10, 11), (1, None, 12)]
    assert logs.rows("select id, v from {s}.r__gone") == [(2, 6)]


def test_other_tables_at_each_transaction(logs: Logs) -> None:
    """Each as it was when the transaction was committed; the log itself up to the transaction."""
    logs.made()
    logs.do("create table {s}.o (id int, w int) using delta", "insert into {s}.o values (1, 1)")
    logs.load((1, 10, 1, 1, 1, "I"), (1, 11, 2, 2, 1, "U"))
    sql = (
        "select new.tx, new.v, (select sum(w) from {s}.o) as w, (select count(*) from {s}.log) as n"
        " from new"
    )
    with pytest.raises(StateGone, match="before the first version"):
        logs.now(logs.looking(sql))
    rule = logs.looking(sql, states={"o": "run"})
    logs.now(rule)
    logs.load((1, 12, 4, 4, 1, "U"))
    logs.load((1, 13, 3, 3, 1, "U"))
    logs.now(rule)
    found = logs.rows("select tx, v, w, n from {s}.r order by _firing")
    assert found == [(2, 11, 1, 2), (3, 13, 1, 3), (4, 12, 1, 4)]
    logs.do("drop table {s}.r")
    logs.begin = now_utc() + timedelta(seconds=30)
    newest = logs.rows("describe history {s}.log limit 1")[0][0] + 1
    logs.load((1, 20, 5, 0, 1, "U"), (1, 21, 6, 1, 1, "U"))
    rule = logs.looking(sql, begin=str(newest))
    logs.now(rule, later=200)
    assert logs.rows("select tx, v, w, n from {s}.r order by _firing") == [
        (5, 20, 1, 5), (6, 21, 1, 6),
    ]  # fmt: skip
