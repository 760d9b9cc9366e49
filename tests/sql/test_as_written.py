"""What an author writes reaches Spark: functions with all their arguments, tests as they bind."""

from __future__ import annotations

from datetime import datetime

import pytest
from tests.sql.test_refusals import CATALOG

from tapestry.errors import Refusal
from tapestry.sql import (
    Catalog,
    Column,
    Scan,
    Source,
    Window,
    relation_names,
    rewrite,
    static_answer,
)
from tapestry.sql.look.source_reads import readings

SCANS = {
    "db.messages": Scan("db.messages", "ts", "id"),
    "db.old": Scan("db.old", None, "id"),
}


def _rewritten(sql: str) -> str:
    text = rewrite(sql, CATALOG).incremental(Window(None, datetime(2026, 1, 1)), SCANS)
    return " ".join(text.split())


@pytest.mark.parametrize(
    "call",
    [
        "TO_CHAR(messages.id, '99G999')",
        "TO_CHAR(messages.ts, 'yyyy')",
        "TO_VARCHAR(messages.id, '9')",
        "PARSE_JSON('{}')",
        "UNIX_DATE(messages.d)",
        "DATE_FORMAT(messages.ts, 'dd.MM.')",
        "REGEXP_EXTRACT('a1', '([a-z])(1)', 2)",
        "MONTHS_BETWEEN(messages.ts, messages.due, FALSE)",
        "SPLIT('a,b', ',', 1)",
        "COLLATE('a', 'UTF8_LCASE')",
        "CAST(messages.id AS STRING COLLATE UTF8_LCASE)",
        "CAST(ARRAY('a') AS ARRAY<STRING COLLATE system.builtin.`UNICODE_CI`>)",
    ],
)
def test_calls_keep_their_name_and_arguments(call: str) -> None:
    assert f"{call} AS c" in _rewritten(f"select {call} as c from db.messages")


@pytest.mark.parametrize("name", ["datediff", "date_diff", "timediff", "timestampdiff"])
def test_a_difference_with_a_unit_counts_whole_units(name: str) -> None:
    """One rule of Spark's grammar; without a unit DATEDIFF counts midnights."""
    sql = f"select {name}(day, due, ts) as n, datediff(ts, due) as m from db.messages"
    written = _rewritten(sql)
    assert "TIMESTAMPDIFF(DAY, messages.due, messages.ts) AS n" in written
    assert "DATEDIFF(messages.ts, messages.due) AS m" in written


@pytest.mark.parametrize(
    "condition",
    [
        "'a' LIKE ANY ('a%', 'b%')",
        "NOT 'a' LIKE ALL ('a%', 'b%')",
        "messages.id = (messages.parent IN (1))",
        "(messages.id = 1) = (messages.parent = 1)",
        "messages.id = 1 IS NULL",
        "EXISTS(ARRAY(1), x -> x > messages.id) = TRUE",
    ],
)
def test_conditions_that_can_be_read_in_one_way_only(condition: str) -> None:
    assert rewrite(f"select id from db.messages where {condition}", CATALOG).strategy == "bounds"


@pytest.mark.parametrize(
    "hint", ["broadcast(m)", "MERGE(m, o), repartition(3)", "coalesce(1) mapjoin(o)", "not one"]
)
def test_a_hint_is_left_out_and_its_names_are_no_tables(hint: str) -> None:
    join = "m.id from db.messages m join db.old o on o.id = m.id and exists (select"
    plain = f"select {join} 1 from db.old p where p.id = m.parent)"
    hinted = plain.replace("select", f"select /*+ {hint} */")
    assert relation_names(hinted) == relation_names(plain)
    assert rewrite(hinted, CATALOG).canonical == rewrite(plain, CATALOG).canonical


