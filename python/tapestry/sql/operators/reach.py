"""Finds the keys of a block that can differ between two versions (maintained, section 3).

For every mention u of a relation, in FROM and in subqueries of any depth:

    keys(FROM_old with the rows of u that are in the old version alone)
    keys(FROM_new with the rows of u that are in the new version alone)

Deleted rows meet the old state, inserted rows the new one: a partner that moved in the same commit
is found in the version that the row was in. Conditions that are left out make the set larger, and
larger is right. Left out are those that read the clock or ask a subquery, and those over a relation
that an outer join may leave out: where it has a row the condition was false, and the row of NULLs
that took its place is what changes.

Time: a row that is there in both versions, over a comparison with now() that changes its truth
between the two instants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from tapestry.sql import timing
from tapestry.sql.branches.selects import aliases_of
from tapestry.sql.facts.bounds_of_time import atoms_in, bounds_of
from tapestry.sql.facts.from_clause import leaf_selects, opened
from tapestry.sql.facts.grouping import is_aggregate
from tapestry.sql.operators.block import (
    JoinedRelation,
    SelectBlock,
    is_correlated,
    is_timeless,
)
from tapestry.sql.operators.choose_key import Key, names_of
from tapestry.sql.operators.cut import KEY, named_key
from tapestry.sql.operators.versions import VERSIONS, TwoVersions, Version
from tapestry.sql.write import build

Changed = Mapping[Version, str]
"""The names of the relations with the rows of a query that are in one version alone."""
_MATCHED = "_tap_matched"
_BOUNDS = "_tap_bounds"
_CHANGED = "_tap_changed"


@dataclass(frozen=True)
class Reach:
    """Finds the keys; ``changed`` gives the changed rows of a derived table."""

    versions: TwoVersions
    changed: Callable[[exp.Expr], Changed]

    def of(self, query: exp.Expr, key: Key) -> list[exp.Query]:
        """SELECTs of the keys of a query that can differ, with repetitions."""
        query = opened(query)
        if isinstance(query, exp.SetOperation):
            return list(self._of_set(query, key))
        assert isinstance(query, exp.Select)
        shortcuts, seen = [], set()
        for alias in key.cover:
            parts = key.whole(alias)
            if parts is not None:
                seen.add(alias)
                apart = self.versions.apart(alias)
                shortcuts += [self._key_columns(alias, parts, one) for one in apart]
        block = _Mentions(self, SelectBlock(query), key, frozenset(seen))
        return [*shortcuts, *block.all()]

    def _key_columns(self, alias: str, parts: Sequence[exp.Expr], version: Version) -> exp.Select:
        """Return the keys in the changed rows of a use that all components of the key reach."""
        query = build.select(named_key(parts))
        return build.add_from(query, self.versions.difference(alias, version))

    def _of_set(self, query: exp.SetOperation, key: Key) -> Iterator[exp.Query]:
        """Yield the values of a set operation's key columns in the changed rows of each side."""
        places = [names_of(query).index(part.name) for part in key.parts]
        for side in (query.this, query.expression):
            if not self.is_touched(side, frozenset()):
                continue
            names = names_of(side)
            for name in self.changed(side).values():
                listed = [
                    build.named(build.column(names[place]), f"{KEY}{n}")
                    for n, place in enumerate(places, start=1)
                ]
                yield build.add_from(build.select(listed), exp.to_table(name))

    def is_touched(self, query: exp.Expr, seen: frozenset[str]) -> bool:
        """Return whether a query may differ by uses that not all components of the key reach."""
        for table in query.find_all(exp.Table):
            alias = table.name
            known = alias in self.versions.tables
            if known and alias not in seen and self.versions.moves(alias):
                return True
        return timing.contains_now(query)


