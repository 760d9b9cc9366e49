"""Names, stars, columns and types."""

from __future__ import annotations

from tests.sql.advice.case import UNASKED, Case, Way, case

from tapestry.sql import Column

INT, TS = Column("id", "int"), Column("ts", "timestamp")
CLOCK = {"clocks": (INT, Column("current_date", "date"), TS)}
"""A source with a column of the clock's name."""


def odd(column: str, kind: str = "int") -> dict[str, tuple[Column, ...]]:
    """A source with a column that cannot be read."""
    return {"odd": (INT, Column(column, kind), TS)}


DEEP = "array<" * 101 + "int" + ">" * 101

CASES: tuple[Case, ...] = (
    case(
        "unknown-column",
        "select parrent from messages",
        "select parent from messages",
        meant="select parent from messages",
    ),
    case(
        "unknown-column",
        "select m.since from messages m join old o on o.id = m.id",
        "select o.since from messages m join old o on o.id = m.id",
        meant="select o.since from messages m join old o on o.id = m.id",
    ),
    case(
        "unknown-column",
        "select id from messages a join messages b on a.id = b.parent",
        "select a.id from messages a join messages b on a.id = b.parent",
        meant="select a.id from messages a join messages b on a.id = b.parent",
    ),
    case(
        "unknown-column",
        "select nothing_at_all from messages",
        "select author from messages",
        meant=UNASKED,
    ),
    case(
        "unknown-relation",
        "select id from messagess",
        "select id from messages",
        Way("select id from messagess", tables={"messagess": "SELECT * FROM messages"}),
        meant="select id from messages",
    ),
    case(
        "other-catalog",
        "select id from hive.db.messages",
        "select id from messages",
        Way(
            "select id from spark_catalog.db.messages",
            columns={"spark_catalog.db.messages": (INT, TS)},
        ),
        meant=UNASKED,
    ),
    case(
        "clock-or-column",
        "select q.id from (select id, d as current_date from messages) q"
        " where current_date > date'2026-01-02'",
        "select q.id from (select id, d as current_date from messages) q"
        " where q.current_date > date'2026-01-02'",
        meant="select id from messages where d > date'2026-01-02'",
    ),
    case(
        "clock-or-column",
        Way("select id from clocks where current_date > date'2026-01-02'", columns=CLOCK),
        Way("select id from clocks m where m.current_date > date'2026-01-02'", columns=CLOCK),
        Way("select id from clocks m where m.current_date > date(now())", columns=CLOCK),
        Way("select id from clocks m where m.current_date > now()", columns=CLOCK),
        meant=UNASKED,
    ),
    case(
        "doubled-column",
        "select m.id, o.id from messages m join old o on o.id = m.id",
        "select m.id, o.id as old_id from messages m join old o on o.id = m.id",
    ),
    case(
        "doubled-column",
        "select q.ts from (select distinct m.*, r.id from messages m join replies r) q",
        "select q.ts from (select distinct m.*, r.id as reply from messages m join replies r) q",
        meant="select q.ts from (select distinct m.*, r.id as reply from messages m"
        " join (select distinct id from replies) r) q",
    ),
    case(
        "doubled-column",
        "select x.* from (select id, author as id, ts from messages) x",
        "select x.* from (select id, author as who, ts from messages) x",
        "select x.ts from (select id, author as id, ts from messages) x",
        meant=UNASKED,
    ),
    case(
        "doubled-column",
        "select x.id from (select id, author as id, ts from messages) x",
        "select x.id from (select id, author as who, ts from messages) x",
        meant="select id from messages",
    ),
    case(
        "doubled-cte",
        "with a as (select id from messages), a as (select id from old) select id from a",
        "with a as (select id from messages), b as (select id from old) select id from a",
        meant="select id from messages",
    ),
    case(
        "natural-join",
        "select id from messages natural join (select * except (since) from old) as o",
        "select id from messages join (select * except (since) from old) as o using (id)",
        "select m.id from messages m join (select * except (since) from old) o on m.id = o.id",
    ),
    case("only-static", "select 1 as id", "select id from messages", meant=UNASKED),
    case(
        "odd-name",
        Way("select id from odd", columns=odd("*")),
        Way("select id from odd", columns=odd("every")),
        meant=UNASKED,
    ),
    case(
        "odd-type",
        Way("select id from odd", columns=odd("c", DEEP)),
        Way("select id from odd", columns={"odd": (INT, TS)}),
        meant=UNASKED,
    ),
    case(
        "odd-star",
        "select cast(* as string) as c from messages",
        "select cast(id as string) as c from messages",
        meant=UNASKED,
    ),
    case(
        "odd-star",
        "select hash(pair.*) as h from messages",
        "select hash(pair.a, pair.b) as h from messages",
        meant=UNASKED,
    ),
    case(
        "odd-star",
        "select struct(*) as s from (select id, abs(parent) from messages)",
        "select struct(id, q) as s from (select id, parent + 1 as q from messages)",
        meant=UNASKED,
    ),
    case(
        "odd-star",
        "select hash(*) as h from messages m join old o using (id)",
        "select hash(m.id, m.author, o.since) as h from messages m join old o on m.id = o.id",
        meant=UNASKED,
    ),
    case("odd-star", "select pair.* from messages", "select pair.a, pair.b from messages"),
    case(
        "odd-star",
        "select * from (select id from messages) join"
        " (old o join replies r on o.id = r.id) on true",
        "select q.id, o.since, r.level from (select id from messages) q join"
        " (old o join replies r on o.id = r.id) on true",
        "select * from (select id as message from messages) as q join"
        " (old o join (select level, id as reply from replies) r on o.id = r.reply) on true",
        meant=UNASKED,
    ),
    case(
        "odd-struct",
        "select named_struct('a') as s from messages",
        "select named_struct('a', id) as s from messages",
        meant=UNASKED,
    ),
    case(
        "odd-struct",
        "select named_struct(author, id) as s from messages",
        "select named_struct('author', id) as s from messages",
        meant=UNASKED,
    ),
    case("only-static", "select id from old", "select id from messages", meant=UNASKED),
    case(
        "own-column",
        Way("select * from shown", models={"shown": "select id from messages"}),
        Way(
            "select * except (_matched_at) from shown", models={"shown": "select id from messages"}
        ),
        Way(
            "select id, _matched_at as seen_at from shown",
            models={"shown": "select id from messages"},
        ),
        meant=UNASKED,
    ),
    case(
        "uneven-columns",
        "select id from messages where id in (select id, since from old)",
        "select id from messages where id in (select id from old)",
        "select id from messages where (id, ts) in (select id, since from old)",
        meant=UNASKED,
    ),
    case(
        "uneven-columns",
        "select id from messages union select id, since from old",
        "select id from messages union select id from old",
        meant="select id from messages union select id from old",
    ),
    case(
        "uneven-columns",
        "with w as (select id, parent from messages) select z.x from w as z(x)",
        "with w as (select id, parent from messages) select z.x from w as z(x, y)",
        "with w as (select id, parent from messages) select z.id as x from w as z",
        meant="select id as x from messages",
    ),
    case(
        "union-by-name",
        "select id, author as a from messages union by name select author as a, id from messages",
        "select id, author as a from messages union select id, author as a from messages",
    ),
    case("unnamed-column", "select abs(id) from messages", "select abs(id) as name from messages"),
    case(
        "unnamed-column",
        "select * from (select abs(id) from messages) z",
        "select * from (select abs(id) as next from messages) z",
    ),
    case(
        "untyped-column",
        "select id, null as n from messages",
        "select id, cast(null as string) as n from messages",
    ),
    case(
        "untyped-column",
        "select c from (select 'a' as c from messages union all select id from messages)",
        "select c from (select 'a' as c from messages union all"
        " select cast(id as string) as c from messages)",
        meant="select 'a' from messages union all select cast(id as string) from messages",
    ),
    case(
        "untyped-query",
        "select percentile_approx(id) as p from messages",
        "select parent as p from messages",
        meant=UNASKED,
    ),
    case(
        "using-join",
        "select m.id from messages m join replies r on r.id = m.id left semi join old using (id)",
        "select m.id from messages m join replies r on r.id = m.id"
        " left semi join old o on m.id = o.id",
        meant=UNASKED,
    ),
    case(
        "using-join",
        "select m.id from messages m join (old o join replies p using (id)) on true",
        "select m.id from messages m join (old o join replies p on o.id = p.id) on true",
    ),
    case(
        "named-join",
        "select q.id from (messages m join old o on o.id = m.id) q",
        "select q.id from (select m.id from messages m join old o on o.id = m.id) as q",
        "select m.id from (messages m join old o on o.id = m.id)",
        meant="select m.id from messages m join old o on o.id = m.id",
    ),
    case(
        "circular-views",
        Way("select * from a", views={"a": "select * from b", "b": "select * from a"}),
        Way("select id from a", views={"a": "select id from b", "b": "select id from messages"}),
        meant=UNASKED,
    ),
    case(
        "undeclared-function",
        "select id from messages where my_score(id) > 1",
        Way("select id from messages where my_score(id) > 1", functions=frozenset({"my_score"})),
        Way(
            "select id from scored where score > 1",
            tables={"scored": "SELECT id, id AS score, ts FROM messages"},
        ),
        meant=UNASKED,
    ),
    case(
        "nondeterministic",
        "select id from messages where rand() < 0.5",
        "select id from messages where pmod(hash(id), 100) < 50",
        Way(
            "select id from drawn where chance < 0.5",
            tables={"drawn": "SELECT id, random() AS chance, ts FROM messages"},
        ),
        meant=UNASKED,
    ),
    case(
        "nondeterministic",
        "select uuid() as u, id from messages",
        "select sha2(concat_ws(' ', id, ts), 256) as u, id from messages",
        Way(
            "select u, id from drawn",
            tables={"drawn": "SELECT uuid()::VARCHAR AS u, id, ts FROM messages"},
        ),
        meant=UNASKED,
    ),
    case(
        "time-type",
        "select id, cast(ts as time) as t from messages",
        "select id, date_format(ts, 'HH:mm:ss') as t from messages",
        "select id, ts as t from messages",
        meant=UNASKED,
    ),
    case(
        "odd-star",
        "select hash(o.*) as h from messages",
        "select hash(id, author) as h from messages",
        meant=UNASKED,
    ),
    case(
        "odd-star",
        "select hash(pair.*) as h from messages m",
        "select hash(m.pair.a, m.pair.b) as h from messages m",
        meant=UNASKED,
    ),
    case(
        "odd-type",
        Way("select id from odd", columns=odd("c", "struct<a':int>")),
        Way("select id from odd", columns=odd("c", "struct<a:int>")),
        meant=UNASKED,
    ),
)
