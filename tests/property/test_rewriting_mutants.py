"""Do these tests notice? Each mutant breaks the rewriting in one way; few random queries must tell.

Most mutants change the rendered SQL, as a slip in a strategy would; some change what it is given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import sqlglot
from judge.case import random_case
from judge.oracle import connect
from judge.verdict import judge
from sqlglot import exp

from tapestry.sql import rewrite

WITHIN = 400  # random queries
RARE = {"the guards against NULL are lost": 240}  # the query to begin with: none before it tells
LONGEST = 12_000  # characters of rendered SQL: longer ones are not mutated
Change = Callable[[exp.Expr], exp.Expr | None]


def _drop_branch(node: exp.Expr) -> exp.Expr | None:
    return node.left if isinstance(node, exp.Union) and not node.args.get("distinct") else None


def _bounds(kind: type[exp.Binary], other: type[exp.Binary]) -> Change:
    def change(node: exp.Expr) -> exp.Expr | None:
        return other(this=node.this, expression=node.expression) if type(node) is kind else None

    return change


def _nothing_is_null(node: exp.Expr) -> exp.Expr | None:
    """Guards of bounds, null-aware NOT IN. (Queries with IS of their own are left out.)"""
    lost = isinstance(node, exp.Is) and isinstance(node.expression, exp.Null)
    return exp.false() if lost else None


def _plain_equality(node: exp.Expr) -> exp.Expr | None:
    return (
        exp.EQ(this=node.this, expression=node.expression)
        if isinstance(node, exp.NullSafeEQ)
        else None
    )


def _forget_history(node: exp.Expr) -> exp.Expr | None:
    forgets = isinstance(node, exp.Not) and isinstance(node.this, exp.Exists)
    tables = [table.name for table in node.find_all(exp.Table)] if forgets else []
    return exp.true() if any(name.endswith("earlier") for name in tables) else None


def _skip_blocking(node: exp.Expr) -> exp.Expr | None:
    blocks = isinstance(node, exp.Not) and isinstance(node.this, exp.Exists)
    tables = [table.name for table in node.find_all(exp.Table)] if blocks else []
    return exp.true() if any(name.startswith("read_") for name in tables) else None


def _keep_later_starts(node: exp.Expr) -> exp.Expr | None:
    ranks = isinstance(node, exp.EQ) and node.this.name == "_rank"
    return exp.true() if ranks else None


TEXTS: dict[str, tuple[Change, bool]] = {  # the change, and whether it is made in every place
    "a branch of the split is dropped": (_drop_branch, False),
    "every < is <=": (_bounds(exp.LT, exp.LTE), True),
    "every <= is <": (_bounds(exp.LTE, exp.LT), True),
    "every > is >=": (_bounds(exp.GT, exp.GTE), True),
    "the guards against NULL are lost": (_nothing_is_null, True),
    "keys compare with =": (_plain_equality, True),
    "answers before the window are forgotten": (_forget_history, True),
    "blocking rows are ignored": (_skip_blocking, True),
    "every start of an answer is delivered": (_keep_later_starts, True),
}


class Mutant:
    """A rewriting with one slip."""

    def __init__(self, rewriting: Any, change: Change, everywhere: bool) -> None:
        self.rewriting, self.change, self.everywhere = rewriting, change, everywhere

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rewriting, name)

    def reading(self, apart: Any, joined: Any) -> Mutant:
        """The same with the slip, some uses read by a scan of their own."""
        return Mutant(self.rewriting.reading(apart, joined), self.change, self.everywhere)

    def knowing(self, measured: Any) -> Mutant:
        """The same with the slip, where this was measured."""
        return Mutant(self.rewriting.knowing(measured), self.change, self.everywhere)

    def joining(self, names: Any) -> Mutant:
        """The same with the slip, its tables joined in another order."""
        return Mutant(self.rewriting.joining(names), self.change, self.everywhere)

    def incremental(self, window: Any, scans: Any, dialect: str, few: bool = False) -> str:
        """The rendered SQL, changed."""
        text: str = self.rewriting.incremental(window, scans, dialect=dialect, few=few)
        if len(text) > LONGEST:
            return text
        done = False

        def change(node: exp.Expr) -> exp.Expr:
            nonlocal done
            new = None if done else self.change(node)
            done = new is not None and not self.everywhere
            return node if new is None else new

        return sqlglot.parse_one(text, dialect="duckdb").transform(change).sql("duckdb")


class Given(Mutant):
    """A rewriting that is given something else."""

    def __init__(self, rewriting: Any, changed: Callable[[Any, Any], tuple[Any, Any]]) -> None:
        self.rewriting, self.changed = rewriting, changed

    def reading(self, apart: Any, joined: Any) -> Given:
        """The same, some uses read by a scan of their own."""
        return Given(self.rewriting.reading(apart, joined), self.changed)

    def knowing(self, measured: Any) -> Given:
        """The same, where this was measured."""
        return Given(self.rewriting.knowing(measured), self.changed)

    def joining(self, names: Any) -> Given:
        """The same, its tables joined in another order."""
        return Given(self.rewriting.joining(names), self.changed)

    def incremental(self, window: Any, scans: Any, dialect: str, few: bool = False) -> str:
        """The SQL for a changed window or changed scans."""
        changed = self.changed(window, scans)
        return str(self.rewriting.incremental(*changed, dialect=dialect, few=few))


def _scans(**changes: Any) -> Callable[[Any, Any], tuple[Any, Any]]:
    return lambda window, scans: (
        window,
        {name: replace(scan, **changes) for name, scan in scans.items()},
    )


GIVEN: dict[str, Callable[[Any, Any], tuple[Any, Any]]] = {
    "late rows are taken for punctual": _scans(late=False),
    "rows of a table are one row": _scans(row_id="1"),
    "every window is the first": lambda window, scans: (replace(window, tau=None), scans),
}


def _caught(make: Callable[[Any], Any], first: int = 0) -> int | None:
    """The number of the query that tells, or None."""
    connection = connect()

    def mutated(*args: Any, **more: Any) -> Any:
        return make(rewrite(*args, **more))

    for number in range(first, WITHIN):
        case = random_case(number)
        if " IS " in case.sql:
            continue
        verdict = judge(case, connection, mutated)
        if verdict.kind == "different":
            return number
    return None


@pytest.mark.parametrize("name", TEXTS)
def test_a_slip_in_the_rendered_sql_is_noticed(name: str) -> None:
    """A changed text gives other answers for one of the first queries."""
    number = _caught(lambda rewriting: Mutant(rewriting, *TEXTS[name]), RARE.get(name, 0))
    assert number is not None, name
    print(f"{name}: query {number}")


@pytest.mark.parametrize("name", GIVEN)
def test_a_slip_in_the_parameters_is_noticed(name: str) -> None:
    """A changed window or scan gives other answers for one of the first queries."""
    number = _caught(lambda rewriting: Given(rewriting, GIVEN[name]))
    assert number is not None, name
    print(f"{name}: query {number}")


def test_a_lost_begin_is_noticed() -> None:
    """`begin` bounds the instants."""
    connection = connect()
    cases = (case for number in range(WITHIN) if (case := random_case(number)).begin is not None)

    def forgetful(sql: str, catalog: Any, assume: Any, begin: Any) -> Any:
        return rewrite(sql, catalog, assume=assume)

    assert any(judge(case, connection, forgetful).kind == "different" for case in cases)
