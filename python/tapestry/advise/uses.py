"""Finds the columns that a query uses of the tables it reads, from the query alone.

A column belongs to the table that it is qualified with, or to the only one in FROM whose columns
nobody knows.  Where a subquery is ``select *``, what is asked of it is asked of what it reads.
Types are guesses: by what a column is compared with or handed to, then by its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.scope import Scope, traverse_scope

from tapestry.errors import Refusal
from tapestry.sql.read.parse import parse, table_name

TIMESTAMP, DATE, NUMBER, TRUTH, TEXT, LIST = (
    *("timestamp", "date", "decimal(38,6)", "boolean", "string", "array<string>"),
)
_INSTANTS = re.compile(
    r"(_at|_ts|_tstamp|_datetime|_time|timestamp|datetime|_synced)$|^ts$|^_inserted_timestamp$"
)
_DAYS = re.compile(r"(^|_)(date|day|week|month)$|_on$|^(dt|date_.*)$")
_TRUTHS = re.compile(r"^(is|has|was)_")
_AMOUNTS = re.compile(r"(amount|count|price|total|quantity|value|number|_usd|_num)$")
_CLOCKS = (exp.CurrentTimestamp, exp.CurrentDate, exp.Interval)
_TIMES = (
    *(exp.TimestampTrunc, exp.DateTrunc, exp.DateDiff, exp.TimestampDiff, exp.DateAdd),
    *(exp.TsOrDsAdd, exp.TsOrDsDiff, exp.DateSub, exp.TimestampAdd, exp.Extract, exp.AddMonths),
)
_NUMBERS = (exp.Sum, exp.Avg, exp.Abs, exp.Round, exp.Mul, exp.Div, exp.Mod, exp.Ceil, exp.Floor)
_TEXTS = (
    exp.Lower,
    exp.Upper,
    exp.Like,
    exp.ILike,
    exp.RegexpLike,
    exp.Concat,
    exp.DPipe,
    exp.Trim,
)
CLOCKS = frozenset({"current_date", "current_timestamp", "localtimestamp"})
"""Names that are the clock where no table has a column called so."""
_FIELD = re.compile(r"\w+")
_COMPARED = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between)


@dataclass
class AskedColumns:
    """The columns used of one relation, with the type guessed by use ('' if none is)."""

    columns: dict[str, str] = field(default_factory=dict)
    fields: dict[str, set[tuple[str, ...]]] = field(default_factory=dict)
    """Column -> the paths of fields that are read in it."""

    def add(self, name: str, kind: str = "", path: tuple[str, ...] = ()) -> None:
        """Note a column; the first guess of its type counts."""
        name = name.lower()
        if name in CLOCKS:
            return
        if path:
            self.fields.setdefault(name, set()).add(path)
        if path or not self.columns.get(name):
            self.columns[name] = struct_type(self.fields[name]) if path else kind

    def update(self, other: AskedColumns) -> None:
        """Add all columns of the other."""
        for name, kind in other.columns.items():
            for path in other.fields.get(name, {()}):
                self.add(name, kind, path)


def struct_type(paths: Iterable[tuple[str, ...]]) -> str:
    """Return the type of a column that has these fields.

    >>> struct_type({("a",), ("b", "created_at")})
    'struct<a:string,b:struct<created_at:timestamp>>'
    """
    inner: dict[str, set[tuple[str, ...]]] = {}
    for first, *rest in sorted(paths):
        inner.setdefault(first.lower(), set()).update([tuple(rest)] if rest else [])
    named = [
        f"{name}:{struct_type(below) if below else by_name(name)}" for name, below in inner.items()
    ]
    return f"struct<{','.join(named)}>"


def by_name(name: str) -> str:
    """Return the type that a column's name suggests.

    >>> by_name("updated_at"), by_name("order_date"), by_name("is_open"), by_name("customer")
    ('timestamp', 'date', 'boolean', 'string')
    """
    name = name.lower()
    if _INSTANTS.search(name):
        return TIMESTAMP
    if _DAYS.search(name):
        return DATE
    if _TRUTHS.search(name):
        return TRUTH
    return NUMBER if _AMOUNTS.search(name) else TEXT


def asked_of(sql: str, wanted: AskedColumns) -> dict[str, AskedColumns]:
    """Return the columns that a query uses of each relation; ``wanted`` are those used of it.

    Empty for a text that cannot be read: whoever rewrites it says why.
    """
    try:
        tree = parse(sql)
        scopes = traverse_scope(tree)
    except (Refusal, SqlglotError):
        return {}
    found = _Walk()
    if scopes:
        found.wanted[id(scopes[-1])] = wanted
    for scope in reversed(scopes):  # those around come before those inside
        with suppress(SqlglotError):  # two tables of one name in FROM: the rewriter says so
            found.visit(scope)
    return found.asked


class _Walk:
    """One walk over the scopes of a query, outermost first."""

    def __init__(self) -> None:
        self.asked: dict[str, AskedColumns] = {}
        self.wanted: dict[int, AskedColumns] = {}

    def visit(self, scope: Scope) -> None:
        """Pass the columns used of this scope on to the tables it reads."""
        wanted = self.wanted.get(id(scope), AskedColumns())
        for inner in scope.set_operation_scopes or []:
            self.wanted.setdefault(id(inner), AskedColumns()).update(wanted)
        if not isinstance(scope.expression, exp.Select):
            return
        sources = scope.sources
        for source in sources.values():
            if isinstance(source, exp.Table):
                self.asked.setdefault(table_name(source), AskedColumns())
        named = _named_values(scope.expression)
        for column in scope.columns:
            table, name, path = parts_of(column, scope)
            if not table and name.lower() in named and _names_item(column):
                continue  # GROUP BY day, of date_trunc('day', ts) AS day: no column of a table
            self._ask(scope, table, name, "" if path else _kind_of(column), path)
        for join in scope.expression.args.get("joins") or []:
            for name in join.args.get("using") or []:
                for table in scope.selected_sources:
                    self._ask(scope, table, name.name, "")
        self._named(scope, wanted)
        self._stars(scope, wanted)

    def _named(self, scope: Scope, wanted: AskedColumns) -> None:
        """Pass the type wanted of an output column on to the column that it shows."""
        for item in query_of(scope).selects:
            column, name = item.unalias(), item.alias_or_name.lower()
            if isinstance(column, exp.Column) and wanted.columns.get(name):
                for path in wanted.fields.get(name, {()}):
                    self._ask(scope, column.table, column.name, wanted.columns[name], path)

    def _stars(self, scope: Scope, wanted: AskedColumns) -> None:
        select = query_of(scope)
        named = {name.lower() for name in select.named_selects}
        for item in select.selects:
            if not item.is_star or not isinstance(item, exp.Star | exp.Column):
                continue
            over = [item.table] if isinstance(item, exp.Column) else list(scope.selected_sources)
            star = item.this if isinstance(item, exp.Column) else item
            for excepted in star.args.get("except_") or []:
                for table in over[:1]:
                    self._ask(scope, table, excepted.name, "")
            for name, kind in wanted.columns.items():
                if name not in named:
                    table = over[0] if len(over) == 1 else ""
                    for path in wanted.fields.get(name, {()}):
                        self._ask(scope, table, name, kind, path)

    def _ask(
        self, scope: Scope, table: str, name: str, kind: str, path: tuple[str, ...] = ()
    ) -> None:
        if name == "*" or not name:
            return
        source = scope.sources.get(table) if table else of_bare(scope, name)
        if isinstance(source, exp.Table):
            self.asked.setdefault(table_name(source), AskedColumns()).add(name, kind, path)
        elif isinstance(source, Scope):
            self.wanted.setdefault(id(source), AskedColumns()).add(name, kind, path)


def _named_values(select: exp.Select) -> set[str]:
    """Return the names in a select list that stand for no column of that name."""
    return {
        item.alias.lower()
        for item in select.selects
        if isinstance(item, exp.Alias)
        and not (isinstance(item.this, exp.Column) and item.this.name.lower() == item.alias.lower())
    }


def _names_item(column: exp.Column) -> bool:
    """Return whether a column stands alone where Spark takes it for an item's name."""
    around = column.parent
    while isinstance(around, exp.Paren | exp.Ordered | exp.Tuple):
        around = around.parent
    return isinstance(around, exp.Group | exp.Order) or column.find_ancestor(exp.Having) is not None


