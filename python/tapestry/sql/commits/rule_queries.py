"""The queries that the body of a rule holds: its CTEs and its SELECT, each by its name.

    with big as (…), gone as (select * from deleted)     if: [big, matches], evaluate: [gone]
    select symbol, price from new                        bind_as: matches

Those named in `if` and `evaluate` are *bound*: a batch shows what they have found. So is the
SELECT behind the CTEs where it is the condition, or has a name of its own (rules, section 12).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from tapestry.errors import ConfigurationError, ReservedName
from tapestry.sql.commits.transitions import TRANSITIONS
from tapestry.sql.read.parse import parse

MATCHES: Final = "matches"
"""The default name of the rows of the body's SELECT."""


@dataclass(frozen=True)
class AskedOfRule:
    """The author says this of the body; ``None``: nothing.

    conditions
        The queries all of which have to find a row; none: it always holds.
    evaluated
        Those whose rows travel along.
    """

    conditions: tuple[str, ...] | None = None
    evaluated: tuple[str, ...] = ()
    bind_as: str | None = None


@dataclass(frozen=True)
class RuleQueries:
    """The queries of a rule as texts.

    conditions
        The names of those that decide.
    texts
        Those that are bound, and those that decide; the one whose rows stand in the rule's own
        table comes first.
    """

    conditions: tuple[str, ...]
    texts: Mapping[str, str]

    @property
    def main(self) -> str:
        """The query whose rows stand in the rule's own table."""
        return next(iter(self.texts))


def rule_queries(sql: str, asked: AskedOfRule, where: str = "") -> RuleQueries:
    """Take the body of a rule apart.

    Raises ConfigurationError for a name that no query has, ReservedName for a CTE that is called as
    a transition table, Refusal for a text that is no query.
    """
    tree = parse(sql)
    with_ = tree.args.get("with_")
    ctes = list(with_.expressions) if with_ is not None else []
    names = [cte.alias.lower() for cte in ctes]
    body = (asked.bind_as or MATCHES).lower()
    _refuse_names(names, body, where)
    conditions = _lowered(asked.conditions if asked.conditions is not None else (body,))
    evaluated = _lowered(asked.evaluated)
    bound = list(dict.fromkeys((*conditions, *evaluated)))
    if asked.bind_as is not None and body not in bound:
        bound.insert(0, body)
    unknown = [name for name in bound if name not in names and name != body]
    if unknown:
        raise ConfigurationError(
            f"the rule has no query called {unknown[0]}",
            where=where,
            hint=f"name one of these in if and evaluate: {', '.join([*names, body])}",
        )
    if not bound:
        raise ConfigurationError(
            "the rule binds nothing: `if` is empty, and `evaluate` names no query",
            where=where,
            hint=f"name what the action is to see: evaluate=['{(names or [body])[0]}'],"
            f" or bind_as='{body}'",
        )
    first = body if body in bound else next(iter(evaluated), bound[0])
    bound.sort(key=lambda name: name != first)
    return RuleQueries(conditions, {name: _text(sql, ctes, names, name) for name in bound})


def _text(sql: str, ctes: Sequence[exp.Expr], names: Sequence[str], name: str) -> str:
    """One query; a CTE sees those before it."""
    if name not in names:
        return sql
    place = names.index(name)
    query = exp.Select(expressions=[exp.Star()])
    query.set("from_", exp.From(this=exp.Table(this=ctes[place].args["alias"].this.copy())))
    before = [cte.copy() for cte in ctes[: place + 1]]
    query.set("with_", exp.With(expressions=before))
    return query.sql("spark")


def _lowered(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name.lower() for name in names)


def _refuse_names(names: Sequence[str], body: str, where: str) -> None:
    for name in (*names, body):
        if name in TRANSITIONS:
            raise ReservedName(
                f"a query of the rule is called {name}, as a transition table is",
                where=where,
                hint="give it another name",
            )
    if body in names:
        raise ConfigurationError(
            f"two queries of the rule are called {body}: a CTE, and the SELECT behind the CTEs",
            where=where,
            hint="rename the CTE, or give the SELECT a name by bind_as",
        )
