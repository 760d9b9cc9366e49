"""A session over `FakeDelta` that understands the statements of a run, and raises at all others.

The forms are those that ``stand``, ``claim``, ``commit``, ``confirm``, ``close``, ``mark_failed``,
``rewind`` and ``finish`` send. Values are instants in microseconds, numbers and texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from functools import lru_cache
from typing import Any

import sqlglot
from sqlglot import exp
from tests.runs.fake_delta import (
    BrokenError,
    FakeCommit,
    FakeDelta,
    FakeError,
    Kinds,
    Row,
    after,
    counted,
)

from tapestry.instants import micros
from tapestry.runs.engine.session import Session

_NAME = r"(?P<name>(?:`[^`]+`\.?)+|delta\.`[^`]+`)"
_PAIR = re.compile(r"'((?:[^'\\]|\\.)*)' = '((?:[^'\\]|\\.)*)'")
_PAIRS = r"(?P<pairs>(?:'(?:[^'\\]|\\.)*' = '(?:[^'\\]|\\.)*'(?:, )?)*)"
_TOKEN = r"'(?:[^'\\]|\\.)*'"
Handler = Callable[["FakeSession", Mapping[str, str]], list[tuple[Any, ...]]]


class FakeSession(Session):
    """The session protocol over tables in memory; ``texts`` records what was asked of it.

    before
        Called with each statement before it is executed: what it raises is the statement's error.
    """

    def __init__(self, delta: FakeDelta) -> None:
        self.delta = delta
        self.texts: list[str] = []
        self.before: Callable[[str], None] = lambda _: None

    def run(self, sql: str) -> None:
        """Execute a statement."""
        self.rows(sql)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Execute a statement and return its rows."""
        self.texts.append(sql)
        self.before(sql)
        for form, handler in FORMS:
            found = form.fullmatch(sql)
            if found is not None:
                given = found.groupdict()
                if "name" in given:
                    given["name"] = plain(given["name"])
                return handler(self, given)
        return self._parsed(sql)

    def _parsed(self, sql: str) -> list[tuple[Any, ...]]:
        tree = _tree(sql)
        if isinstance(tree, exp.Update):
            return self._update(tree)
        if isinstance(tree, exp.Delete):
            return self._delete(tree)
        if isinstance(tree, exp.Select):
            return self._select(tree)
        raise NotImplementedError(sql)

    def _select(self, tree: exp.Select) -> list[tuple[Any, ...]]:
        source = tree.args["from_"].this
        if isinstance(source, exp.Subquery):
            rows = self._ranked(source.this)
        else:
            rows = self._scanned(source)
        where = tree.args.get("where")
        rows = [row for row in rows if where is None or value(where.this, row)]
        if isinstance(tree.expressions[0], exp.Count):
            return [(len(rows),)]
        return [tuple(value(one, row) for one in tree.expressions) for row in rows]

    def _scanned(self, source: exp.Expr) -> list[Row]:
        if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier):
            raise NotImplementedError(source.sql("spark"))
        newest = self.delta.table(name_of(source)).newest
        asked = source.find_ancestor(exp.Select)
        for column in asked.find_all(exp.Column) if asked is not None else ():
            if column.name not in newest.columns:
                raise FakeError(f"[UNRESOLVED_COLUMN.WITH_SUGGESTION] {column.name}")
        return [dict(row) for row in newest.rows]

    def _ranked(self, inner: exp.Expr) -> list[Row]:
        """``SELECT …, rank() OVER (PARTITION BY p ORDER BY o DESC) AS r FROM t``."""
        assert isinstance(inner, exp.Select)
        *items, last = inner.expressions
        window = last.this
        if not isinstance(window, exp.Window) or not isinstance(window.this, exp.Rank):
            raise NotImplementedError(inner.sql("spark"))
        (by,), (ordered,) = window.args["partition_by"], window.args["order"].expressions
        assert ordered.args["desc"]
        rows = self._scanned(inner.args["from_"].this)
        found = []
        for row in rows:
            mine = [other for other in rows if value(by, other) == value(by, row)]
            above = sum(_place(ordered.this, o) > _place(ordered.this, row) for o in mine)
            values = {one.alias_or_name: value(one, row) for one in items}
            found.append({**values, last.alias: above + 1})
        return found

    def _update(self, tree: exp.Update) -> list[tuple[Any, ...]]:
        changes = {one.this.name: value(one.expression, {}) for one in tree.expressions}
        condition = tree.args["where"].this

        def new(base: FakeCommit) -> FakeCommit:
            rows = tuple({**r, **changes} if value(condition, r) else r for r in base.rows)
            return replace(after(base, "UPDATE"), rows=rows)

        self.delta.write(name_of(tree.this), "UPDATE", new)
        return []

    def _delete(self, tree: exp.Delete) -> list[tuple[Any, ...]]:
        condition = tree.args["where"].this

        def new(base: FakeCommit) -> FakeCommit:
            rows = tuple(row for row in base.rows if not value(condition, row))
            return replace(after(base, "DELETE"), rows=rows)

        self.delta.write(name_of(tree.this), "DELETE", new)
        return []


