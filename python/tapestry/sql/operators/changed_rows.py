"""The difference of a query between two versions, as two relations of rows.

    minus    rows of the old version that are not in the new one, at least
    plus     rows of the new version that are not in the old one, at least

A group that comes out the same takes no part: what stands above it does not change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from tapestry.sql.facts.bounds_of_time import atoms_in, bounds_of
from tapestry.sql.facts.from_clause import opened
from tapestry.sql.operators.block import SelectBlock, is_bag_union
from tapestry.sql.operators.choose_key import Key, choose_key, names_of
from tapestry.sql.operators.cut import cut, key_names, keyed
from tapestry.sql.operators.reach import Changed, Reach
from tapestry.sql.operators.sums import SummedBlock, mentions
from tapestry.sql.operators.versions import VERSIONS, TwoVersions, Version
from tapestry.sql.write import build

SIGN = "_tap_sign"
"""Is a row, or what is summed of rows, taken off (-1) or added (1)?"""


@dataclass
class ChangedRows:
    """Makes the relations, once for each query; they are added to ``versions.ctes``."""

    versions: TwoVersions
    known: dict[int, tuple[exp.Expr, Changed]] = field(default_factory=dict)

    @property
    def reach(self) -> Reach:
        """The search for keys, with the changed rows of derived tables from here."""
        return Reach(self.versions, self.of)

    def of(self, query: exp.Expr) -> Changed:
        """Return the changed rows of a query without columns of queries around it."""
        tree = opened(query)
        if id(tree) not in self.known:
            self.known[id(tree)] = tree, self._made(tree)
        return self.known[id(tree)][1]

    def signed(self, block: SummedBlock) -> Iterator[exp.Select]:
        """Counts and sums of the rows of a block that go (``SIGN`` -1) and that come (1).

        Every mention in turn has its changed rows; those before it are of the new version, those
        behind it of the old one, so that rows which changed together are counted once.
        """
        query = block.summing()
        for place, node in enumerate(mentions(query)):
            changed = self._signed(node)
            if changed is None:
                continue
            term = query.copy()
            for number, other in enumerate(list(mentions(term))):
                side = Version.NEW if number < place else Version.OLD
                other.replace(changed if number == place else self.versions.at(other, side))
            yield _by_sign(term, changed)

    def _signed(self, node: exp.Expr) -> exp.Subquery | None:
        """The changed rows of a mentioned relation with their signs; None: there are none."""
        sides: dict[Version, exp.Expr] = {}
        if isinstance(node, exp.Table):
            apart = self.versions.apart(node.name)
            sides = {one: self.versions.difference(node.name, one) for one in apart}
        elif self.reach.is_touched(node, frozenset()):
            tree = opened(node.this)
            key = None if self._is_taken_apart(tree) else self._key(tree)
            found = self.of(tree) if key is None else self._among_keys(tree, key)
            sides = {one: build.table(name, node.alias) for one, name in found.items()}
        parts = []
        for version, rows in sides.items():
            sign = exp.Literal.number(-1 if version is Version.OLD else 1)
            listed = [*build.select_all(node.alias).expressions, build.named(sign, SIGN)]
            parts.append(build.add_from(build.select(listed), rows))
        return build.subquery(build.union_all(parts), node.alias) if parts else None

    def keys(self, query: exp.Expr, key: Key) -> str:
        """The relation of the keys of a query that can differ, each once."""
        found = self.reach.of(query, key)
        if not found:
            return self.versions.keep_computed(_no_keys(query, key, self.versions), "keys")
        together = build.union_all(found) if len(found) > 1 else found[0]
        outer = build.select_all()
        outer.set("distinct", exp.Distinct())
        build.add_from(outer, build.subquery(together, "_all"))
        return self.versions.keep_computed(outer, "keys")

    def _key(self, query: exp.Expr) -> Key | None:
        return choose_key(query, self.versions.tables, weights=self.versions.weights)

    def _made(self, query: exp.Query) -> Changed:
        if is_bag_union(query):
            sides = [(self.of(side), side) for side in (query.this, query.expression)]
            return {
                version: self.versions.keep(
                    build.union_all([_renamed(one[version], side, names_of(query))
                                     for one, side in sides]),
                    "both",
                )
                for version in VERSIONS
            }  # fmt: skip
        if isinstance(query, exp.Select) and _is_row_by_row(SelectBlock(query)):
            return {
                version: self.versions.keep(self._row_by_row(query, version), "rows")
                for version in VERSIONS
            }
        return self._compared(query, self._key(query))

    def _is_taken_apart(self, query: exp.Query) -> bool:
        """Return whether a query's change follows row by row from those of its relations."""
        row_by_row = isinstance(query, exp.Select) and _is_row_by_row(SelectBlock(query))
        return row_by_row or is_bag_union(query)

    def _row_by_row(self, query: exp.Select, version: Version) -> exp.Query:
        """Return a filter and projection of a relation's changed rows, and rows due in time."""
        (relation,) = SelectBlock(query).relations
        node = relation.node
        rows: exp.Expr | None = None
        if not isinstance(node, exp.Table):
            if self.reach.is_touched(node, frozenset()):
                rows = build.table(self.of(node.this)[version], relation.alias)
        elif version in self.versions.apart(node.name):
            rows = self.versions.difference(node.name, version)
        found: list[exp.Query] = []
        bounds = [
            bound
            for clause in SelectBlock(query).clauses
            for atom in atoms_in(clause)
            for bound in bounds_of(atom, self.versions.zone)
        ]
        if rows is not None:
            bare = query.copy()
            bare.args["from_"].set("this", exp.to_table("_placeholder"))
            changed = self.versions.query_at(bare, version)
            changed.args["from_"].set("this", rows)
            found.append(changed)
        if bounds:
            copy = self.versions.query_at(query, version)
            assert isinstance(copy, exp.Select)
            passes = self.versions.passed([self.versions.at(one, version) for one in bounds])
            where = copy.args.get("where")
            parts = [] if where is None else [build.operand(where.this)]
            found.append(build.add_where(copy, [*parts, passes]))
        if not found:
            return _none(self.versions.query_at(query, version))
        return build.union_all(found) if len(found) > 1 else found[0]

    def _compared(self, query: exp.Query, key: Key | None) -> Changed:
        """Return the rows that differ between the versions, of the keys that can differ, if any."""
        if key is None:
            both = {one: self.versions.query_at(query, one) for one in VERSIONS}
            names: Changed = {one: self.versions.keep(both[one], one.value) for one in VERSIONS}
        else:
            names = self._among_keys(query, key)
        found = {}
        for one, other in (VERSIONS, VERSIONS[::-1]):
            sides = [_renamed(names[side], query, names_of(query)) for side in (one, other)]
            apart = exp.Except(this=sides[0], expression=sides[1], distinct=False)
            found[one] = self.versions.keep(apart, "apart")
        return found

    def _among_keys(self, query: exp.Query, key: Key) -> Changed:
        """The rows of both versions, of the keys that can differ."""
        among = self.keys(query, key)
        both = {one: cut(query, key, among, self.versions, one) for one in VERSIONS}
        return {one: self.versions.keep(both[one], one.value) for one in VERSIONS}