@pytest.mark.parametrize(
    "call", ["max(o.id)", "mean(o.id)", "try_sum(o.id)", "any(o.id > 1)", "hll_sketch_agg(o.id)"]
)
def test_a_global_aggregate_exists_always(call: str) -> None:
    """Also where sqlglot does not know that a function of Spark's is an aggregate."""
    inner = f"select {call} from db.old o where o.id = m.id"
    text = _rewritten(f"select id from db.messages m where exists ({inner})")
    assert "EXISTS" not in text
    text = _rewritten("select id from db.messages m where exists (select o.id from db.old o)")
    assert "db.old" in text


@pytest.mark.parametrize(
    "joined",
    ["(db.recent v join db.old o on o.id = v.id)", "db.recent v join db.old o on o.id = v.id"],
)
def test_a_view_on_the_right_keeps_what_it_is_joined_with(joined: str) -> None:
    sql = f"select m.id, v.ts from db.messages m left join {joined} on v.id = m.id"
    assert "db.old" in _rewritten(sql)
    assert "visible_db_old" in static_answer(sql, CATALOG, datetime(2026, 1, 1), SCANS)


def test_a_table_whose_columns_get_other_names() -> None:
    sql = "select n, t from db.old as o(n, t), db.messages where db.messages.id = n"
    assert "o.id AS n, o.at AS t" in _rewritten(sql)
    static = static_answer(sql, CATALOG, datetime(2026, 1, 1), SCANS)
    assert "(SELECT * FROM visible_db_old AS o) AS o(n, t)" in static


TWINS = Catalog(
    {
        name: Source(name, (Column("id", "int"), Column("ts", "timestamp")), "ts")
        for name in ("a.b_c", "a_b.c")
    }
)


def test_two_sources_whose_names_run_together_are_two_in_the_definition() -> None:
    sql = "with visible_a_b_c as (select 1 as id) select p.id from a.b_c p join a_b.c q using (id)"
    scans = {name: Scan(name, "ts", "id") for name in TWINS.relations}
    static = static_answer(sql, TWINS, datetime(2026, 1, 1), scans)
    assert "visible_a_b_c_ AS (SELECT id, ts FROM a.b_c " in static
    assert "visible_a_b_c__ AS (SELECT id, ts FROM a_b.c " in static
    assert "FROM visible_a_b_c_ AS p JOIN visible_a_b_c__ AS q" in static


def test_tables_of_one_name_in_two_schemas_are_two_in_the_definition() -> None:
    columns = (Column("id", "int"), Column("ts", "timestamp"))
    catalog = Catalog({name: Source(name, columns, "ts") for name in ("a.e", "b.e")})
    scans = {name: Scan(name, "ts", "id") for name in catalog.relations}
    sql = "select a.e.id from a.e where exists (select 1 from b.e where b.e.id = a.e.id)"
    static = static_answer(sql, catalog, datetime(2026, 1, 1), scans)
    assert "SELECT e_1.id FROM visible_a_e AS e_1 WHERE" in static
    assert "FROM visible_b_e AS e_2 WHERE e_2.id = e_1.id" in static


@pytest.mark.parametrize("name", ["db.messages", "spark_catalog.db.messages", "DB.Messages"])
def test_a_column_behind_the_whole_name_of_its_table(name: str) -> None:
    sql = f"select db.messages.id from {name} where db.messages.ts < now()"
    scans = {name.lower(): SCANS["db.messages"]}
    catalog = Catalog({name.lower(): CATALOG.relations["db.messages"]})
    static = static_answer(sql, catalog, datetime(2026, 1, 1), scans)
    assert "SELECT messages.id FROM visible_" in static
    assert "WHERE messages.ts <" in static


def test_a_text_that_looks_like_an_instant_to_fill_in_stays_a_text() -> None:
    assert "'⟨t⟩' AS c" in _rewritten("select '⟨t⟩' as c from db.messages where db.messages.id = 1")
    with pytest.raises(Refusal, match=r"U\+FDD0"):
        _rewritten("select '\ufdd0t\ufdd1' as c from db.messages")


