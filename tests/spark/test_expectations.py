"""Expectations on new rows: counted, dropped, failed on, and refused before any data is read."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest
from tests.spark.run_world import ALL, World, ids, writes

from tapestry.errors import AssumptionWrong, ConfigurationError, ExpectationFailed
from tapestry.runs.kinds.registry import execute, prepare
from tapestry.runs.protocol.log import write_checks, write_log

NOT_B = {"name": "not_b", "expect": "author <> 'b'"}


def rejected(world: World) -> list[tuple[Any, ...]]:
    """What stands in the table of rejected rows."""
    columns = "id, n, array_join(expectations, ',')"
    rows = world.session.rows(f"select {columns} from {world.schema}.target__rejected")
    return sorted(tuple(row) for row in rows)


def exists(world: World, name: str) -> bool:
    return bool(world.session.rows(f"show tables in {world.schema} like '{name}'"))


def test_warn_counts_and_publishes(world: World) -> None:
    model = world.model(ALL, expectations=[NOT_B, {"expect": "id < 3"}, {"expect": "id > 0"}])
    outcome = world.run(model, 10)
    assert [(r.name, r.status, r.violations, r.checked_rows) for r in outcome.results] == [
        ("not_b", "warn", 1, 3),
        ("id < 3", "warn", 1, 3),
        ("id > 0", "pass", 0, 3),
    ]
    assert outcome.results[0].details["row"]["id"] == 2
    assert ids(world.answers()) == [1, 2, 3]
    assert outcome.rejected_rows == 0
    assert "2 warned" in str(outcome)
    assert not exists(world, "target__rejected")
    assert not exists(world, "target__staged")


def test_drop_moves_rows_aside(world: World) -> None:
    model = world.model(
        ALL,
        expectations=[
            {**NOT_B, "on_violation": "drop"},
            {"name": "small", "expect": "target.id < 5", "on_violation": "drop"},
            {"name": "tiny", "expect": "id < 2"},
        ],
    )
    assert world.run(model, 10).rejected_rows == 1
    assert ids(world.answers()) == [1, 3]
    world.add((4, "b", None, 11), (5, "b", None, 12), (6, "a", None, 13), (7, "", 7, 13))
    outcome = world.run(model, 20)
    assert outcome.rejected_rows == 4
    assert ids(world.answers()) == [1, 3]
    assert rejected(world) == [
        (2, 1, "not_b,tiny"),
        (4, 2, "not_b,tiny"),
        (5, 2, "not_b,small,tiny"),
        (6, 2, "small,tiny"),
        (7, 2, "small,tiny"),
    ]
    matched = world.session.rows(
        f"select unix_seconds(_matched_at), run_id from {world.schema}.target__rejected where id=4"
    )
    assert matched[0][0] == int(datetime(2026, 1, 1, 0, 0, 11, tzinfo=timezone.utc).timestamp())
    assert world.run(model, 20).action == "nothing"


def test_a_refresh_begins_with_its_own_rejected_rows(world: World) -> None:
    model = world.model(ALL, expectations=[{**NOT_B, "on_violation": "drop"}])
    world.run(model, 10)
    world.run(model, 20, full_refresh=True)
    assert rejected(world) == [(2, 1, "not_b")]
    world.run(world.model(ALL), 30, full_refresh=True)
    assert rejected(world) == []
    assert ids(world.answers()) == [1, 2, 3]


def test_fail_publishes_nothing_and_the_corrected_run_loses_nothing(world: World) -> None:
    model = world.model(ALL, expectations=[{**NOT_B, "on_violation": "fail"}])
    world.run(world.model(ALL), 2)
    world.add((4, "b", None, 6), (5, "c", None, 7), (6, "late", None, 1))
    before = world.answers()
    for t in (10, 12):  # it fails as often as it is run
        with pytest.raises(ExpectationFailed, match=r"not_b \(1 row\)") as error:
            world.run(model, t)
        assert len(str(error.value).splitlines()) <= 5
        assert world.answers() == before
        staged = f"select id from {world.schema}.target__staged where _broken = array('not_b')"
        assert ids(world.session.rows(staged)) == [4]
    world.add((7, "c", None, 13))
    world.recall = type(world.recall)()
    corrected = world.model(ALL, expectations=[NOT_B])
    world.run(corrected, 20)
    late_at = 2.000001
    assert world.answers() == [
        (1, 0.0),
        (2, 1.0),
        (3, 5.0),
        (4, 6.0),
        (5, 7.0),
        (6, late_at),
        (7, 13.0),
    ]
    assert not exists(world, "target__staged")
    failed = world.session.rows(
        f"select n, failed_at is not null from {world.schema}.tapestry_state order by n"
    )
    assert [tuple(row) for row in failed] == [(1, False), (2, True), (3, True), (4, False)]
    world.add((8, "c", None, 25))
    world.run(corrected, 30)
    assert ids(world.answers())[-1] == 8


def test_a_corrected_query_after_a_failure(world: World) -> None:
    """The text that failed never was in force: going back to the old one is no change at all."""
    wanted = [{**NOT_B, "on_violation": "fail"}]
    world.run(world.model(ALL + " where id <> 2", expectations=wanted), 2)
    changed = world.model(ALL, expectations=wanted, on_query_change="continue")
    world.add((4, "b", None, 6))
    with pytest.raises(ExpectationFailed):
        world.run(changed, 10)
    other = world.model(
        ALL + " where author <> 'b'", expectations=wanted, on_query_change="continue"
    )
    world.run(other, 12)
    assert world.answers() == [(1, 0.0), (3, 5.0)]
    ((begin,),) = world.session.rows(
        f"select max_by(get_json_object(own, '$.begin'), n) from {world.schema}.tapestry_state"
    )
    assert int(begin) == datetime(2026, 1, 1, 0, 0, 2, tzinfo=timezone.utc).timestamp() * 1e6


def test_a_first_run_that_fails(world: World) -> None:
    wanted = [{**NOT_B, "on_violation": "fail"}]
    with pytest.raises(ExpectationFailed):
        world.run(world.model(ALL, expectations=wanted), 10)
    assert not exists(world, "target")
    world.run(world.model(ALL), 12)
    with pytest.raises(ExpectationFailed):
        world.run(world.model(ALL, expectations=wanted), 20, full_refresh=True)
    assert ids(world.answers()) == [1, 2, 3]
    world.add((4, "c", None, 30))
    assert world.run(world.model(ALL), 40).action == "append"
    assert ids(world.answers()) == [1, 2, 3, 4]


def test_null_is_neither_a_pass_nor_a_violation(world: World) -> None:
    world.session.run(f"insert into {world.schema}.messages values (9, null, null, null)")
    sql = "select m.id, nullif(m.author, 'a') as author from {s}.messages m"
    model = world.model(
        sql,
        expectations=[
            {"name": "compared", "expect": "author = 'x'", "on_violation": "drop"},
            {"name": "known", "expect": "author is not null"},
            {"name": "never", "expect": "null"},
        ],
    )
    outcome = world.run(model, 10)
    assert [r.violations for r in outcome.results] == [1, 2, 0]
    assert ids(world.answers()) == [1, 3]


def test_subqueries_read_other_tables_at_their_pins(world: World) -> None:
    world.session.run(
        f"create table {world.schema}.known using delta as select 'a' as name union all select null"
    )
    listed = f"author in (select name from {world.schema}.known k)"
    model = world.model(
        ALL,
        expectations=[
            {"name": "listed", "expect": listed, "on_violation": "drop"},
            {
                "name": "seen",
                "expect": f"exists (select 1 from {world.schema}.known where name = target.author)",
            },
            {
                "name": "unlisted",
                "expect": f"author not in (select name from {world.schema}.known"
                " where name is not null)",
            },
        ],
    )
    invocation = world.invocation(10)
    planned = writes(prepare(world.session, model, invocation))
    assert "known` VERSION" not in planned.rows.expected[0].condition
    assert f"{world.schema}.known VERSION AS OF 0 k" in planned.rows.expected[0].condition
    world.session.run(f"delete from {world.schema}.known")
    outcome = execute(world.session, planned, invocation)
    # with NULL in the list, b is not known not to be there: no violation
    assert [r.violations for r in outcome.results] == [0, 1, 2]
    assert ids(world.answers()) == [1, 2, 3]


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ({"expect": "authr is not null"}, "no column authr.*did you mean author"),
        ({"expect": "target.autor is not null"}, "no column .*autor.*did you mean author"),
        ({"expect": "id"}, "its type is int"),
        ({"expect": "author"}, "its type is string"),
        ({"expect": "sum(id) > 1"}, "about several rows"),
        ({"expect": "row_number() over (order by id) > 1"}, "about several rows"),
        ({"expect": "id > 1 from x"}, "more than one expression"),
        ({"expect": "id > 1, id > 2"}, "more than one expression"),
        ({"expect": "id > (1"}, "not a condition"),
        ({"expect": "lenght(author) > 1"}, "lenght"),
        ({"expect_column_value_to_not_be_null": {"column": "id"}}, "expect_column_values_to_not"),
        ({"expect_column_values_to_not_be_null": {"column": "autor"}}, "did you mean author"),
        ({"expect_column_values_to_not_be_null": {"colum": "id"}}, "did you mean column"),
        ({"expect_column_values_to_be_between": {"column": "id", "max_valu": 1}}, "max_value"),
        (
            {"expect_column_mean_to_be_between": {"column": "id", "max_valu": 1}},
            "no argument max_v",
        ),
        ({"expect_column_mean_to_be_between": {"column": "ids", "max_value": 1}}, "mean id"),
        ({"expect_column_values_to_be_between": {"column": "id", "mostly": 2}}, "from 0 to 1"),
        (
            {"expect_column_values_to_be_unique": {"column": "id", "on_violation": "fail"}},
            "on_violation stands beside expect_column_values_to_be_unique, not among",
        ),
        (
            {
                "expect_column_max_to_be_between": {"column": "id", "max_value": 9},
                "on_violation": "drop",
            },
            "about all of them",
        ),
    ],
)
def test_refused_before_any_data_is_read(world: World, wanted: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=f"(?s){told}") as error:
        world.run(world.model(ALL, expectations=[{"expect": "id > 0"}, wanted]), 10)
    assert len(str(error.value).splitlines()) <= 5
    assert "models/target.sql" in str(error.value)
    assert not exists(world, "tapestry_state")


def test_an_expectation_that_cannot_be_computed(world: World) -> None:
    wrong = {"name": "wrong", "expect": "if(id = 2, raise_error('two') is null, true)"}
    good = [NOT_B, {"expect": "id > 0"}]
    outcome = world.run(world.model(ALL, expectations=[wrong, *good]), 10)
    assert [(r.status, r.violations) for r in outcome.results] == [
        ("error", 0),
        ("warn", 1),
        ("pass", 0),
    ]
    assert "two" in outcome.results[0].details["message"]
    assert ids(world.answers()) == [1, 2, 3]
    for rule in ("drop", "fail"):
        name = f"with_{rule}"
        model = world.model(ALL, name, expectations=[{**wrong, "on_violation": rule}, *good])
        with pytest.raises(ExpectationFailed, match=r"wrong .error"):
            world.run(model, 10)
        assert not exists(world, name)


def test_an_error_of_the_query_is_its_own(world: World) -> None:
    sql = "select m.id, if(m.id = 2, raise_error('mine'), m.author) as author from {s}.messages m"
    invocation = world.invocation(10)
    planned = prepare(world.session, world.model(sql, expectations=[NOT_B]), invocation)
    with pytest.raises(Exception, match="mine") as error:
        execute(world.session, planned, invocation)
    assert not isinstance(error.value, ExpectationFailed)
    write_log(world.session, runs := f"{world.schema}.tapestry_runs", "i", invocation.log)
    ((action, message),) = world.session.rows(f"select action, message from {runs}")
    assert action == "failed"
    assert "TASK_WRITE_FAILED" in message or "mine" in message


def test_tables_of_others_are_left_alone(world: World) -> None:
    dropping = world.model(ALL, expectations=[{**NOT_B, "on_violation": "drop"}])
    for name in ("target__staged", "target__rejected"):
        world.session.run(f"create table {world.schema}.{name} using delta as select 1 as mine")
        with pytest.raises(ConfigurationError, match="somebody else's"):
            world.run(dropping, 10)
        assert world.session.rows(f"select * from {world.schema}.{name}") == [(1,)]
        world.session.run(f"drop table {world.schema}.{name}")
    world.run(dropping, 10)
    assert ids(world.answers()) == [1, 3]


def test_an_assumption_that_does_not_hold(world: World) -> None:
    """Nothing is published; the corrected data's run covers the same time."""
    sql = (
        "select m.id from {s}.messages m where exists"
        " (select 1 from {s}.messages r where r.parent = m.id)"
    )
    assume = {"assume": ["r.ts >= m.ts"]}
    world.run(world.model(sql, **assume), 4)
    world.add((4, "c", 5, 6), (5, "c", None, 7))
    with pytest.raises(AssumptionWrong, match="1 pair"):
        world.run(world.model(sql, **assume), 10)
    world.run(world.model(sql), 12)
    assert world.answers() == [(2, 5.0), (5, 7.0)]