@dataclass(frozen=True)
class _Mentions:
    """The mentions in one block, for the key of that block or of one around it.

    around
        The relations and conditions of the blocks around it, the outermost first.
    """

    reach: Reach
    block: SelectBlock
    key: Key
    seen: frozenset[str]
    around: tuple[SelectBlock, ...] = ()

    @property
    def versions(self) -> TwoVersions:
        return self.reach.versions

    def all(self) -> Iterator[exp.Query]:
        """Yield the keys that changes of its relations, its subqueries and the clock reach."""
        for relation in self.block.relations:
            yield from self.relation(relation)
        yield from self.clock()
        for query in self.block.subqueries:
            if self.reach.is_touched(query, self.seen):
                yield from self.subquery(query)

    def relation(self, relation: JoinedRelation) -> Iterator[exp.Query]:
        """Yield the keys reached by one relation of its FROM clause."""
        if isinstance(relation.node, exp.Table):
            alias = relation.node.name
            if alias not in self.seen:
                for version in self.versions.apart(alias):
                    yield self.term(version, relation, self.versions.difference(alias, version))
        elif self.reach.is_touched(relation.node, self.seen):
            for version, name in self.reach.changed(relation.node.this).items():
                yield self.term(version, relation, build.table(name, relation.alias))

    def term(
        self, version: Version, mention: JoinedRelation | None = None, rows: exp.Expr | None = None
    ) -> exp.Select:
        """The keys over the FROM clauses in a version, where ``mention`` has a row.

        ``rows`` are those that it has; without them they are all of its own, and what its ON says
        of the clock is left out.
        """
        query = build.select(self.versions.at(part, version) for part in named_key(self.key.parts))
        demanded: list[exp.Expr] = []
        for block in (*self.around, self.block):
            looked_for = mention if block is self.block else None
            demanded += self.from_clause(query, block, version, looked_for, rows)
            demanded += self.where(block)
        return build.add_where(query, [build.operand(one) for one in demanded])

    def from_clause(
        self,
        query: exp.Select,
        block: SelectBlock,
        version: Version,
        mention: JoinedRelation | None,
        rows: exp.Expr | None,
    ) -> list[exp.Expr]:
        """Add a block's FROM clause to the query; return the conditions on its rows."""
        demanded: list[exp.Expr] = []
        for number, relation in enumerate(block.relations):
            mentioned = mention is not None and relation.alias == mention.alias
            if relation.looked_at and not mentioned:
                continue  # without it more rows are looked at
            bare = mentioned and rows is None
            node = self.versions.at(relation.node, version)
            if mentioned and rows is not None:
                node = rows
            if mentioned and relation.alias in block.supplied and not relation.looked_at:
                node = _marked(node, relation.alias)
                demanded.append(build.column(_MATCHED, relation.alias))
            on = [
                self.versions.at(one, version)
                for one in relation.on
                if not (bare and timing.contains_now(one))
            ]
            if number == 0 and query.args.get("from_") is None:
                query.set("from_", exp.From(this=node))
                continue
            if number == 0 or (not on and not relation.side):
                query.append("joins", exp.Join(this=node, kind="CROSS"))
                continue
            together = build.conjunction([build.operand(one) for one in on]) or exp.true()
            query.append("joins", exp.Join(this=node, side=relation.side or None, on=together))
        for lateral in block.node.args.get("laterals") or []:
            query.append("laterals", self.versions.at(lateral, version))
        return demanded

    def subquery(self, query: exp.Expr) -> Iterator[exp.Query]:
        """Yield the keys reached by a subquery of an expression of the block."""
        if not is_correlated(query):
            for version, name in self.reach.changed(query).items():
                beside = self.term(version)
                rows = build.table(name, _CHANGED)
                beside.append("joins", exp.Join(this=rows, kind="CROSS"))
                yield _also(beside, _compared(query, names_of(opened(query))[0]))
            return
        for select in leaf_selects(query):
            if any(one.side in ("RIGHT", "FULL") for one in SelectBlock(select).relations):
                # Joined to the rows of the outer blocks, such a join would keep all rows of its own
                # tables, with and without a match.
                yield from (self.term(version) for version in VERSIONS)
                continue
            around = (*self.around, self.block)
            yield from replace(self, block=SelectBlock(select), around=around).all()

    def clock(self) -> Iterator[exp.Query]:
        """Yield the keys of rows over a comparison with now() that changes its truth in between."""
        for clause in self.block.clauses:
            for atom in atoms_in(clause):
                yield from self.bounds(atom, None)
        for relation in self.block.relations:
            for one in relation.on:
                for atom in atoms_in(one):
                    yield from self.bounds(atom, relation)

    def bounds(self, atom: exp.Expr, bare: JoinedRelation | None) -> Iterator[exp.Query]:
        """The keys at which one comparison changes."""
        bounds = list(bounds_of(atom, self.versions.zone))
        taken = any(
            is_aggregate(part) or isinstance(part, exp.Window)
            for bound in bounds
            for part in bound.walk(prune=lambda node: isinstance(node, exp.Query))
        )
        if not bounds:
            return
        if taken and self.around:
            # A group of a subquery: every key may look at it.
            yield replace(self, block=self.around[-1], around=self.around[:-1]).term(Version.NEW)
        elif taken:
            yield self.of_groups(bounds)
        else:
            # One version is enough: a row that is not in both is a changed one.
            passes = [self.versions.at(one, Version.NEW) for one in bounds]
            yield _also(self.term(Version.NEW, bare), [self.versions.passed(passes)])

    def of_groups(self, bounds: Sequence[exp.Expr]) -> exp.Query:
        """Return the keys for bounds over groups or windows of the block, HAVING left out."""
        inner = self.block.node.copy()
        for clause in ("having", "order", "distinct", "limit", "offset"):
            inner.set(clause, None)
        named = [build.named(bound.copy(), f"{_BOUNDS}_{n}") for n, bound in enumerate(bounds)]
        inner.set("expressions", [*named_key(self.key.parts), *named])
        tree = self.versions.at(inner, Version.NEW)
        assert isinstance(tree, exp.Select)
        listed = [build.column(f"{KEY}{n}", _BOUNDS) for n in range(1, len(self.key.parts) + 1)]
        query = build.add_from(build.select(listed), build.subquery(tree, _BOUNDS))
        passes = [build.column(f"{_BOUNDS}_{n}", _BOUNDS) for n in range(len(bounds))]
        return build.add_where(query, [self.versions.passed(passes)])

    def where(self, block: SelectBlock) -> list[exp.Expr]:
        """The conjuncts of a block's WHERE that its changed rows fulfil.

        None over what an outer join may leave out: the row of NULLs may fulfil what the changed row
        does not, in a subquery too.
        """
        unsaid = block.supplied
        return [
            one.copy() for one in block.where if is_timeless(one) and not aliases_of(one) & unsaid
        ]