def parts_of(column: exp.Column, scope: Scope) -> tuple[str, str, tuple[str, ...]]:
    """A column's table ('' for a bare one), its name, and the path of the field read in it.

    ``payload.user.id`` is a field where no table in FROM is called payload.
    """
    parts = [part.name for part in column.parts]
    node: exp.Expr = column
    while isinstance(node.parent, exp.Dot) and node.parent.this is node:
        node = node.parent
        if not isinstance(node.expression, exp.Identifier):
            break
        parts.append(node.expression.name)
    table = parts.pop(0) if len(parts) > 1 and _in_sight(parts[0], scope) else ""
    path = tuple(parts[1:])
    return table, parts[0], path if all(map(_FIELD.fullmatch, path)) else ()


def query_of(scope: Scope) -> exp.Query:
    """Return the query of a scope; one without columns for a table function."""
    return scope.expression if isinstance(scope.expression, exp.Query) else exp.Select()


def _in_sight(name: str, scope: Scope) -> bool:
    around: Scope | None = scope
    while around is not None:
        if name.lower() in {one.lower() for one in around.sources}:
            return True
        around = around.parent
    return False


def of_bare(scope: Scope, name: str) -> exp.Expr | Scope | None:
    """Return the source of an unqualified column: one that names it, else one that may have it."""
    local = [one for one in scope.selected_sources if one in scope.sources]
    sources = [scope.sources[one] for one in local]
    open_ones: list[exp.Expr | Scope] = []
    for source in sources:
        if isinstance(source, Scope):
            names = {one.lower() for one in query_of(source).named_selects}
            if name.lower() in names:
                return source
            if "*" in names or source.expression.is_star:
                open_ones.append(source)
        else:
            open_ones.append(source)
    return open_ones[0] if open_ones else None


def _kind_of(column: exp.Column) -> str:
    """Return the type that the use of a column suggests; '' if it suggests none."""
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
