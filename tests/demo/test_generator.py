"""The generated archive looks like real mailing lists and holds what breaks queries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tapestry.demo import generator
from tapestry.demo.made_up import choose_variables


@pytest.fixture(scope="module")
def messages() -> pa.Table:
    return generator.messages(20_000, seed=3, days=700)


def _one(messages: pa.Table, query: str) -> Any:
    database = duckdb.connect()
    database.execute("set timezone = 'UTC'")
    database.register("messages", messages)
    row = database.execute(query).fetchone()
    assert row is not None
    return row[0]


def test_the_same_seed_gives_the_same_rows(messages: pa.Table) -> None:
    assert generator.messages(20_000, seed=3, days=700).equals(messages)
    assert not generator.messages(20_000, seed=4, days=700).equals(messages)


def test_the_number_of_rows_is_about_what_was_asked_for(messages: pa.Table) -> None:
    assert abs(len(messages) - 20_000) < 200


@pytest.mark.parametrize(
    ("share", "low", "high"),
    [
        ("count(inreplyto) / count(*)", 0.85, 0.89),
        ("avg((inreplyto in (select msgid from messages))::int)", 0.96, 0.99),
        ("avg((author is null)::int)", 0.0005, 0.005),
        ("avg((subject is null)::int)", 0.0002, 0.005),
        ("avg((ts is null)::int)", 0.0001, 0.002),
        ("avg((date > ts)::int)", 0.002, 0.03),
        ("1 - count(distinct msgid) / count(*)", 0.08, 0.14),
        ("1 - count(distinct (msgid, newsgroup)) / count(*)", 0.0005, 0.005),
        ("1 - count(distinct ts) / count(*)", 0.0001, 0.5),
    ],
)
def test_shares_are_those_of_real_lists(
    messages: pa.Table, share: str, low: float, high: float
) -> None:
    assert low < _one(messages, f"select {share} from messages") < high


def test_some_replies_arrive_before_what_they_answer(messages: pa.Table) -> None:
    early = _one(
        messages,
        "select avg((r.ts < m.ts)::int) from messages m join messages r "
        "on r.inreplyto = m.msgid and r.newsgroup = m.newsgroup",
    )
    assert 0.02 < early < 0.08


def test_delays_have_a_heavy_tail(messages: pa.Table) -> None:
    quantiles = _one(
        messages,
        "select quantile_cont(epoch(r.ts - m.ts), [0.5, 0.99]) from messages m join messages r "
        "on r.inreplyto = m.msgid and r.newsgroup = m.newsgroup",
    )
    assert 1_000 < quantiles[0] < 40_000
    assert quantiles[1] > 500 * 3_600


def test_threads_have_no_cycles(messages: pa.Table) -> None:
    roots = _one(
        messages,
        "with recursive up as (select msgid, inreplyto, 0 as depth from messages "
        "union select up.msgid, m.inreplyto, depth + 1 from up join messages m "
        "on m.msgid = up.inreplyto where depth < 100) select max(depth) from up",
    )
    assert 3 < roots < 50


def test_the_archive_is_not_in_order_of_arrival(messages: pa.Table) -> None:
    late = _one(
        messages,
        "select count(*) from (select ts, max(ts) over (order by archive_seq rows between "
        "unbounded preceding and 1 preceding) as before from messages) "
        "where ts < before - interval 1 day",
    )
    assert 20 < late < 1_000


def test_some_rows_are_exact_duplicates() -> None:
    messages = generator.messages(100_000, seed=1, days=700)
    different = _one(messages, "select count(*) from (select distinct * from messages)")
    assert len(messages) - different > 20


@pytest.mark.parametrize("order", ["arrival", "archive", "shuffled"])
def test_chunks_on_disk_are_the_table_in_memory(tmp_path: Path, order: generator.Order) -> None:
    path = tmp_path / "messages.parquet"
    written = generator.write_messages(path, 5_000, seed=2, days=90, order=order, chunk=700)
    read = pq.read_table(path)
    assert written == len(read)
    assert read.equals(generator.messages(5_000, seed=2, days=90, order=order))


def test_orders(tmp_path: Path) -> None:
    by_arrival = generator.messages(5_000, seed=2, order="arrival")["ts"].drop_null().to_pylist()
    # a row whose ts nobody knows has one all the same, which decides its place
    assert by_arrival == sorted(by_arrival)
    places = generator.messages(5_000, seed=2, order="archive")["archive_seq"].to_pylist()
    assert places == sorted(places)
    shuffled = generator.messages(5_000, seed=2, order="shuffled")["archive_seq"].to_pylist()
    assert sorted(shuffled) == places != shuffled


def test_votes_and_reminders_go_with_the_messages(messages: pa.Table) -> None:
    votes = generator.votes(500, messages, seed=1)
    assert set(votes["msgid"].to_pylist()) <= set(messages["msgid"].to_pylist())
    assert set(votes["vote"].to_pylist()) == {-1, 1}
    reminders = generator.reminders(300, seed=1)
    due = _one(reminders, "select avg((when_to_remind < ts)::int) from messages")
    assert 0 < due < 0.1


def test_variables_have_something_to_find(messages: pa.Table, tmp_path: Path) -> None:
    path = tmp_path / "messages.parquet"
    pq.write_table(messages, path)
    chosen = choose_variables(path)
    assert chosen["one_list"] == "comp.databases"
    for query in (
        "author = '{somebody}'",
        "author = '{jones}'",
        "inreplyto = '{one_message}'",
        "newsgroup like '{list_pattern}'",
        "subject like '%{keyword}'",
    ):
        assert _one(messages, f"select count(*) from messages where {query.format(**chosen)}") > 2
