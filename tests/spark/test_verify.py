"""Runs that verify themselves on Spark: right ones pass, a mistake is never published."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from sqlglot import Token
from tests.spark.run_world import ALL, UNANSWERED, World, at, ids, question_of, writes

from tapestry.errors import ConfigurationError, VerificationFailed
from tapestry.instants import MICRO
from tapestry.runs.kinds.continuous.after.audit import audit
from tapestry.runs.kinds.registry import execute, prepare
from tapestry.runs.query import holding
from tapestry.sql import Rewriting
from tapestry.sql.read import parse
from tapestry.sql.read.read_tokens import SPARK

REPLIED = (
    "with replies as (select * from {s}.messages where parent is not null)"
    " select m.id, r.id as reply from {s}.messages m left join replies r on r.parent = m.id"
    " and now() < r.ts + interval 20 seconds where now() >= m.ts + interval 2 seconds"
)
AUTHORS = (
    "select distinct m.author from {s}.messages m where now() >= m.ts + interval 3 seconds"
    " union all select m.author from {s}.messages m where m.parent is null"
)


@pytest.mark.parametrize("small", [holding.SMALL, -1], ids=["held", "read anew"])
@pytest.mark.parametrize("level", ["full", "sample"])
@pytest.mark.parametrize("sql", [UNANSWERED, REPLIED, AUTHORS], ids=["anti", "left", "values"])
def test_right_runs_pass(
    world: World, sql: str, level: str, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Window after window, with a late row, a twin and a row without ts; the results say so."""
    monkeypatch.setattr(holding, "SMALL", small)
    model = world.model(sql, verify=level, verify_share=0.5)
    for seconds in (8, 12, 17, 29):
        outcome = world.run(model, seconds)
        if outcome.action == "nothing":
            continue
        kinds = {result.kind: result for result in outcome.results}
        assert {result.status for result in outcome.results} == {"pass"}
        assert {result.level for result in outcome.results} == {level}
        assert set(kinds) == {"enough", "not_too_much"}
        if seconds == 8:
            world.add((4, "c", None, 6), (5, "b", 1, 9), (5, "b", 1, 9))
        if seconds == 12:
            world.add((6, "a", 4, 13), (7, "d", 5, 3))
    audited = audit(world.session, model, world.invocation(50), level, 1)
    assert {result.status for result in audited.results} == {"pass"}
    assert sum(result.checked_rows or 0 for result in audited.results)


@pytest.mark.parametrize("level", ["full", "sample"])
def test_before_the_first_arrival_nothing_is_missing(world: World, level: str) -> None:
    """The look-up table has answers then, but time has not begun: a run delivers none of them."""
    world.session.run(f"create table {world.schema}.people (author string) using delta")
    world.session.run(f"insert into {world.schema}.people values ('a'), ('z')")
    sql = (
        "select p.author from {s}.people p where not exists"
        " (select 1 from {s}.messages m where m.author = p.author)"
    )
    model = world.model(sql, verify=level)
    model = replace(model, arrivals={**model.arrivals, f"{world.schema}.people": ("static",)})
    for seconds, answers in ((-5, []), (-2, []), (0, ["z"]), (9, ["z"])):
        outcome = world.run(model, seconds)
        assert {result.status for result in outcome.results} <= {"pass"}
        assert ids(world.answers(columns="author")) == answers
        audited = audit(world.session, model, world.invocation(50), level, 1)
        assert {result.status for result in audited.results} == {"pass"}