def test_a_star_over_joins_gives_columns_as_from_is_written() -> None:
    sql = (
        "select * except (parent, due, d, id) from db.messages m"
        " join (db.old o join (select 1 as a) p on true) on o.id = m.id"
        " join (select 2 as b) q on true"
    )
    assert rewrite(sql, CATALOG).columns == ("ts", "at", "a", "b")


def test_exists_does_not_care_for_a_limit() -> None:
    inner = "select 1 from db.old o where o.id = m.id"
    plain = _rewritten(f"select id from db.messages m where exists ({inner})")
    assert _rewritten(f"select id from db.messages m where exists ({inner} limit 1)") == plain


ODD = (
    *("id", "user", "order"),
    *("user-id", "größe", "not", "select", "from", "null", "true", "case", "a.b", "x`y", "1st"),
    "two words",
)


def test_odd_names_of_a_star_get_their_quotes() -> None:
    """The canonical text is read again; ``o.user-id`` would be a difference there."""
    columns = (*(Column(name, "int") for name in ODD), Column("ts", "timestamp"))
    catalog = Catalog({"db.odd": Source("db.odd", columns, "ts")})
    first = rewrite("select * from db.odd o where now() > o.ts", catalog)
    assert first.columns == (*ODD, "ts")
    again = rewrite(first.canonical, catalog)
    assert (again.canonical, again.columns) == (first.canonical, first.columns)
    scans = {"db.odd": Scan("db.odd", "ts", "1")}
    text = first.incremental(Window(None, datetime(2026, 1, 1)), scans)
    assert len(readings(text, scans)) == 1  # `explain` reads it again
    for name in ODD[3:]:
        quoted = "`" + name.replace("`", "``") + "`"
        assert f"o.{quoted} AS {quoted}" in text
        assert quoted in text.partition(" FROM db.odd")[0], "SELECT true is a constant"


def test_a_star_over_a_struct_is_refused() -> None:
    columns = (Column("s", "struct<a:int,b:int>"), Column("ts", "timestamp"))
    catalog = Catalog({"db.t": Source("db.t", columns, "ts")})
    for star in ("s.*", "t.s.*"):
        with pytest.raises(Refusal, match="a star over a struct"):
            rewrite(f"select {star} from db.t t", catalog)


def test_what_stands_behind_the_last_semicolon() -> None:
    plain = _rewritten("select id from db.messages")
    assert _rewritten("select id from db.messages;\n-- to be extended\n") == plain
    assert _rewritten("select id from db.messages; ;") == plain
    with pytest.raises(Refusal, match="is one SELECT"):
        rewrite("select id from db.messages; select 1 as one", CATALOG)


@pytest.mark.parametrize(
    "made",
    [
        "named_struct('Ab', id)",
        "struct(id AS Ab)",
        "CAST(NULL AS struct<Ab:int>)",
        "CAST(NULL AS array<struct<x:int,Ab:struct<`A b`:int>>>)",
    ],
)
def test_names_of_fields_keep_their_letters(made: str) -> None:
    assert "Ab" in _rewritten(f"select {made} as st from db.messages")