def test_two_hundred_expectations_in_one_pass(world: World) -> None:
    many = [{"name": f"e{k}", "expect": f"id <> {k % 5} or {k} < 0"} for k in range(200)]
    model = world.model(ALL, expectations=many)
    world.session.texts.clear()  # type: ignore[attr-defined]
    outcome = world.run(model, 10)
    assert [r.violations for r in outcome.results] == [int(k % 5 in (1, 2, 3)) for k in range(200)]
    texts = world.session.texts  # type: ignore[attr-defined]
    reading = [t for t in texts if "__staged` VERSION" in t]
    assert len(reading) <= 2  # one counts, one publishes


TYPES = """
select m.id, cast(m.id as tinyint) as t1, cast(m.id as smallint) as t2, cast(m.id as bigint) as t3,
 cast(m.id as float) as t4, cast('nan' as double) as t5, cast(m.id as decimal(38, 18)) as t6,
 m.author as t7, cast(m.author as binary) as t8, m.id > 1 as t9, m.ts as t10,
 cast(m.ts as timestamp_ntz) as t11, cast(m.ts as date) as t12, array(m.id, null) as t13,
 map(m.id, m.author) as t14, named_struct('ab', m.id, 'c', array(m.author)) as t15,
 parse_json('{{"a": 1}}') as t16, cast(m.author as varchar(9)) as t17, m.id as n,
 m.id as generation, m.id as `_broken`, m.author as run_id
from {s}.messages m
"""


