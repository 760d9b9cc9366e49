"""Computes the rows that are removed from and added to the table of a maintained model.

    keys      which keys can differ, of each arm
    old, new  the rows of these keys in both versions; the old ones are those of the table itself
              where its columns tell a row's key
    change    each row whose number of copies differs, with the difference

All of it is computed once and kept in views of the session, which are released with the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from tapestry.errors import Refusal
from tapestry.quoting import Sql, identifier, identifiers, relation_name
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.maintained.cheaper import Cheaper
from tapestry.runs.kinds.maintained.few_rows import NamedRows, few_rows
from tapestry.runs.kinds.maintained.query import MaintainedQuery
from tapestry.runs.kinds.maintained.reasons import Reason, Whole
from tapestry.runs.kinds.maintained.source_versions import SourcesCompared
from tapestry.runs.query.views import Views
from tapestry.runs.sources.contents import FLOATING, nearly_equal
from tapestry.runs.tables.state_row import Position
from tapestry.sql.catalog import Column
from tapestry.sql.operators.block import asks_in_list
from tapestry.sql.operators.compare_versions import KeptArm, Texts, compare
from tapestry.sql.operators.cut import key_names
from tapestry.sql.operators.texts import Between

NAMED = 10_000
"""So many rows are named one by one, by their hashes, in the statement that replaces them."""
DELTA = "_tap_d"
"""By how many copies a row is more in the new version."""

LITTLE = 1_000
"""With so many changed rows of the sources, the changed rows of the table may be few."""


@dataclass(frozen=True)
class TableChange:
    """The rows whose numbers of copies differ.

    relation
        Holds them: the columns of the answer and ``DELTA``.
    hashes
        Their hashes; None where they are too many to be named.
    inserted, updated, deleted
        How many rows come in, take the place of others of their key, and go out.
    few
        All of them, where they are few; ``relation`` is "" then.
    kept_out
        Holds changed rows that an expectation keeps out of the table; "": there are none.
    """

    relation: str
    hashes: tuple[int, ...] | None
    inserted: int
    updated: int
    deleted: int
    few: NamedRows | None = None
    kept_out: str = ""

    @property
    def empty(self) -> bool:
        """Whether nothing differs."""
        return not (self.inserted or self.updated or self.deleted or self.kept_out)


@dataclass(frozen=True)
class Comparing:
    """A query between two positions, over a table at a version.

    rejected
        The rows that are kept out of the table, as they stand behind FROM; "": none.
    """

    session: Session
    query: MaintainedQuery
    table: str
    last: Position
    t: datetime
    rejected: str = ""

    @property
    def before(self) -> str:
        """The answer of the last run for FROM, with the rows that were kept out of the table."""
        if not self.rejected:
            return self.table
        names = identifiers(self.query.names)
        both = f"SELECT {names} FROM {self.table} UNION ALL SELECT {names} FROM {self.rejected}"
        return f"({both})"

    @cached_property
    def views(self) -> Views:
        """The views in which it keeps what it computes; to be released."""
        return Views(self.session)

    def between(self, sources: SourcesCompared, cheaper: Cheaper) -> TableChange | Whole:
        """Return the change of the table by the changes of the sources.

        A ``Whole`` says why that cannot be computed, or that it is ``cheaper``.
        """
        kept = self.query.kept.keyed
        assert kept is not None
        between = Between((self.last.t, self.t), sources.versions)
        few = bool(self._shown_key()) and sources.rows <= LITTLE
        try:
            texts = [compare(kept, arm, between, hold=self.computed) for arm in kept.arms]
        except Refusal as refusal:
            return Whole(Reason.TIME_FUNCTION, refusal.reason)
        if (whole := self._many_keys(texts, cheaper)) is not None:
            return whole
        pairs = zip(kept.arms, texts, strict=True)
        return self._change([side for pair in pairs for side in self._sides(*pair)], few)

    def _many_keys(self, arms: Sequence[Texts], cheaper: Cheaper) -> Whole | None:
        reached = self.views.rows_of([identifier(texts.among) for texts in arms])
        if reached <= NAMED:
            return None
        ((rows,),) = self.session.rows(f"SELECT count(*) FROM {self.table}")
        return cheaper.many_keys(reached, int(rows))

    def with_answer(self, answer: str = "") -> TableChange:
        """Return the change of the table by the whole answer, which replaces all rows.

        ``answer``: a SELECT that gives it otherwise than by the definition.
        """
        return self._change(self._whole_sides(answer), few=True)

    def few_of_answer(self) -> TableChange | None:
        """The same where few rows change; None: they are not so few, or not to be named."""
        return self._named(self._whole_sides())

    def _whole_sides(self, answer: str = "") -> list[str]:
        """All rows of the table and of the answer, with their signs."""
        names = identifiers(self.query.names)
        answer = self.apart(answer or self.query.answer(self.t))
        old = f"SELECT {names}, -1 AS {DELTA} FROM {self.before}"
        return [old, f"SELECT {names}, 1 AS {DELTA} FROM ({answer})"]

    def _sides(self, arm: KeptArm, texts: Texts) -> Iterator[str]:
        """Yield the old and the new rows of an arm's keys that can differ, with their signs."""
        own = self.query.names
        names = arm.query.named_selects
        among = self._among_shown(arm, texts.among)
        if among:
            there = f"{self.before} AS _tap_t WHERE {among}"
            yield f"SELECT {identifiers(own)}, -1 AS {DELTA} FROM {there}"
            yield _signed(self.apart(texts.new), names, own, 1)
            return
        yield _signed(self.apart(texts.old), names, own, -1)
        yield _signed(self.apart(texts.new), names, own, 1)

    def computed(self, select: Sql) -> str:
        """Return the name of a view over a SELECT that is computed now."""
        return self.views.compute(select).strip("`")

    def apart(self, select: str) -> str:
        """Return a SELECT of rows of the query that a UNION may read.

        For a column that is an EXISTS or IN, Spark 4.1 infers a condition with columns of the
        subquery, and fails where a filter stands over a UNION of it ("key not found"): such a query
        is computed before.
        """
        asks = asks_in_list(self.query.read.tree)
        return f"SELECT * FROM {self.views.keep(select)}" if asks else select

    def _among_shown(self, arm: KeptArm, keys: str) -> str:
        """Return the condition that a row of the table has one of the keys; '': it shows none."""
        if arm.key is None or not (places := self._shown_key()):
            return ""
        pairs = zip(key_names(arm.key), places, strict=True)
        same = " AND ".join(
            f"_tap_t.{identifier(self.query.names[place])} <=> _tap_k.{name}"
            for name, place in pairs
        )
        return f"EXISTS (SELECT 1 FROM {identifier(keys)} AS _tap_k WHERE {same})"

    def _change(self, sides: Sequence[str], few: bool) -> TableChange:
        """Return the change; ``few``: rows may be few, with all copies of each in the sides."""
        names = identifiers(self.query.names)
        said = self.query.declared
        named = self._named(sides) if few and not said.drops else None
        if named is not None:
            return named
        both = _together(sides)
        change = self.views.keep(
            f"SELECT {names}, sum({DELTA}) AS {DELTA} FROM ({both}) GROUP BY {names}"
            f" HAVING sum({DELTA}) <> 0"
        )
        rounded = _but_for_rounding(change, Sql(DELTA), self.query.columns, self.query.unsteady)
        change = self.views.keep(rounded) if rounded else change
        kept_out = ""
        if said.drops:
            kept_out = self.views.keep(said.taken(f"SELECT * FROM {change}", out=True))
            change = self.views.keep(said.taken(f"SELECT * FROM {change}"))
            if not self.session.rows(f"SELECT 1 FROM {kept_out} LIMIT 1"):
                kept_out = ""
        rows = self.session.rows(
            f"SELECT {row_hash(self.query.names)} AS _tap_h,"
            f" sum(greatest({DELTA}, 0)), sum(-least({DELTA}, 0)) FROM {change}"
            f" GROUP BY _tap_h LIMIT {NAMED + 1}"
        )
        hashes: tuple[int, ...] | None = tuple(int(row[0]) for row in rows)
        came, went = (sum(int(row[place]) for row in rows) for place in (1, 2))
        if len(rows) > NAMED:
            hashes = None
            ((came, went),) = self.session.rows(
                f"SELECT sum(greatest({DELTA}, 0)), sum(-least({DELTA}, 0)) FROM {change}"
            )
        updated = self._updated(change) if came and went else 0
        counts = (int(came) - updated, updated, int(went) - updated)
        return TableChange(change, hashes, *counts, kept_out=kept_out)

    def _named(self, sides: Sequence[str]) -> TableChange | None:
        """The changed rows with their values, where they are few; None: they are not."""
        both = _together(sides)
        found = few_rows(self.session, self.query.columns, both, Sql(DELTA))
        if found is None or (self.query.stamps and found.some_stay):
            return None
        return TableChange("", (), *found.counts(self._shown_key()), few=found)

    def _updated(self, change: str) -> int:
        """Return how many rows replace others with their key, where the table shows keys."""
        if not (places := self._shown_key()):
            return 0
        key = identifiers([self.query.names[place] for place in places])
        ((updated,),) = self.session.rows(
            f"SELECT coalesce(sum(_tap_u), 0) FROM (SELECT least(sum(greatest({DELTA}, 0)),"
            f" sum(-least({DELTA}, 0))) AS _tap_u FROM {change} GROUP BY {key})"
        )
        return int(updated)

    def _shown_key(self) -> list[int]:
        """Return the places of the columns that show a row's key; none where they do not.

        A column of the table shows a key only with the very type that it has: the answer is one
        arm, whose columns are those of the table.
        """
        kept = self.query.kept.keyed
        if kept is None or len(kept.arms) > 1 or None in kept.arms[0].shown:
            return []
        return [place for place in kept.arms[0].shown if place is not None]


