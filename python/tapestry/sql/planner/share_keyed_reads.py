"""Shares one reading between statements that read a large source for a few keys only.

A run asks a source which messages answer those of its window, and what checks the run asks the same
of those whose turn it is:

    ... FROM read_1 AS r WHERE r.parent = m.id AND r.parent IN (SELECT m.id FROM read_1 AS m ...)

Each would read all of r. So a relation is made of the rows with the keys of either, and stands in
the place of ``read_1 AS r`` in both.

Sound: what is left out of ``r`` fails a conjunct of the WHERE of the place, also where an outer
join would put NULLs in its stead. The place keeps the condition, unless whoever wrote it says by
the name of its keys that the others imply it; its statement is the same otherwise, to the letter. A
place whose keys are not among those of the relation keeps its source.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

from tapestry.sql.planner.hints import FEW_KEYS
from tapestry.sql.write import build


@dataclass(frozen=True)
class Read:
    """A CTE that applies a scan: its text, the relation it reads, and its columns' expressions."""

    body: str
    relation: str
    columns: Mapping[str, str]


@dataclass(frozen=True)
class KeyedRead:
    """A place where a source is read for some keys: ``start:end`` is its CTE's name in the text.

    column
        The column that has to be one of ``keys``, a SELECT by itself.
    needed
        The columns that its statement uses there.
    implied
        Where the condition stands in the text, if the others of its place imply it.
    """

    read: Read
    start: int
    end: int
    column: str
    keys: str
    needed: frozenset[str]
    implied: tuple[int, int] | None


@dataclass(frozen=True)
class Shared:
    """A relation with the rows of some keys, and the places where it can be used.

    ``columns`` are those that it has, as their scans define them.
    """

    view: str
    select: str
    relation: str
    column: str
    columns: Mapping[str, str]
    keys: frozenset[str]

    def serves(self, place: KeyedRead) -> bool:
        """Return whether the relation has all rows and columns that a place needs."""
        return (
            place.read.relation == self.relation
            and place.column == self.column
            and place.keys in self.keys
            and all(place.read.columns[name] == self.columns.get(name) for name in place.needed)
        )


@dataclass(frozen=True)
class Sharing:
    """The relations that a run's statements share; ``held`` are views from which keys are read."""

    relations: tuple[Shared, ...]
    dialect: str = "spark"
    held: frozenset[str] = frozenset()

    def applied(self, text: str) -> str:
        """Return the statement, with shared relations where they can replace a source."""
        if not self.relations:
            return text
        changes: list[tuple[int, int, str]] = []
        for place in places(text, self.dialect, self.held):
            found = next((one for one in self.relations if one.serves(place)), None)
            if found is not None:
                changes.append((place.start, place.end, found.view))
                if place.implied is not None:
                    changes.append((*place.implied, "TRUE"))
        done = 0
        parts = []
        for start, end, new in sorted(changes):
            if start >= done:  # else it stands in a condition that is left out
                parts += [text[done:start], new]
                done = end
        return "".join([*parts, text[done:]])


NOTHING_SHARED = Sharing(())


def share_keyed_reads(
    texts: Sequence[str],
    views: Iterator[str],
    apart: Collection[str] = (),
    dialect: str = "spark",
    held: frozenset[str] = frozenset(),
) -> Sharing:
    """Return the relations that statements can share, each in a view of its own.

    ``apart``: relations that read one of these are left as they are.  ``held``: views that keys may
    be read from by their names.  A statement that cannot be read here shares nothing, which costs
    time and no answer.
    """
    found: dict[tuple[str, str], list[KeyedRead]] = {}
    for text in texts:
        for place in places(text, dialect, held):
            found.setdefault((place.read.relation, place.column), []).append(place)
    shared = [
        _shared(next(views), wanted, dialect)
        for (relation, _), wanted in found.items()
        if len(wanted) > 1 and not any(name in relation for name in apart)
    ]
    return Sharing(tuple(one for one in shared if one is not None), dialect, held)


def _shared(view: str, wanted: Sequence[KeyedRead], dialect: str) -> Shared | None:
    """Return one relation for all of these places; None if they define a column differently."""
    first = wanted[0]
    columns: dict[str, str] = {}
    for place in wanted:
        for name in sorted(place.needed | {place.column}):
            if columns.setdefault(name, place.read.columns[name]) != place.read.columns[name]:
                return None
    bodies = [p.read.body for p in wanted if columns.keys() <= p.read.columns.keys()]
    if not bodies:
        return None
    keys = list(dict.fromkeys(place.keys for place in wanted))
    selects = (f"SELECT key FROM (\n{one}\n) AS k{n}(key)" for n, one in enumerate(keys))
    named = {name: build.column(name, "s").sql(dialect) for name in columns}
    listed = ", ".join(named.values())
    select = (
        f"SELECT {listed} FROM (\n{bodies[0]}\n) AS s WHERE {named[first.column]} IN ("
        f"SELECT /*+ BROADCAST(few) */ few.key FROM (\n{' UNION ALL '.join(selects)}\n) AS few)"
    )
    return Shared(view, select, first.read.relation, first.column, columns, frozenset(keys))


@lru_cache(maxsize=64)
def places(
    text: str, dialect: str = "spark", held: frozenset[str] = frozenset()
) -> tuple[KeyedRead, ...]:
    """The places of a statement where a source is read for the rows with some keys only."""
    return tuple(_places(text, dialect, held))