def test_a_column_of_each_type(world: World) -> None:
    names = [f"t{k}" for k in range(1, 18)]
    model = world.model(
        TYPES,
        expectations=[
            *({"expect": f"{name} is null"} for name in names),
            {"name": "drops", "expect": "id <> 2", "on_violation": "drop"},
        ],
    )
    outcome = world.run(model, 10)
    assert [r.violations for r in outcome.results] == [3] * 17 + [1]
    assert all("row" in r.details for r in outcome.results)
    assert ids(world.answers()) == [1, 3]
    assert ids(world.answers("target__rejected")) == [2]
    world.add((12, "b", None, 11))
    world.run(model, 20)
    assert ids(world.answers()) == [1, 3, 12]
    types = "select typeof(struct(t6, t11, t15, t16)) from {}.{} limit 1"
    assert world.session.rows(types.format(world.schema, "target")) == world.session.rows(
        types.format(world.schema, "target__rejected")
    )


def test_rejected_rows_take_on_new_columns(world: World) -> None:
    wanted = [{**NOT_B, "on_violation": "drop"}]
    world.run(world.model(ALL, expectations=wanted), 4)
    world.add((4, "b", 1, 6))
    model = world.model(
        "select m.id, m.author, m.parent from {s}.messages m",
        expectations=wanted,
        on_query_change="continue",
        on_schema_change="append_new_columns",
    )
    world.run(model, 10)
    rows = world.session.rows(f"select id, parent from {world.schema}.target__rejected order by id")
    assert [tuple(row) for row in rows] == [(2, None), (4, 1)]