def row_hash(names: Sequence[str]) -> Sql:
    """Return a hash of a row of the answer; rows that are grouped as equal have one hash."""
    return Sql(f"xxhash64({identifiers(names)})")


def at_version(name: str, version: int) -> Sql:
    """Return a table at a version, as it stands behind FROM."""
    return Sql(f"{relation_name(name)} VERSION AS OF {version:d}")


def _together(sides: Sequence[str]) -> str:
    """The rows of several SELECTs."""
    return " UNION ALL ".join(f"({side}\n)" for side in sides)


def _signed(text: str, names: Sequence[str], own: Sequence[str], sign: int) -> str:
    """Return the rows of an arm under the names of the answer's columns, with their sign."""
    pairs = zip(names, own, strict=True)
    items = ", ".join(f"{identifier(name)} AS {identifier(mine)}" for name, mine in pairs)
    return f"SELECT {items}, {sign} AS {DELTA} FROM ({text}\n)"


def _but_for_rounding(
    change: str, delta: Sql, columns: Sequence[Column], unsteady: frozenset[str]
) -> str:
    """Return a change without rows that come back with other last digits; "": all of it.

    ``delta``: the number of copies by which each row, which stands there once, is more.
    """
    near = [c.name for c in columns if c.name in unsteady and c.type.lower() in FLOATING]
    if not near:
        return ""
    names = identifiers(column.name for column in columns)
    others = [identifier(column.name) for column in columns if column.name not in near]
    group = ", ".join([*others, f"abs({delta})"])
    pair = Sql(f"OVER (PARTITION BY {group}, _tap_i)")
    agree = " AND ".join(nearly_equal(name, pair) for name in near)
    ranked = (
        f"SELECT *, row_number() OVER (PARTITION BY {group}, {delta} ORDER BY {identifiers(near)})"
        f" AS _tap_i FROM {change}"
    )
    paired = f"SELECT *, (count(*) {pair} = 2 AND {agree}) AS _tap_same FROM ({ranked})"
    return f"SELECT {names}, {delta} FROM ({paired}) WHERE NOT _tap_same"