def _also(query: exp.Select, conditions: Iterable[exp.Expr]) -> exp.Select:
    """Add conditions to the query, in place, and return it."""
    where = query.args.get("where")
    return build.add_where(query, [*([] if where is None else [where.this]), *conditions])


def _marked(node: exp.Expr, alias: str) -> exp.Subquery:
    """Return the rows with an additional column that is true: NULL where a join found none."""
    relation = node.copy()
    listed = build.select_all(alias)
    listed.append("expressions", build.named(exp.true(), _MATCHED))
    return build.subquery(build.add_from(listed, relation), alias)


def _compared(query: exp.Expr, name: str) -> Iterator[exp.Expr]:
    """Yield conditions that relate a row to a changed row of the list it is compared with.

    ``x IN (…)`` as a conjunct of WHERE is true or not by the rows that equal x. Else it matters
    whether it is false or unknown, too: by those rows, by NULLs, and where x itself is NULL.
    A list of several columns, EXISTS and a scalar subquery: any row may matter.
    """
    node = query.parent
    if not isinstance(node, exp.In) or isinstance(node.this, exp.Tuple):
        return
    value, row = timing.wrapped(node.this.copy()), build.column(name, _CHANGED)
    if timing.contains_now(value) or value.find(exp.Query, exp.AggFunc, exp.Window):
        return
    equal = exp.EQ(this=value, expression=row)
    around = node.parent
    while isinstance(around, exp.And | exp.Paren):
        around = around.parent
    if isinstance(around, exp.Where):
        yield equal
        return
    null = exp.Is(this=row.copy(), expression=exp.Null())
    missing = exp.Is(this=value.copy(), expression=exp.Null())
    yield exp.Paren(this=exp.Or(this=exp.Or(this=equal, expression=null), expression=missing))