def _by_sign(term: exp.Select, changed: exp.Subquery) -> exp.Select:
    """Counts and sums by the sign of the changed rows, which stand somewhere in FROM."""
    sign, select = build.column(SIGN, changed.alias), changed.parent_select
    while select is not None and select is not term:
        select.append("expressions", build.named(sign, SIGN))
        around = select.find_ancestor(exp.Subquery)
        assert around is not None
        sign, select = build.column(SIGN, around.alias), around.parent_select
    term.set("expressions", [build.named(sign, SIGN), *term.expressions])
    group = term.args.get("group") or exp.Group(expressions=[])
    group.append("expressions", sign.copy())
    term.set("group", group)
    return term


def _is_row_by_row(block: SelectBlock) -> bool:
    """Return whether a block filters and projects one relation, row by row."""
    return block.plain and len(block.relations) == 1 and not block.subqueries


def _renamed(name: str, query: exp.Expr, columns: Sequence[str]) -> exp.Select:
    """Return the rows of a query with other names for its columns."""
    pairs = zip(names_of(opened(query)), columns, strict=True)
    listed = [build.named(build.column(own), wanted) for own, wanted in pairs]
    return build.add_from(build.select(listed), exp.to_table(name))


def _none(query: exp.Query) -> exp.Query:
    rows = build.add_from(build.select_all(), build.subquery(query, "_none"))
    return build.add_where(rows, [exp.false()])


def _no_keys(query: exp.Expr, key: Key, versions: TwoVersions) -> exp.Query:
    rows = versions.query_at(keyed(query, key), Version.NEW)
    listed = build.select([build.column(name, "_none") for name in key_names(key)])
    return build.add_where(build.add_from(listed, build.subquery(rows, "_none")), [exp.false()])