@lru_cache(4096)
def _tree(sql: str) -> exp.Expr:
    """A statement as read; nobody changes the tree."""
    return sqlglot.parse_one(sql, read="spark")


def plain(name: str) -> str:
    """A name without its backticks; of a folder the folder."""
    if name.startswith("delta."):
        name = name.removeprefix("delta.")
    return name.replace("`", "")


def name_of(table: exp.Expr) -> str:
    """The dotted name of a table in a tree."""
    return ".".join(part.name for part in table.parts)


def _place(node: exp.Expr, row: Row) -> tuple[bool, Any]:
    """Where a row stands in an order by an expression: NULL is the least."""
    found = value(node, row)
    return found is not None, found


def value(node: exp.Expr, row: Row) -> Any:
    """An expression over a row."""
    if isinstance(node, exp.Column):
        return row[node.name]
    if isinstance(node, exp.Literal):
        return node.this if node.is_string else int(node.this)
    if isinstance(node, exp.Null):
        return None
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.CurrentTimestamp):
        return micros(datetime(2027, 1, 1, tzinfo=timezone.utc))
    if isinstance(node, exp.HexString):
        return bytes.fromhex(node.this).decode()
    if isinstance(node, exp.Cast):
        return _cast(value(node.this, row), node.to)
    if isinstance(node, exp.Alias | exp.Paren | exp.UnixMicros | exp.Neg | exp.Anonymous):
        return _wrapped(node, row)
    if isinstance(node, exp.In):
        return value(node.this, row) in [value(one, row) for one in node.expressions]
    if isinstance(node, exp.Is):
        return value(node.this, row) is value(node.expression, row)
    if isinstance(node, exp.Binary):
        return _binary(node, value(node.left, row), value(node.right, row))
    raise NotImplementedError(repr(node))


def _wrapped(node: exp.Expr, row: Row) -> Any:
    if isinstance(node, exp.Anonymous):
        if node.name != "timestamp_micros":
            raise NotImplementedError(repr(node))
        return value(node.expressions[0], row)
    found = value(node.this, row)
    return -found if isinstance(node, exp.Neg) else found


def _cast(found: Any, kind: exp.DataType) -> Any:
    if found is None or kind.this.name == "TEXT":
        return found
    if kind.this.name == "TIMESTAMPTZ":
        return micros(datetime.fromisoformat(str(found)))
    raise NotImplementedError(kind.sql("spark"))


def _binary(node: exp.Binary, left: Any, right: Any) -> Any:
    if isinstance(node, exp.And):
        return bool(left and right)
    if isinstance(node, exp.DPipe):
        return left + right
    if left is None or right is None:
        return None
    if isinstance(node, exp.EQ):
        return left == right
    if isinstance(node, exp.GT):
        return left > right
    if isinstance(node, exp.LT):
        return left < right
    if isinstance(node, exp.LTE):
        return left <= right
    if isinstance(node, exp.GTE):
        return left >= right
    raise NotImplementedError(repr(node))