@pytest.mark.parametrize("rule", ["fail", "accept"])
@pytest.mark.parametrize("level", ["full", "sample"])
def test_an_audit_finds_what_is_lost_and_what_is_too_much(
    world: World, level: str, rule: str
) -> None:
    """Rows that somebody deleted or added; where a run would refuse them that is told besides."""
    model = world.model(ALL, verify="off", on_target_change=rule, verify_share=1)
    world.run(model, 8)
    world.session.run(f"delete from {world.schema}.target where id = 2")
    world.session.run(
        f"insert into {world.schema}.target select 9, 'z', _matched_at"
        f" from {world.schema}.target where id = 1"
    )
    audited = audit(world.session, model, world.invocation(9), level)
    assert (audited.t, audited.runs) == (at(8), 1)
    found = {result.kind: result.details["rows"][0]["row"]["id"] for result in audited.results}
    assert found == {"enough": "2", "not_too_much": "9"}
    assert (audited.changed is None) == (rule == "accept")


@pytest.mark.parametrize("value", ["map('k', id)", "array(named_struct('m', map(id, author)))"])
@pytest.mark.parametrize("level", ["full", "sample"])
def test_an_audit_says_what_it_cannot_compare(world: World, value: str, level: str) -> None:
    """A MAP has no order and no equality: said as the run says it, not as Spark does."""
    model = world.model(ALL.replace("select ", f"select {value} as odd, ", 1), verify=level)
    world.run(model, 8)
    audited = audit(world.session, model, world.invocation(9), level)
    assert {(result.status, result.details["message"]) for result in audited.results} == {
        ("error", "values of odd, a MAP, cannot be compared")
    }