def _places(text: str, dialect: str, held: frozenset[str]) -> Iterator[KeyedRead]:
    try:
        tree = sqlglot.parse_one(text, read=dialect)
        groups = _groups(text, dialect)
    except SqlglotError:
        return
    if not isinstance(tree, exp.Query):
        return
    reads = _reads(tree, text, groups)
    for table in tree.find_all(exp.Table):
        read, select = reads.get(table.name), table.find_ancestor(exp.Select)
        if read is None or table.db or select is None or not _in_from(table, select):
            continue
        for condition in _conjuncts(select):
            keys = _keys(condition, table, reads, text, groups, held)
            if keys:
                needed = _needed(table, select)
                column = condition.this.name.lower()
                if needed is not None and needed | {column} <= read.columns.keys():
                    name, span = table.this.meta, _implied(condition, groups)
                    yield KeyedRead(
                        read, name["start"], name["end"] + 1, column, keys, needed, span
                    )
                break


Groups = Sequence[tuple[int, int]]
"""The positions at which parentheses around a SELECT or WITH open and close in a text."""


def _groups(text: str, dialect: str) -> Groups:
    tokens, opened, found = sqlglot.tokenize(text, read=dialect), list[int](), []
    for number, token in enumerate(tokens):
        if token.token_type == TokenType.L_PAREN:
            opened.append(number)
        elif token.token_type == TokenType.R_PAREN:
            first = opened.pop()
            if tokens[first + 1].token_type in (TokenType.SELECT, TokenType.WITH):
                found.append((tokens[first].end + 1, token.start))
    return found


def _inside(start: int, text: str, groups: Groups) -> str:
    """The text of the innermost SELECT in parentheses around a position."""
    low, high = max(group for group in groups if group[0] <= start < group[1])
    return text[low:high].strip()


def _reads(tree: exp.Query, text: str, groups: Groups) -> dict[str, Read]:
    """The CTEs that apply scans: a SELECT of columns from one relation that is none of them."""
    reads: dict[str, Read] = {}
    for cte in tree.ctes:
        select = cte.this
        given = {name for name, value in select.args.items() if value}
        if not isinstance(select, exp.Select) or not given <= {"expressions", "from_"}:
            continue
        if select.is_star or not any(select.find_all(exp.Table)):
            continue
        if any(table.name in reads for table in select.find_all(exp.Table)):
            continue
        starts = [i.meta["start"] for i in select.find_all(exp.Identifier) if "start" in i.meta]
        columns = {i.alias_or_name.lower(): _normal(i.unalias()) for i in select.selects}
        relation = _normal(select.args["from_"].this)
        reads[cte.alias] = Read(_inside(min(starts), text, groups), relation, columns)
    return reads


def _normal(node: exp.Expr) -> str:
    """Return a canonical text for SQL: quotes are left out where they change nothing."""
    copy = node.copy()
    for name in copy.find_all(exp.Identifier):
        name.set("quoted", False)
    return copy.sql("spark")


def _in_from(table: exp.Table, select: exp.Select) -> bool:
    from_, joins = select.args.get("from_"), select.args.get("joins") or []
    return table is (from_ and from_.this) or any(table is join.this for join in joins)


def _conjuncts(select: exp.Select) -> Iterator[exp.Expr]:
    where = select.args.get("where")
    if where is not None:
        node = where.this
        parts = node.flatten() if isinstance(node, exp.And) else [node]
        yield from (part.unnest() for part in parts)


def _keys(
    condition: exp.Expr,
    table: exp.Table,
    reads: Mapping[str, Read],
    text: str,
    groups: Groups,
    held: frozenset[str],
) -> str:
    """Return the SELECT of the keys to which a column is restricted; '' if there is none."""
    query = condition.args.get("query") if isinstance(condition, exp.In) else None
    column = condition.this
    if query is None or not isinstance(column, exp.Column) or column.table != table.alias_or_name:
        return ""
    select = query.unnest()
    # A hint names relations too; nothing is read there.
    tables = [one for one in select.find_all(exp.Table) if one.find_ancestor(exp.Hint) is None]
    inside = {one.alias_or_name for one in [*tables, *select.find_all(exp.Subquery)]}
    alone = all(column.table in inside for column in select.find_all(exp.Column))
    known = reads.keys() | held
    if not alone or not all(one.name in known and not one.db for one in tables):
        return ""
    first = next(iter(select.selects[0].find_all(exp.Identifier)))
    ctes = ",\n".join(
        f"{name} AS (\n{reads[name].body}\n)"
        for name in sorted({one.name for one in tables} - held)
    )
    return (f"WITH {ctes}\n" if ctes else "") + _inside(first.meta["start"], text, groups)


def _implied(condition: exp.Expr, groups: Groups) -> tuple[int, int] | None:
    """Return the position of ``column IN (SELECT ... AS _few_keys ...)``; None without that
    name.
    """
    select = condition.args["query"].unnest()
    if select.selects[0].alias != FEW_KEYS:
        return None
    starts = [name.meta["start"] for name in condition.this.find_all(exp.Identifier)]
    inside = select.selects[0].find(exp.Identifier).meta["start"]
    return min(starts), max(group for group in groups if group[0] <= inside < group[1])[1] + 1


def _needed(table: exp.Table, select: exp.Select) -> frozenset[str] | None:
    """Return the columns of a table that its SELECT uses; None if that is not certain."""
    nodes = list(select.walk(prune=lambda node: isinstance(node, exp.With)))
    columns = [node for node in nodes if isinstance(node, exp.Column)]
    if any(not column.table for column in columns) or any(isinstance(n, exp.Star) for n in nodes):
        return None
    alias = table.alias_or_name
    return frozenset(column.name.lower() for column in columns if column.table == alias)
