"""What is accepted stays short: alternatives are written once, not each beside each."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from tests.sql import test_pairs
from tests.sql.test_pairs import CATALOG, START, filled

from tapestry.errors import Refusal
from tapestry.sql import Catalog, Scan, View, Window, rewrite
from tapestry.sql.ir import Arm
from tapestry.sql.normalize.standard_form import StandardForms
from tapestry.sql.passes.ir.refuse_too_long import LONGEST, text_size
from tapestry.sql.query_state import QueryState
from tapestry.sql.read.parse import parse
from tapestry.sql.read.resolve_names import resolve_names

HOURS = range(6)
FACTORS = [f"(id = {n} or now() > due + interval {n} hours)" for n in HOURS]
NONE = "not exists (select 1 from messages r where r.parent = m.id and r.id > {})"
SOME = (
    "exists (select 1 from messages r where r.parent = m.id and r.due > now() + interval {} hours)"
)
MANY_ALTERNATIVES = {
    "by value": "select distinct author from messages where now() in (due, ts,"
    " due - interval 6 hours, ts + interval 1 day, timestamp'2026-01-03 00:00:00')",
    "with anti joins": "select m.id from messages m where (now() >= m.due or not exists"
    " (select 1 from messages r where r.parent = m.id)) and (m.parent is null or not exists"
    " (select 1 from messages r where r.author = m.author and r.id < m.id))"
    " and (m.id < 4 or now() >= m.ts + interval 1 day)",
    "of a table by value": "select z.author, m.id from (select distinct author from messages"
    " where now() >= due) z join messages m on m.author = z.author where (m.parent = 1 or now() >="
    " m.due) and (m.id > 2 or now() < m.due) and (m.id < 8 or now() >= m.ts + interval 1 day)",
    "of static rows": "select author from authors where (level = 1 or now() >="
    " timestamp'2026-01-02 00:00:00') and (level > 2 or now() < timestamp'2026-01-03 00:00:00')"
    " and (author = 'ann' or now() >= timestamp'2026-01-02 12:00:00') union all select 'm'"
    " from messages where id = 1",
}
QUERIES = {
    "64 alternatives": f"select id from messages m where {' and '.join(FACTORS)}",
    "64 plain ones": "select id from messages where "
    + " or ".join(f"id = {n} and now() > due + interval {n} hours" for n in range(64)),
    "by value": f"select distinct author from messages m where {' and '.join(FACTORS)}",
    "a list of instants": "select id from messages where now() in ("
    + ", ".join(f"due + interval {n} hours" for n in range(30))
    + ")",
    "anti joins": "select id from messages m where "
    + " and ".join(f"(now() > due + interval {n} hours or {NONE.format(n)})" for n in range(5)),
    "EXISTS": "select id from messages m where "
    + " and ".join(f"(now() > due + interval {n} hours or {SOME.format(n)})" for n in range(4)),
    "many bounds": "select id from messages where "
    + " and ".join(f"now() > due + interval {n} hours" for n in range(60)),
    "left joins": "select m.id from messages m "
    + " ".join(f"left join messages r{n} on r{n}.parent = m.id + {n}" for n in range(6)),
}


def _texts(query: str) -> list[str]:
    """The SQL of the first run and of a later one, with rows that came late, and with keys."""
    rewriting = rewrite(query, CATALOG)
    scans = {
        "messages": Scan("db.messages", "arrived", "rowid", late=True),
        "authors": Scan("db.authors", None, "rowid"),
    }
    ends = (None, START), (START, START + timedelta(days=1))
    return [rewriting.incremental(Window(*window), scans, keyed=True) for window in ends]


@pytest.mark.parametrize("name", QUERIES)
def test_what_is_accepted_is_as_short_as_it_is_reckoned(name: str) -> None:
    """The reckoning is no less than the text, which is no longer than what is promised."""
    rewriting = rewrite(QUERIES[name], CATALOG)
    query = rewriting.passed[-1].state
    assert isinstance(query, QueryState)
    reckoned = text_size(query)
    longest = max(len(text) for text in _texts(QUERIES[name]))
    assert longest < 1.25 * reckoned
    assert reckoned < LONGEST


@pytest.mark.parametrize("name", MANY_ALTERNATIVES)
def test_many_alternatives_deliver_what_was_ever_an_answer(name: str) -> None:
    pair = (Path(), name, MANY_ALTERNATIVES[name], "")
    test_pairs.test_it_delivers_what_was_ever_an_answer(filled(), pair)


def test_alternatives_do_not_multiply_with_each_other() -> None:
    few = max(len(text) for text in _texts(QUERIES["64 alternatives"].replace("id = 5 or ", "")))
    many = max(len(text) for text in _texts(QUERIES["64 alternatives"]))
    assert many < 3 * few
    assert many < 50_000


def test_a_long_chain_is_no_deep_tree() -> None:
    """Looking up from each of its columns took a time that grew with the square."""
    sql = "select id from messages where " + " or ".join(f"parent = {n}" for n in range(2_000))
    resolved = resolve_names(parse(sql), CATALOG)
    assert max(node.depth for node in resolved.walk()) < 20
    again = resolve_names(parse(resolved.sql("spark")), CATALOG)
    assert again.sql("spark") == resolved.sql("spark")
    assert len(filled().execute(sql.replace("messages", "db.messages")).fetchall()) == 6


def test_views_over_views_that_count_by_value_are_opened_once_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They were opened wherever they are used: 44,676 times until the query was refused."""
    views = {
        "v": "select m.parent as c, r.due as d from messages m join messages r on r.id = m.parent"
        " where now() < r.ts + interval 1 day and ((now() < r.due) <=> (now() > m.ts))"
        " intersect select id, due from messages",
        "w": "select * from v where now() > d",
    }
    catalog = Catalog({**CATALOG.relations, **{name: View(name, views[name]) for name in views}})
    opened: list[Arm] = []
    plain = StandardForms.of
    monkeypatch.setattr(
        StandardForms, "of", lambda forms, arm: opened.append(arm) or plain(forms, arm)
    )
    with pytest.raises(Refusal, match="characters of the SQL of a run"):
        rewrite(
            "select b.c from (select c from w group by c union all select id from messages) b"
            " join v a on a.c = b.c left join v q on q.c = b.c except select id from messages",
            catalog,
        )
    assert 0 < len(opened) < 200


def test_a_short_text_that_is_a_huge_plan_is_refused() -> None:
    """Spark writes out each CTE where it is used: 64 alternatives are read 200,000 times."""
    factors = (f"(now() > due + interval {n} hours or {SOME.format(n)})" for n in HOURS)
    with pytest.raises(Refusal, match="would read tables about") as caught:
        rewrite(f"select id from messages m where {' and '.join(factors)}", CATALOG)
    assert "alternatives: 64" in str(caught.value)


def test_the_anti_join_of_earlier_candidates_stays_above_the_window() -> None:
    """On its keys alone Spark copies it into each select below: that plan ran out of memory."""
    sql = (
        "select id from messages where id in (select r.parent from messages r"
        " where (now() <> r.due or r.id = 1) and (now() <> r.ts or r.id = 2))"
    )
    for text in _texts(sql)[1:]:
        assert "_e._at < _f._at" in text
        assert len(text) < 60_000