def test_a_mistake_is_not_published(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lost answer and an invented one: the run fails, its rows are kept, the next run goes on."""
    model = world.model(UNANSWERED, verify="full")
    world.run(model, 8)
    world.add((4, "c", None, 6))
    right = Rewriting.incremental

    def wrong(self: Rewriting, *args: Any, **more: Any) -> str:
        text = right(self, *args, **more)
        key = ", _key" if more.get("keyed") else ""
        return f"select id + 10 as id, author, _matched_at{key} from ({text})"

    monkeypatch.setattr(Rewriting, "incremental", wrong)
    invocation = world.invocation(20)
    with pytest.raises(VerificationFailed, match="missing") as error:
        execute(world.session, prepare(world.session, model, invocation), invocation)
    assert len(str(error.value).splitlines()) <= 5
    (entry,) = invocation.log
    results = {result.kind: result for result in entry.found.results}
    assert results["enough"].status == results["not_too_much"].status == "fail"
    details = json.loads(json.dumps(results["enough"].details))
    assert details["instants"]
    assert details["rows"][0]["row"]["id"] in ("1", "3", "4")
    assert details["rows"][0]["key"]
    staged = world.session.rows(f"select id from {world.schema}.target__staged")
    assert sorted(ids(staged)) == [11, 13, 14]
    assert world.answers() == []

    monkeypatch.setattr(Rewriting, "incremental", right)
    world.run(model, 21)
    assert ids(world.answers()) == [1, 3, 4]


def test_warn_publishes_what_is_wrong(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """``on_verify_failure: warn``: the outcome says what was found."""
    right = Rewriting.incremental

    def wrong(self: Rewriting, *args: Any, **more: Any) -> str:
        return f"select * from ({right(self, *args, **more)}) where id <> 2"

    monkeypatch.setattr(Rewriting, "incremental", wrong)
    model = world.model(ALL, verify="full", on_verify_failure="warn")
    outcome = world.run(model, 8)
    assert [result.status for result in outcome.results] == ["warn", "pass"]
    assert any("enough" in warning for warning in outcome.warnings)
    assert ids(world.answers()) == [1, 3]
    assert at(8) == outcome.t


@pytest.mark.parametrize("name", ["_key", "_s", "_T_at"])
def test_a_column_called_like_one_of_ours(world: World, name: str) -> None:
    """It is refused before anything is read; without checks it is a column like any other."""
    sql = f"select m.id as {name} from {{s}}.messages m"
    model = world.model(sql, verify="sample")
    with pytest.raises(ConfigurationError, match=f"holds {name}, .*is verified") as error:
        world.run(model, 8)
    assert "verify: off" in str(error.value)
    world.run(world.model(sql, verify="off"), 8)
    assert ids(world.answers(columns=name)) == [1, 2, 3]


def test_a_query_that_cannot_be_computed_says_so_itself(world: World) -> None:
    """Its rows are computed by what checks them; the error is the query's, not a check's."""
    sql = (
        "select if(m.id < 9, m.id, cast(raise_error('an id of nine') as int)) as id"
        " from {s}.messages m where m.parent is null"
    )
    model = world.model(sql, verify="sample")
    world.run(model, 8)
    published = world.answers()
    world.add((9, "c", None, 9))
    with pytest.raises(Exception, match="an id of nine") as error:
        world.run(model, 12)
    assert not isinstance(error.value, VerificationFailed)
    assert world.answers() == published


def test_where_rows_become_ripe_is_looked_at(world: World) -> None:
    """Those that turn ten seconds old in (12, 30], wherever the window's own arrivals lie."""
    model = world.model(UNANSWERED, verify="sample")
    world.run(model, 12)
    world.add((4, "c", None, 25))
    planned = world.plan_rows(model, 30)
    assert question_of(planned).ripe == ((at(2), at(20) + MICRO),)


def test_a_text_that_fails_for_values_that_no_row_has(world: World) -> None:
    """Nobody knows then where rows become ripe; the run is made and checked all the same."""
    sql = "select m.id from {s}.messages m where cast(unix_timestamp(m.ts) as int) + 10"
    model = world.model(sql + " <= unix_timestamp(now())", verify="sample")
    world.run(model, 12)
    world.add((4, "c", None, 15))
    invocation = world.invocation(30)
    planned = writes(prepare(world.session, model, invocation))
    assert question_of(planned).ripe == ()
    outcome = execute(world.session, planned, invocation)
    assert {result.status for result in outcome.results} == {"pass"}
    assert (4, 25.0) in world.answers()


LENGTHS = (
    "select m.id from {s}.messages m where now() >= m.ts + interval '1 second' * 90"
    " and now() < m.ts + interval '1' minute '2' seconds * 2 + interval -'1' second"
)
"""Its answers begin after 90 seconds and end after 123; read as a sum, they would end after 63."""


@pytest.mark.parametrize("level", ["full", "sample"])
def test_a_literal_of_two_units_is_one_length(world: World, level: str) -> None:
    outcome = world.run(world.model(LENGTHS, verify=level), 100)
    assert {result.status for result in outcome.results} == {"pass"}
    for result in outcome.results:
        assert str(result.details["own_text"]).startswith("asked at ")
    rows = world.session.rows(f"select id from {world.schema}.messages where ts is not null")
    assert ids(world.answers()) == sorted(id_ for (id_,) in rows)


def _as_a_sum(tokens: Sequence[Token], sql: str) -> list[Token]:
    """Read ``interval '1' minute '2' seconds * 2`` as a sum: only the seconds are doubled."""
    between, read = SPARK.tokenize("+ interval"), []
    units = [token.text.lower() for token in tokens]
    for place, token in enumerate(tokens):
        if units[place : place + 3] == ["minute", "2", "seconds"]:
            read += [token, *between]
        else:
            read.append(token)
    return read


@pytest.mark.parametrize("level", ["full", "sample"])
def test_a_text_that_is_read_wrongly_is_noticed_though_both_readings_agree(
    world: World, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a run computes and what it is compared with come from one reading; the text does not."""
    monkeypatch.setattr(parse, "bind_tokens", _as_a_sum)
    monkeypatch.setattr(parse, "refuse_read_otherwise", lambda tree, read: None)
    model = world.model(LENGTHS, verify=level)
    with pytest.raises(VerificationFailed, match="by the query's own text"):
        world.run(model, 100)
    published = world.session.rows(f"show tables in {world.schema} like 'target'")
    assert not published or world.answers() == []
