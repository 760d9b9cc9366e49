"""The definition of one model over its pinned sources, which every check evaluates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.instants import micros
from tapestry.names import ARRIVAL, ENDED, KEY, ROW_ID
from tapestry.quoting import Sql, string
from tapestry.sql.catalog import Catalog, Source
from tapestry.sql.facts.from_clause import Ctes
from tapestry.sql.read.audit_columns import without_audit_columns
from tapestry.sql.read.parse import is_cte, table_name
from tapestry.sql.read.read_query import read
from tapestry.sql.read.total_orders import by_place, total_orders
from tapestry.sql.scan import Scan
from tapestry.sql.work import bounded
from tapestry.sql.write import build
from tapestry.sql.write.dialects import for_dialect
from tapestry.verification.buckets import bucket_of, in_bucket, shown_key
from tapestry.verification.from_clause import AT, INSTANTS
from tapestry.verification.intervals import may_hold_again
from tapestry.verification.restriction import (
    WHOLE,
    Driver,
    Range,
    Restriction,
    arrival_column,
    driver,
    in_ranges,
)
from tapestry.verification.scopes import arms, by_value, gathers_at_depth, shows_subquery
from tapestry.verification.threader import Threader

_ORDERED = (exp.Last, exp.LastValue, exp.NthValue)


def is_own(column: str) -> bool:
    """Return whether checks' statements have a column of this name beside those of the query.

    >>> is_own("_KEY"), is_own("_t_at"), is_own("_times")
    (True, True, False)
    """
    return column.lower() in (KEY, AT) or column.lower().startswith("_t_")


@dataclass(frozen=True)
class Definition:
    """A resolved query, and the scans of its sources.

    columns
        Names of the select list, without its audit columns.
    by_value
        For every arm of the outermost UNION ALL: do its answers count by value?
    with_values
        And do those that do not count by derivation and value (a scalar subquery in the select
        list)?
    """

    tree: exp.Query
    columns: tuple[str, ...]
    by_value: tuple[bool, ...]
    catalog: Catalog
    scans: Mapping[str, Scan]
    dialect: str = "spark"
    with_values: tuple[bool, ...] = ()
    own: str = ""
    """The author's own; '' where it leaves the order of equal rows open, and so its answers."""
    places: tuple[int, ...] = ()
    listed: int = 0

    @classmethod
    def read(
        cls, sql: str, catalog: Catalog, scans: Mapping[str, Scan], dialect: str = "spark"
    ) -> Definition:
        """The definition of an author's query; raises Refusal for what cannot be read."""
        with bounded(sql):
            query = read(sql, catalog)
            names, audited = query.columns, query.audit
            places = tuple(place for place in range(len(names)) if place not in audited)
            columns = tuple(names[place] for place in places)
            resolved = without_audit_columns(query.tree, audited)
            _refuse_unchecked(resolved)
            ordered = total_orders(resolved, catalog)
            each = list(arms(ordered, {}))
            kinds = tuple(by_value(arm, ctes) for arm, ctes in each)
            shown = tuple(shows_subquery(arm, ctes) for arm, ctes in each)
        own = sql if dialect == "spark" and ordered == resolved else ""
        return cls(ordered, columns, kinds, catalog, scans, dialect, shown, own, places, len(names))

    @property
    def reads(self) -> dict[str, str]:
        """source -> name of the CTE that applies its scan."""
        names = dict.fromkeys(
            name
            for table in self.tree.find_all(exp.Table)
            if not is_cte(table) and (name := table_name(table)) in self.catalog.relations
        )
        # sql: numbered names
        return {name: f"read_{number}" for number, name in enumerate(names, start=1)}

    @property
    def joins_nothing(self) -> bool:
        """Whether each answer is one row of a single table."""
        return not any(self.by_value) and len(list(self.tree.find_all(exp.Table))) == 1

    @property
    def may_hold_again(self) -> bool:
        """Whether an answer can hold, cease to hold, and hold again."""
        return may_hold_again(self.tree, bool(self.ending))

    @property
    def appended(self) -> tuple[str, ...]:
        """The sources that grow."""
        return tuple(name for name in self.reads if self.scans[name].arrival is not None)

    @property
    def ending(self) -> tuple[str, ...]:
        """The sources whose rows end."""
        return tuple(name for name in self.reads if self._source(name).ends)

    def answers(self, restriction: Restriction = WHOLE, arm: int = 0) -> str:
        """``Q(s)`` for every s of the CTE ``instants``: select list, ``_s``, ``_key``.

        ``arm`` > 0 is one arm of the outermost UNION ALL only.
        """
        threader = Threader(self.catalog, self.reads)
        rows = self.sql(threader.answers(self.tree, {}, restriction, only=arm))
        # The names are the first arm's, in the author's upper and lower case.
        names = [exp.to_identifier(n, quoted=True).sql(self.dialect) for n in self.columns]
        return f"SELECT * FROM (\n{rows}\n) AS _r({', '.join(names)}, {AT}, {KEY})"

    def in_bucket(self, arm: int, digit: str) -> Definition | None:
        """Return the definition with one bucket of an arm's groups; None if it has no key."""
        tree = self.tree.copy()
        node, ctes = list(arms(tree, {}))[arm - 1]
        key = shown_key(node, ctes) if self.by_value[arm - 1] else ()
        if not key:
            return None
        assert isinstance(node, exp.Query)
        part = bucket_of(node, key, digit, "_t_whole")
        if not gathers_at_depth(part, ctes):
            part = part.distinct()  # GROUP BY alone: its rows count by value here, too
        if node is tree:
            return replace(self, tree=part)
        node.replace(part)
        return replace(self, tree=tree)

    def bucket_rows(self, relation: str, arm: int, digit: str) -> str:
        """Return SQL for the rows of a relation in a bucket of an arm's groups."""
        key = [self.columns[place] for place in shown_key(*list(arms(self.tree, {}))[arm - 1])]
        condition = in_bucket(key, digit, "n").sql(self.dialect)
        return f"(SELECT * FROM {relation} AS n WHERE {condition})"

    def driver(self, arm: int) -> Driver | None:
        """Return the relation whose rows take turns in an arm; None if there is none."""
        if gathers_at_depth(*list(arms(self.tree, {}))[arm - 1]):
            return None
        node, ctes = self._first_block(arm)
        return driver(node, ctes, frozenset(self.appended))

    def turn_rows(self, arm: int, ranges: Sequence[Range]) -> str:
        """Return SQL for an arm's driving rows in the ranges, with the columns that it uses.

        Raises ValueError where none drives, or one inside a derived table.
        """
        node, ctes = self._first_block(arm)
        driving = driver(node, ctes, frozenset(self.appended))
        if driving is None or driving.depth:
            raise ValueError(f"no table of the FROM clause of arm {arm} drives")
        alias, source = driving.alias, self._source(driving.source)
        # An alias of a subquery may be the same: its columns are listed for nothing.
        used = {one.name.lower() for one in node.find_all(exp.Column) if one.table == alias}
        names = [column.name for column in source.columns if column.name.lower() in used]
        hidden = [ARRIVAL, *([ENDED] if source.ends else []), ROW_ID]
        listed: list[exp.Expr] = [build.column(name) for name in [*names, *hidden]]
        read, column = self.reads[driving.source], arrival_column(self.catalog, driving.source)
        query = build.add_from(build.select(listed), build.table(read, alias))
        build.add_where(query, [in_ranges(alias, column, ranges)])
        return f"WITH {read} AS (\n  {self.read_sql(driving.source)}\n)\n{self.sql(query)}"

    def _first_block(self, arm: int) -> tuple[exp.Expr, Ctes]:
        node, ctes = list(arms(self.tree, {}))[arm - 1]
        while isinstance(node, exp.SetOperation):
            node, ctes = next(iter(arms(node.this, ctes)))
        return node, ctes

    def statement(self, ctes: Iterable[tuple[str, str]], query: str) -> str:
        """A statement: the scans, further CTEs in order, the query."""
        reads = ((name, self.read_sql(source)) for source, name in self.reads.items())
        texts = [f"{name} AS (\n  {body}\n)" for name, body in [*reads, *ctes]]
        return "WITH " + ",\n".join(texts) + f"\n{query}"

    def read_sql(self, source: str) -> str:
        """The body of the CTE that applies a source's scan."""
        scan, relation = self.scans[source], self._source(source)
        columns = (*relation.columns, *relation.hidden)
        listed = [build.column(c.name).sql(self.dialect) for c in columns]
        if scan.arrival is not None:
            listed.append(f"{scan.arrival} AS {ARRIVAL}")
        if relation.ends:
            listed.append(ENDED)
        listed.append(f"{scan.row_id} AS {ROW_ID}")
        return f"SELECT {', '.join(listed)} FROM {scan.relation}"

    def _source(self, name: str) -> Source:
        relation = self.catalog.relations[name]
        assert isinstance(relation, Source)
        return relation

    def instants(self, instants: Iterable[datetime]) -> tuple[str, str]:
        """The CTE ``instants`` of given instants."""
        values = ", ".join(f"({self.instant(s)})" for s in sorted(set(instants)))
        return INSTANTS, f"SELECT {AT} FROM (VALUES {values}) AS given({AT})"

    def instant(self, s: datetime) -> str:
        """An instant as SQL."""
        return self.at_micros(str(micros(s)))

    def at_micros(self, micros: str) -> str:
        """Return SQL for the instant of a number of microseconds since 1970."""
        if self.dialect == "duckdb":
            return f"CAST(make_timestamp({micros}) AS TIMESTAMPTZ)"
        return f"timestamp_micros({micros})"

    def micros(self, instant: str) -> str:
        """Return SQL for the microseconds since 1970 of an instant."""
        return f"{'epoch_us' if self.dialect == 'duckdb' else 'unix_micros'}({instant})"

    def text(self, text: str) -> Sql:
        """A text as an expression."""
        return string(text, self.dialect)

    def texts(self, texts: Iterable[str]) -> Sql:
        """A list of texts, separated by commas."""
        return Sql(", ".join(self.text(text) for text in texts))

    def sql(self, tree: exp.Expr) -> str:
        """The tree as text."""
        return for_dialect(tree, self.dialect).sql(self.dialect, pretty=True)


def _refuse_unchecked(tree: exp.Query) -> None:
    """Raise Refusal for values that depend on the order of equal rows."""
    for window in tree.find_all(exp.Window):
        if window.this.find(*_ORDERED) is not None and not by_place(window):
            raise Refusal(
                "the last of rows that are equal in the window's order cannot be told",
                window.sql("spark"),
                "write ROWS BETWEEN ... behind its ORDER BY",
                code="not-checkable",
            )
