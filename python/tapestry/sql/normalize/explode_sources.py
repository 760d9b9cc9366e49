"""Replaces a generator behind a FROM clause by a source that is made of the table it reads.

    FROM m LATERAL VIEW explode(m.tags) t AS tag    one row of FROM for each (row of m, place in it)

Sound because such a row is there exactly as long as its row of m is, and the two tell it from every
other: it is a row of a source that is made of m (``catalog.Exploded``).
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.names import ROW_ID
from tapestry.sql import timing
from tapestry.sql.catalog import OF, Catalog, Exploded, Source
from tapestry.sql.facts import keys
from tapestry.sql.facts.values import Names
from tapestry.sql.ir import SourceTable
from tapestry.sql.normalize.scope import Way
from tapestry.sql.read.refuse_unsupported import UPSTREAM
from tapestry.sql.work import size, spend

_ROW = 40
"""Units for a way to form a row of FROM."""
APART = "explode where that table is read: (SELECT …, x FROM m LATERAL VIEW explode(m.list) t AS x)"


class ExplodedSources:
    """The sources that the generators of one query make, each once."""

    def __init__(self, catalog: Catalog) -> None:
        self.bare = catalog
        self.made: dict[str, Exploded] = {}
        self.known: dict[tuple[object, ...], Exploded] = {}

    @property
    def catalog(self) -> Catalog:
        """The catalog with these sources added."""
        return replace(self.bare, relations={**self.bare.relations, **self.made})

    def way(
        self,
        way: Way,
        lateral: exp.Lateral,
        argument: exp.Expr,
        names: Names,
        place: tuple[int, ...],
    ) -> list[Way]:
        """A way to form a row of FROM with a row of a generator beside it; none of a NULL array."""
        spend(_ROW + size(argument), "ways to form a row of FROM")
        owner = self.owner(way, lateral, argument)
        outer = bool(lateral.args.get("outer"))
        if owner is None and isinstance(_bare(argument), exp.Null) and not outer:
            return []
        alias, listed = lateral.args["alias"], [c.name for c in lateral.args["alias"].columns]
        with_place = isinstance(lateral.this, exp.Posexplode)
        source = self.source(owner, argument, outer, len(listed) - with_place)
        if owner is None:
            table = SourceTable(names.new(alias.name), source.name, alias.name, False, False, place)
            tables = (*way.tables, table)
        else:
            table = replace(owner, source=source.name)
            tables = tuple(table if one is owner else one for one in way.tables)
        columns = _columns(source, table.alias, argument, with_place)
        part = keys.of_row(exp.column(source.place, table=table.alias))
        row = exp.column(source.row, table=table.alias)
        found = tuple(_with_row(key, table.alias, row) for key in way.keys)
        return [
            replace(
                way,
                tables=tables,
                columns={**way.columns, alias.name: dict(zip(listed, columns, strict=True))},
                keys=(*found, keys.perhaps(part) if outer else part),
            )
        ]

    def owner(self, way: Way, lateral: exp.Lateral, argument: exp.Expr) -> SourceTable | None:
        """Return the table whose columns a generator reads; None if it reads none."""
        text = lateral.this.sql("spark")
        if timing.contains_now(argument) or argument.find(exp.Query) is not None:
            raise Refusal(
                "a generator over the clock, or over a subquery",
                text,
                f"write the condition on time in WHERE, or {UPSTREAM}",
                code="generator",
            )
        aliases = {column.table for column in argument.find_all(exp.Column)}
        if not aliases:
            return None
        owners = [table for table in way.tables if table.alias in aliases]
        if len(aliases) > 1 or not owners:
            raise Refusal("a generator over columns of several tables", text, UPSTREAM,
                          code="generator")  # fmt: skip
        (owner,) = owners
        if not isinstance(owner, SourceTable) or owner.on is not None:
            raise Refusal(
                "a generator over a query that counts by value, or behind a LEFT JOIN",
                text,
                APART,
                code="generator",
            )
        return owner

    def source(
        self, owner: SourceTable | None, argument: exp.Expr, outer: bool, values: int
    ) -> Exploded:
        """The source of a generator over these columns; the same for two that are the same."""
        about = _of_base(argument)
        base = "" if owner is None else owner.source
        key = (base, about.sql("spark"), outer, values)
        if key not in self.known:
            number = len(self.made) + 1
            name = f"{base or 'generated'}__{number}"
            while name in self.bare.relations:
                name += "_"
            of = self.made.get(base) or self.bare.relations.get(base)
            assert of is None or isinstance(of, Source)
            self.made[name] = self.known[key] = Exploded(
                name,
                () if of is None else of.columns,
                None if of is None else of.arrival,
                False if of is None else of.ends,
                hidden=() if of is None else of.hidden,
                base=base,
                argument=about,
                outer=outer,
                values=tuple(f"_g{number}_{n}" for n in range(1, values + 1)),
                place=f"_g{number}_place",
                row=f"_g{number}_row",
            )
        return self.known[key]


def _of_base(argument: exp.Expr) -> exp.Expr:
    """The argument over columns of the base."""

    def over(node: exp.Expr) -> exp.Expr:
        return exp.column(node.this.copy(), table=OF) if isinstance(node, exp.Column) else node

    return argument.copy().transform(over, copy=False)


def _bare(argument: exp.Expr) -> exp.Expr:
    while isinstance(argument, exp.Paren | exp.Cast):
        argument = argument.this
    return argument


def _columns(source: Exploded, alias: str, argument: exp.Expr, with_place: bool) -> list[exp.Expr]:
    """Return the columns of a generator, in order, typed where its argument is."""
    kind = argument.type
    known = kind is not None and kind.is_type("array", "map")
    types = list(kind.expressions) if kind is not None and known else []
    found: list[exp.Expr] = []
    if with_place:
        place = exp.column(source.place, table=alias)
        place.type = exp.DataType.build("int")
        found.append(place)
    for number, name in enumerate(source.values):
        column = exp.column(name, table=alias)
        column.type = types[number] if len(types) == len(source.values) else None
        found.append(column)
    return found


def _with_row(key: exp.Expr, alias: str, row: exp.Column) -> exp.Expr:
    """Return a part of a key with the base's row id in place of the generated row's."""

    def replaced(node: exp.Expr) -> exp.Expr:
        of_owner = isinstance(node, exp.Column) and node.table == alias and node.name == ROW_ID
        return row.copy() if of_owner else node

    return key.copy().transform(replaced, copy=False)