def test_the_logs(world: World) -> None:
    """Written once an invocation; a table of an older version gets the new columns."""
    runs, checks = f"{world.schema}.tapestry_runs", f"{world.schema}.tapestry_checks"
    world.session.run(
        f"create table {runs} (invocation_id string, model string, n bigint) using delta"
    )
    model = world.model(ALL, expectations=[NOT_B, {"expect": "id <> 3", "on_violation": "fail"}])
    one, two = world.invocation(3), world.invocation(10)
    execute(world.session, prepare(world.session, model, one), one)
    with pytest.raises(ExpectationFailed):
        execute(world.session, prepare(world.session, model, two), two)
    for invocation in (one, two):
        write_log(world.session, runs, "i", invocation.log)
        write_checks(world.session, checks, "i", invocation.log)
    columns = (
        "n, action, new_rows, files_written > 0, bytes_written > 0, message is null, verification"
    )
    rows = world.session.rows(f"select {columns} from {runs} order by n")
    assert [tuple(row) for row in rows] == [
        (1, "create", 2, True, True, True, "off"),
        (2, "failed", 0, None, None, False, "off"),
    ]
    rows = world.session.rows(
        "select n, name, status, checked_rows, violations, get_json_object(details, '$.row.id')"
        f" from {checks} order by n, name"
    )
    assert [tuple(row) for row in rows] == [
        (1, "id <> 3", "pass", 2, 0, None),
        (1, "not_b", "warn", 2, 1, "2"),
        (2, "id <> 3", "fail", 1, 1, "3"),
        (2, "not_b", "pass", 1, 0, None),
    ]