def _pairs(text: str) -> dict[str, str]:
    """The names and values of TBLPROPERTIES, or of the options of an INSERT."""
    unquoted = (re.sub(r"\\(.)", r"\1", part) for pair in _PAIR.findall(text) for part in pair)
    return dict(zip(unquoted, unquoted, strict=True))


def _values(text: str, columns: Kinds, listed: Sequence[str]) -> tuple[Kinds, list[Row]]:
    """The rows that a query of values gives, and the types of its columns."""
    if text.startswith("BROKEN"):
        raise BrokenError(f"[USER_RAISED_EXCEPTION] {text}")
    tree = _tree(text)
    if isinstance(tree, exp.Values):
        tuples, names = tree.expressions, listed
    else:
        assert isinstance(tree, exp.Select), text
        source = tree.args["from_"].this
        if isinstance(source, exp.Table):
            return dict(columns), []  # SELECT NULL, … FROM range(0)
        where = tree.args.get("where")
        keep = where is None or value(where.this, {})
        tuples = source.expressions if keep else []
        names = [column.name for column in source.args["alias"].columns]
        names = [one for one in listed if one] or names
        columns = columns or dict(zip(names, _kinds(source.expressions[0]), strict=True))
    unknown = [name for name in names if name not in columns]
    if unknown:
        raise FakeError(f"[UNRESOLVED_COLUMN.WITH_SUGGESTION] {unknown}")
    found = [
        {**dict.fromkeys(columns), **dict(zip(names, (value(v, {}) for v in one), strict=True))}
        for one in (one.expressions for one in tuples)
    ]
    return dict(columns), found


def _kinds(one: exp.Expr) -> list[str]:
    return ["timestamp" if isinstance(v, exp.Cast) else "int" for v in one.expressions]


def _insert(session: FakeSession, given: Mapping[str, str]) -> list[tuple[Any, ...]]:
    name, options = given["name"], _pairs(given["pairs"] or "")
    listed = [part.strip().strip("`") for part in (given.get("columns") or "").split(",")]
    if session.delta.gone(name):  # its columns are not known either
        raise FakeError(f"[UNRESOLVED_COLUMN.WITHOUT_SUGGESTION] {listed}")
    overwrites = given["how"] == "OVERWRITE"
    app, number = options.get("txnAppId", ""), int(options.get("txnVersion", 0))
    gone = _tree(options["replaceWhere"]) if overwrites else None

    def new(base: FakeCommit) -> FakeCommit:
        columns, rows = _values(given["select"], base.columns, listed)
        kept = tuple(row for row in base.rows if gone is None or not value(gone, row))
        made = replace(
            after(base, "WRITE"), rows=(*kept, *rows), note=options.get("userMetadata", "")
        )
        return replace(made, metrics=counted(rows), number=number, app=app, columns=columns)

    session.delta.write(name, "WRITE", new, app)
    return []


def _create(session: FakeSession, given: Mapping[str, str]) -> list[tuple[Any, ...]]:
    columns, rows = _values(given["select"], {}, ())
    make = session.delta.replace if given["replace"] else session.delta.create
    make(given["name"], columns, rows, _pairs(given["pairs"]))
    return []


def _create_own(session: FakeSession, given: Mapping[str, str]) -> list[tuple[Any, ...]]:
    columns = dict(one.split(" ") for one in given["columns"].split(", "))
    session.delta.create_empty(given["name"], columns, _pairs(given["pairs"]))
    return []


def _set_properties(session: FakeSession, given: Mapping[str, str]) -> list[tuple[Any, ...]]:
    def new(base: FakeCommit) -> FakeCommit:
        made = after(base, "SET TBLPROPERTIES")
        return replace(made, properties={**base.properties, **_pairs(given["pairs"])})

    session.delta.write(given["name"], "SET TBLPROPERTIES", new)
    return []


