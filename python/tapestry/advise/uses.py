"""Which columns a query asks of the tables that it reads, told from the query alone.

A column belongs to the table that it is qualified with, or to the only one in FROM whose columns
nobody knows.  Where a subquery is ``select *``, what is asked of it is asked of what it reads.
Types are guesses: by what a column is compared with or handed to, then by its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.scope import Scope, traverse_scope

from tapestry.errors import Refusal
from tapestry.sql.read.parse import parse, table_name

TIMESTAMP, DATE, NUMBER, TRUTH, TEXT, LIST = (
    *("timestamp", "date", "double", "boolean", "string", "array<string>"),
)
_NAMED = (
    (re.compile(r"(_at|_ts|_tstamp|_datetime|_time|timestamp|datetime|_synced)$|^ts$"), TIMESTAMP),
    (re.compile(r"(^|_)(date|day|week|month)$|_on$|^(dt|date_.*)$"), DATE),
    (re.compile(r"^(is|has|was)_"), TRUTH),
    (re.compile(r"(amount|count|price|total|quantity|value|number|_usd|_num)$"), NUMBER),
)
_CLOCKS = (exp.CurrentTimestamp, exp.CurrentDate, exp.Interval)
_TIMES = (
    *(exp.TimestampTrunc, exp.DateTrunc, exp.DateDiff, exp.TimestampDiff, exp.DateAdd),
    *(exp.TsOrDsAdd, exp.TsOrDsDiff, exp.DateSub, exp.TimestampAdd, exp.Extract, exp.AddMonths),
)
_NUMBERS = (exp.Sum, exp.Avg, exp.Abs, exp.Round, exp.Mul, exp.Div, exp.Mod, exp.Ceil, exp.Floor)
_TEXTS = (exp.Lower, exp.Upper, exp.Like, exp.ILike, exp.RLike, exp.Concat, exp.DPipe, exp.Trim)
_COMPARED = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between)


@dataclass
class Asked:
    """What is asked of one relation: columns with the type guessed by use ('' where none is)."""

    columns: dict[str, str] = field(default_factory=dict)
    starred: bool = False
    """Some query wants all of its columns."""

    def add(self, name: str, kind: str = "") -> None:
        """Note a column; the first guess of its type counts."""
        name = name.lower()
        if not self.columns.get(name):
            self.columns[name] = kind


def by_name(name: str) -> str:
    """The type that a column's name speaks of.

    >>> by_name("updated_at"), by_name("order_date"), by_name("is_open"), by_name("customer")
    ('timestamp', 'date', 'boolean', 'string')
    """
    return next((kind for pattern, kind in _NAMED if pattern.search(name.lower())), TEXT)


def asked_of(sql: str, wanted: Iterable[str] = ()) -> dict[str, Asked]:
    """What a query asks of each relation; ``wanted`` are columns that others ask of the query.

    Empty for a text that cannot be read: whoever rewrites it says why.
    """
    try:
        tree = parse(sql)
        scopes = traverse_scope(tree)
    except (Refusal, SqlglotError):
        return {}
    found = _Walk()
    if scopes:
        found.wanted[id(scopes[-1])] = dict.fromkeys((name.lower() for name in wanted), "")
    for scope in reversed(scopes):  # those around come before those inside
        found.visit(scope)
    return found.asked


class _Walk:
    """One walk over the scopes of a query, outermost first."""

    def __init__(self) -> None:
        self.asked: dict[str, Asked] = {}
        self.wanted: dict[int, dict[str, str]] = {}

    def visit(self, scope: Scope) -> None:
        """Hand what is asked of this scope on to what it reads."""
        wanted = self.wanted.get(id(scope), {})
        for inner in scope.union_scopes or []:
            self.wanted.setdefault(id(inner), {}).update(wanted)
        if not isinstance(scope.expression, exp.Select):
            return
        sources = scope.sources
        for source in sources.values():
            if isinstance(source, exp.Table):
                self.asked.setdefault(table_name(source), Asked())
        for column in scope.columns:
            self._ask(scope, column.table, column.name, _kind_of(column))
        for join in scope.expression.args.get("joins") or []:
            for name in join.args.get("using") or []:
                for table in sources:
                    self._ask(scope, table, name.name, "")
        self._stars(scope, wanted)

    def _stars(self, scope: Scope, wanted: dict[str, str]) -> None:
        select = scope.expression
        named = {name.lower() for name in select.named_selects}
        for item in select.selects:
            if not item.is_star or not isinstance(item, exp.Star | exp.Column):
                continue
            over = [item.table] if isinstance(item, exp.Column) else list(scope.selected_sources)
            star = item.this if isinstance(item, exp.Column) else item
            for excepted in star.args.get("except_") or []:
                for table in over[:1]:
                    self._ask(scope, table, excepted.name, "")
            for table in over:
                source = scope.sources.get(table)
                if isinstance(source, exp.Table):
                    self.asked[table_name(source)].starred = True
            for name, kind in wanted.items():
                if name not in named:
                    self._ask(scope, over[0] if len(over) == 1 else "", name, kind)

    def _ask(self, scope: Scope, table: str, name: str, kind: str) -> None:
        if name == "*" or not name:
            return
        source = scope.sources.get(table) if table else _of_bare(scope, name)
        if isinstance(source, exp.Table):
            self.asked.setdefault(table_name(source), Asked()).add(name, kind)
        elif isinstance(source, Scope):
            self._hand_on(source, name.lower(), kind)

    def _hand_on(self, inner: Scope, name: str, kind: str) -> None:
        known = self.wanted.setdefault(id(inner), {})
        if not known.get(name):
            known[name] = kind
        for select in inner.expression.selects if kind else []:
            # What is said of an output column is said of the column that it is.
            column = select.unalias()
            if select.alias_or_name.lower() == name and isinstance(column, exp.Column):
                self._ask(inner, column.table, column.name, kind)


def _of_bare(scope: Scope, name: str) -> exp.Expr | Scope | None:
    """Where a column without a table comes from: what names it, else what may have it."""
    local = [one for one in scope.selected_sources if one in scope.sources]
    sources = [scope.sources[one] for one in local]
    open_ones = []
    for source in sources:
        if isinstance(source, Scope):
            names = {one.lower() for one in source.expression.named_selects}
            if name.lower() in names:
                return source
            if "*" in names or source.expression.is_star:
                open_ones.append(source)
        else:
            open_ones.append(source)
    return open_ones[0] if open_ones else None


def _kind_of(column: exp.Column) -> str:
    """The type that the use of a column speaks of; '' where it speaks of none."""
    node: exp.Expr = column
    parent = column.parent
    while isinstance(parent, exp.Paren | exp.Coalesce):
        node, parent = parent, parent.parent
    if parent is None:
        return ""
    if isinstance(parent, exp.And | exp.Or | exp.Not | exp.Where):
        return TRUTH
    if isinstance(parent, _TIMES):
        return TIMESTAMP if node is parent.this or isinstance(node, exp.Column) else ""
    if isinstance(parent, _NUMBERS):
        return NUMBER
    if isinstance(parent, _TEXTS):
        return TEXT
    if isinstance(parent, exp.Explode | exp.Unnest):
        return LIST
    if isinstance(parent, (*_COMPARED, exp.Add, exp.Sub)):
        others = [one for one in parent.iter_expressions() if one is not node]
        return next((kind for kind in map(_kind_of_value, others) if kind), "")
    return ""


def _kind_of_value(value: exp.Expr) -> str:
    if isinstance(value, exp.Cast) and value.to.is_type("date"):
        return DATE
    if isinstance(value, exp.Cast) and value.to.is_type("timestamp", "timestamptz", "datetime"):
        return TIMESTAMP
    if isinstance(value, exp.Literal):
        return "" if value.is_string else NUMBER
    if isinstance(value, exp.Boolean):
        return TRUTH
    clock = value.find(*_CLOCKS) if not isinstance(value, exp.Column) else None
    return TIMESTAMP if clock is not None else ""
