"""Slips in what is kept by keys are noticed: each mechanism is left out once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import pytest
from sqlglot import exp
from tests.property.test_kept_by_keys import check, random_change

from tapestry.sql.operators import choose_key, cut, reach
from tapestry.sql.operators.versions import TwoVersions, Version


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    found = duckdb.connect(config={"threads": 1})
    found.execute("SET TimeZone = 'UTC'")
    return found


def missing_new(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only rows that came in are looked at."""
    apart = TwoVersions.apart
    monkeypatch.setattr(
        TwoVersions, "apart", lambda self, alias: [v for v in apart(self, alias) if v is NEW]
    )


def deleted_meet_new(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that went out meet the partners of now."""
    relation = TwoVersions.relation
    monkeypatch.setattr(TwoVersions, "relation", lambda self, alias, _: relation(self, alias, NEW))


def no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time passes unseen."""
    monkeypatch.setattr(reach._Mentions, "clock", lambda _: iter(()))


def nulls_by_equality(monkeypatch: pytest.MonkeyPatch) -> None:
    """A NULL among the keys finds nothing."""
    is_among = cut.is_among

    def slipped(among: str, pairs: Any) -> exp.Exists:
        return is_among(among, pairs).transform(
            lambda node: exp.EQ(this=node.this, expression=node.expression)
            if isinstance(node, exp.NullSafeEQ) else node
        )  # fmt: skip

    monkeypatch.setattr(cut, "is_among", slipped)


def null_side_in_where(monkeypatch: pytest.MonkeyPatch) -> None:
    """A condition over what an outer join may leave out cuts the rows that are looked at."""
    monkeypatch.setattr(reach, "aliases_of", lambda _: set())


def equality_of_not_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """NOT IN looks at the rows that equal alone."""
    compared = reach._compared

    def slipped(query: exp.Expr, name: str) -> Any:
        for one in compared(query, name):
            yield one.find(exp.EQ)

    monkeypatch.setattr(reach, "_compared", slipped)


def no_moving_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound over a group stays where it is."""
    monkeypatch.setattr(reach._Mentions, "of_groups", lambda self, _: self.term(NEW, None, None))
    term = reach._Mentions.term

    def nothing(self: Any, *given: Any) -> exp.Query:
        found = term(self, *given)
        return found.where(exp.false()) if given == (NEW, None, None) else found

    monkeypatch.setattr(reach._Mentions, "term", nothing)


def one_side_of_full_join(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of a FULL JOIN has the key of its left side alone."""
    monkeypatch.setattr(choose_key.exp, "Coalesce", lambda this, expressions: this)


NEW = Version.NEW
SLIPS: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], str]] = {
    "only what came in": (missing_new, "SELECT m.k, count(*) AS c FROM m GROUP BY m.k"),
    "deleted rows meet the new state": (
        deleted_meet_new,
        "SELECT m.id, r.v FROM m JOIN r ON r.k = m.k",
    ),
    "no clock": (no_clock, "SELECT m.id FROM m WHERE m.ts > now() - {i}"),
    "NULL by =": (nulls_by_equality, "SELECT DISTINCT m.k FROM m"),
    "WHERE over the null side": (
        null_side_in_where,
        "SELECT m.id FROM m LEFT JOIN r ON r.k = m.k WHERE r.id IS NULL",
    ),
    "NOT IN by equality": (
        equality_of_not_in,
        "SELECT m.id FROM m WHERE m.k NOT IN (SELECT r.k FROM r WHERE {r})",
    ),
    "one side of a FULL JOIN": (
        one_side_of_full_join,
        "SELECT m.id, r.id AS r, m.v FROM m FULL JOIN r ON r.k = m.k",
    ),
    "no moving bounds": (
        no_moving_bounds,
        "SELECT m.k FROM m GROUP BY m.k HAVING max(m.ts) < now() - {i}",
    ),
}


@pytest.mark.parametrize("name", SLIPS)
def test_a_slip_is_noticed(
    name: str, connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    slip, template = SLIPS[name]
    for number in range(60):
        check(connection, random_change(number, template))
    slip(monkeypatch)

    def ask() -> None:
        for number in range(60):
            check(connection, random_change(number, template))

    with pytest.raises(AssertionError, match=r"is Counter|old rows"):
        ask()