def _add_columns(session: FakeSession, given: Mapping[str, str]) -> list[tuple[Any, ...]]:
    added = dict(one.split(" ") for one in given["columns"].split(", "))

    def new(base: FakeCommit) -> FakeCommit:
        taken = [name for name in added if name in base.columns]
        if taken:
            raise FakeError(f"[FIELD_ALREADY_EXISTS] {taken}")
        rows = tuple({**row, **dict.fromkeys(added)} for row in base.rows)
        return replace(after(base, "ADD COLUMNS"), rows=rows, columns={**base.columns, **added})

    session.delta.write(given["name"], "ADD COLUMNS", new)
    return []


def _detail(session: FakeSession, given: Mapping[str, str]) -> list[tuple[Any, ...]]:
    table = session.delta.table(given["name"])
    newest, files = table.newest, len({*map(str, table.newest.rows)})
    told = ("delta", newest.table_id, given["name"], None, table.folder, None, newest.at, [], [])
    return [(*told, files, 100 * files, dict(newest.properties))]


def _history(session: FakeSession, given: Mapping[str, str]) -> list[tuple[Any, ...]]:
    table = session.delta.table(given["name"])
    return [one.described() for one in table.told()[: int(given["limit"])]]


def _columns(session: FakeSession, given: Mapping[str, str]) -> list[tuple[Any, ...]]:
    return [
        (n, kind, None) for n, kind in session.delta.table(given["name"]).newest.columns.items()
    ]


def _tables(session: FakeSession, given: Mapping[str, str]) -> list[tuple[Any, ...]]:
    name = f"{plain(given['schema'])}.{given['table']}"
    return [(plain(given["schema"]), given["table"], False)] if name in session.delta.tables else []


def _drop(session: FakeSession, given: Mapping[str, str]) -> list[tuple[Any, ...]]:
    session.delta.drop(given["name"])
    return []


def _optimize(session: FakeSession, given: Mapping[str, str]) -> list[tuple[Any, ...]]:
    session.delta.write(given["name"], "OPTIMIZE", lambda base: after(base, "OPTIMIZE"))
    return []


FORMS: list[tuple[re.Pattern[str], Handler]] = [
    (re.compile(form, re.DOTALL), handler)
    for form, handler in (
        (rf"DESCRIBE DETAIL {_NAME}", _detail),
        (rf"DESCRIBE HISTORY {_NAME} LIMIT (?P<limit>\d+)", _history),
        (rf"DESCRIBE TABLE {_NAME}", _columns),
        (r"SHOW TABLES IN (?P<schema>\S+) LIKE '(?P<table>\w+)'", _tables),
        (rf"DROP TABLE IF EXISTS {_NAME}", _drop),
        (rf"OPTIMIZE {_NAME}", _optimize),
        (
            rf"INSERT (?P<how>INTO|OVERWRITE) {_NAME}(?: WITH \({_PAIRS}\))?"
            r" (?:\((?P<columns>[\w`, ]+)\)\s)?(?P<select>(?:SELECT|VALUES|BROKEN) .*)",
            _insert,
        ),
        (
            rf"CREATE (?P<replace>OR REPLACE )?TABLE {_NAME} USING delta"
            rf" TBLPROPERTIES \({_PAIRS}\) .* ?AS\n(?P<select>.*)",
            _create,
        ),
        (
            rf"CREATE TABLE IF NOT EXISTS {_NAME} \((?P<columns>[\w, ]+)\) USING delta"
            rf" COMMENT {_TOKEN} TBLPROPERTIES \({_PAIRS}\)",
            _create_own,
        ),
        (rf"ALTER TABLE {_NAME} SET TBLPROPERTIES \({_PAIRS}\)", _set_properties),
        (rf"ALTER TABLE {_NAME} ADD COLUMNS \((?P<columns>[\w, ]+)\)", _add_columns),
    )
]