@pytest.mark.parametrize(
    ("made", "fields"),
    [
        ("struct((ID))", "o.id AS ID"),
        ("struct(st['F'], m.St.f)", None),
        ("struct(st['F'], o.St.f)", "o.st['F'] AS F, o.st.f AS f"),
        ("struct(list[0].g, o.`list`[0])", "o.`list`[0].g AS g, o.`list`[0] AS col2"),
        ("struct((Id) AS col1, 1)", "o.id AS col1, 1 AS col2"),
        ("named_struct('Ab', Id, \"c d\", 2)", "o.id AS Ab, 2 AS `c d`"),
        ("struct(*)", "o.Id AS Id"),
    ],
)
def test_fields_of_structs_are_named_as_spark_names_them(made: str, fields: str | None) -> None:
    columns = (
        Column("Id", "int"),
        Column("st", "struct<F:int>"),
        Column("list", "array<struct<g:int>>"),
        Column("ts", "timestamp"),
    )
    catalog = Catalog({"db.odd": Source("db.odd", columns, "ts")})
    text = f"select to_json({made}) as st from db.odd as o"
    if fields is None:
        with pytest.raises(Refusal):
            rewrite(text, catalog)
    else:
        canonical = " ".join(rewrite(text, catalog).canonical.split())
        assert f"TO_JSON(STRUCT({fields}" in canonical.replace("o.id AS Id", "o.Id AS Id")


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ("named_struct('a' || 'b', id)", "a name in named_struct"),
        ("named_struct(lower('A'), id)", "a name in named_struct"),
        ("named_struct('a', id, 'b')", "has no value"),
    ],
)
def test_a_field_whose_name_is_not_known_is_refused(made: str, message: str) -> None:
    with pytest.raises(Refusal, match=message):
        _rewritten(f"select to_json({made}) as st from db.messages")


@pytest.mark.parametrize(
    ("relation", "columns"),
    [
        ("(select id as Ab, PARENT from db.messages) q", ("Ab", "PARENT")),
        ("(select id as A from db.messages union select id as B from db.messages) q", ("A",)),
        ("(select q.* from (select (Id) from db.messages) q) r", ("Id",)),
        ("db.messages", ("id", "parent", "due")),
    ],
)
def test_a_star_keeps_the_letters_of_names(relation: str, columns: tuple[str, ...]) -> None:
    found = rewrite(f"select * from {relation}", CATALOG).columns
    assert found[: len(columns)] == columns


def test_a_star_in_struct_over_columns_of_an_alias_is_refused() -> None:
    with pytest.raises(Refusal, match="no names of their own"):
        _rewritten("select struct(*) as st from (select id from db.messages) as q(Ab)")


@pytest.mark.parametrize("name", ["list", "array"])
def test_an_element_of_a_column_with_the_name_of_a_constructor(name: str) -> None:
    columns = (Column(name, "array<int>"), Column("ts", "timestamp"))
    catalog = Catalog({"db.odd": Source("db.odd", columns, "ts")})
    text = f"select {name}[0] as a, o.{name}[1] as b, `{name}`[2] as c, array(1)[0] as d"
    canonical = rewrite(f"{text} from db.odd o", catalog).canonical
    items = (f"o.`{name}`[{place}] AS {c}" for place, c in enumerate("abc"))
    assert all(item in canonical for item in (*items, "ARRAY(1)[0] AS d"))
    assert rewrite(canonical, catalog).canonical == canonical


@pytest.mark.parametrize(
    "condition",
    [
        "(id <=> parent) = true and id > 3",
        "case when id <=> parent then id > 1 else false end",
        "id <=> parent or id in (1)",
        "(id <=> parent) > (parent > 1)",
        "id <=> (1 | (2 << 3))",
        "cast(id as string) <=> cast(array(1) as string)",
        "id is distinct from parent > 1",
    ],
)
def test_what_can_be_read_in_one_way_is_taken(condition: str) -> None:
    assert _rewritten(f"select id from db.messages where {condition}")


def test_a_case_compares_as_its_common_type() -> None:
    text = _rewritten(
        "select id from db.messages where case when now() < due then id else 2.5 end > 1"
    )
    assert "CAST(messages.id AS DECIMAL(11, 1)) > 1" in text


@pytest.mark.parametrize("value", ["ts - due", "interval 1 day + due", "parent * 1.5"])
def test_a_value_of_no_certain_type_is_null_of_none(value: str) -> None:
    """Where a join finds no match; a UNION gives a bare NULL the type of the others."""
    text = _rewritten(
        "select m.id, q.x from db.messages m left join"
        f" (select id, {value} as x from db.messages) q on q.id = m.id"
    )
    assert " NULL AS x" in text
