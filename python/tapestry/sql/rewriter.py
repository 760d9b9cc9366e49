"""Q → standard form → Q_M → Q^I: the passes in order, and the rewriting that they give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from sqlglot import exp
from sqlglot.optimizer.simplify import simplify_parens

from tapestry.errors import Refusal
from tapestry.names import KEY
from tapestry.quoting import remark
from tapestry.sql.branches.order import Assumption, Order, parse_assumptions
from tapestry.sql.catalog import Catalog, Source
from tapestry.sql.ir import Arm, Block, SourceTable, ValueTable
from tapestry.sql.look.trace import NAMES, QUERY, Step, last_steps, step
from tapestry.sql.normalize.normalize_subqueries import normalize_subqueries
from tapestry.sql.normalize.to_standard_form import to_standard_form
from tapestry.sql.read.inline_views import inline_views
from tapestry.sql.read.parse import is_cte, parse, table_name
from tapestry.sql.read.refuse_nondeterministic import refuse_nondeterministic
from tapestry.sql.read.resolve_names import output_names, refuse_unnamed, resolve_names
from tapestry.sql.scan import Scan, Window
from tapestry.sql.statement.begin_of_time import holds_from_begin, timed
from tapestry.sql.statement.check_assumptions import check_assumptions
from tapestry.sql.statement.measure_narrowed import measure_narrowed
from tapestry.sql.statement.refuse_too_long import refuse_too_long
from tapestry.sql.statement.render import Answers, Body, Rendering, all_tables, render_bounds
from tapestry.sql.strategies.choose import STRATEGIES, Strategy, strategy_for
from tapestry.sql.strategies.keep_look_ups import keep_look_ups
from tapestry.sql.work import bounded

ALTERNATIVES = 1_024
"""So many disjuncts may an arm of the outermost UNION ALL have, all its blocks together."""


@dataclass(frozen=True)
class Rewriting:
    """A query that can be kept exactly, ready to be rendered for any window."""

    columns: tuple[str, ...]
    sources: tuple[str, ...]
    canonical: str
    written: tuple[Step, ...]
    """The first steps of the trace: the query as written, and with its names resolved."""
    parts: tuple[Answers, ...]
    catalog: Catalog
    assumptions: tuple[Assumption, ...]
    rendered: dict[tuple[frozenset[str], str, bool, bool, bool], Body] = field(
        default_factory=dict, compare=False, repr=False
    )

    @property
    def costliest(self) -> Strategy:
        """The costliest strategy among the blocks."""
        found = [strategy_for(block) for part in self.parts for block in part.blocks]
        return max(found, key=STRATEGIES.index)

    @property
    def strategy(self) -> str:
        """Its name: bounds, least, anti_join, gaps or candidates."""
        return self.costliest.name

    @property
    def reads_alone(self) -> bool:
        """Is each answer a row of one table, whatever else stands there?

        Then nothing is read but what arrived, or comes to a bound, within the window.
        """
        return self.costliest.own_rows and not any(
            part.by_value or len(block.tables) != 1 for part in self.parts for block in part.blocks
        )

    def looks_back_at(self, source: str) -> bool:
        """Do rows of a source that are gone still decide which answers are new?

        Not where an answer is a derivation and nothing but its own rows says when it holds. Time
        begins with the earliest arrival, of rows that are gone too; static rows have none.
        A row that was looked up and is gone leaves the rows that met it without a match.
        """
        known = self.catalog.relations[source]
        if self.asks_begin and isinstance(known, Source) and known.arrival is not None:
            return True
        return not self.costliest.own_rows or any(
            part.by_value
            or isinstance(table, ValueTable)
            or (table.on is not None and table.source == source)
            for part in self.parts
            for table in all_tables([part])
        )

    @property
    def asks_begin(self) -> bool:
        """Does any derivation of static rows alone hold from the begin of time on?"""
        return any(holds_from_begin(block) for part in self.parts for block in part.blocks)

    @property
    def forgets_ended(self) -> bool:
        """Do rows that ended by τ decide nothing about what is new after τ?

        Each derivation then begins at the greatest lower bound c of its one disjunct, or never: an
        inner row that ended by τ < c neither hinders it nor was ever what hindered it. With
        further disjuncts such a row may be why an earlier one of them never held, and without it
        time may seem to begin after τ.
        """
        return (
            not self.asks_begin
            and not any(
                part.by_value
                or not strategy_for(block).at_bounds
                or (len(block.disjuncts) > 1 and not strategy_for(block).own_rows)
                for part in self.parts
                for block in part.blocks
            )
            and not any(isinstance(table, ValueTable) for table in all_tables(self.parts))
        )

    @property
    def trace(self) -> tuple[Step, ...]:
        """Every step from Q to Q^I, each with the reason why it is allowed."""
        return (*self.written, *last_steps(self))

    def incremental(
        self,
        window: Window,
        scans: Mapping[str, Scan],
        dialect: str = "spark",
        few: bool = False,
        keyed: bool = False,
    ) -> str:
        """Q^I over one window: the select list and ``_matched_at`` of every new answer, once.

        ``window.tau=None`` gives Q_M(t). ``scans`` has one entry for each of ``sources``.  Only the
        first window costs the rendering; the next ones differ in the scans and the instants.

        few
            What ``narrowed_bytes`` measures is small enough to be sent to every task of a join:
            Spark is told so by a hint.
        keyed
            Add ``_key``, the text that identifies the answer (``tapestry.sql.facts.keys``).
        """
        rendering = self.rendering(scans, dialect, window.tau is None, keyed)
        rendering = replace(rendering, few=few and not rendering.first)
        key = (rendering.late, dialect, rendering.first, rendering.few, keyed)
        if key not in self.rendered:
            self.rendered[key] = rendering.incremental()
        return rendering.finish(self.rendered[key], scans, window.tau, window.t)

    def template(
        self,
        scans: Mapping[str, Scan],
        tau: str | None,
        t: str,
        dialect: str = "spark",
    ) -> str:
        """Q^I over a window whose ends are texts, which stand where a timestamp's text would.

        ``tau=None`` gives Q_M(t). What a Jinja template or a reader fills in later.
        """
        rendering = self.rendering(scans, dialect, tau is None)
        return rendering.finish(rendering.incremental(), scans, tau, t)

    def bounds(
        self,
        tau: datetime | None,
        t: datetime,
        scans: Mapping[str, Scan],
        dialect: str = "spark",
    ) -> tuple[str, ...]:
        """SELECTs of one timestamp each: no new answer without new rows before the least of them.

        NULL says that nothing is due; ``tau`` is the end of the last run and only documents it.
        """
        rendering = self.rendering(scans, dialect, first=True)
        bodies = render_bounds(rendering)
        return tuple(rendering.finish(body, scans, tau, t) for body in bodies)

    def narrowed_bytes(
        self, window: Window, scans: Mapping[str, Scan], dialect: str = "spark"
    ) -> str | None:
        """A SELECT of the bytes of the rows that a branch of Q^I narrows a table to, at most.

        None where there is no such range, or nothing that it is joined to.
        """
        if window.tau is None:
            return None
        rendering = self.rendering(scans, dialect, first=False)
        body = measure_narrowed(rendering)
        return None if body is None else rendering.finish(body, scans, window.tau, window.t)

    def assumption_checks(
        self, window: Window, scans: Mapping[str, Scan], dialect: str = "spark"
    ) -> tuple[tuple[str, str], ...]:
        """(assumption, SELECT of one number): how many pairs in the window break it; 0 is right."""
        rendering = self.rendering(scans, dialect, window.tau is None)
        return tuple(
            (text, rendering.finish(body, scans, window.tau, window.t))
            for text, body in check_assumptions(rendering)
        )

    def order_at_worst(self) -> Order:
        """What is known about the bounds where rows of every source came late."""
        # sql: asked for its order, never written
        late = {name: Scan(name, None, "", late=True) for name in self.sources}
        return self.rendering(late, "spark", first=False).order()

    def rendering(
        self, scans: Mapping[str, Scan], dialect: str, first: bool, keyed: bool = False
    ) -> Rendering:
        """What renders this query over these scans."""
        missing = [name for name in self.sources if name not in scans]
        if missing:
            raise KeyError(f"no scan for {', '.join(missing)}")
        late = frozenset(name for name in self.sources if scans[name].late)
        return Rendering(
            tuple(_keyed(part) for part in self.parts) if keyed else self.parts,
            (*self.columns, KEY) if keyed else self.columns,
            self.catalog,
            self.sources,
            late,
            self.assumptions,
            dialect,
            first,
        )


def rewrite(
    sql: str,
    catalog: Catalog,
    assume: Sequence[str] = (),
    begin: datetime | None = None,
    steps: list[Step] | None = None,
) -> Rewriting:
    """Rewrite a query for incremental evaluation (Tapestry, sections 4 and 5).

    ``assume`` are orders of arrival columns that the author knows; ``begin`` bounds the instants
    of interest from below.  Raises Refusal with the reason, the place in the SQL and a way out;
    ``steps`` then holds the steps up to the one that refuses.
    """
    with bounded(sql):
        return _rewrite(sql, catalog, assume, begin, [] if steps is None else steps)


def _rewrite(
    sql: str,
    catalog: Catalog,
    assume: Sequence[str],
    begin: datetime | None,
    written: list[Step],
) -> Rewriting:
    parsed = parse(sql)
    written.append(step(QUERY, parsed.sql("spark", pretty=True)))
    inlined = inline_views(parsed, catalog)
    resolved = resolve_names(inlined, catalog)
    canonical = _canonical(resolved, catalog)
    written.append(step(NAMES, canonical))
    refuse_nondeterministic(resolved, catalog)
    columns = output_names(resolved, catalog)
    parts = []
    for part in normalize_subqueries(resolved, catalog):
        blocks = [timed(block, begin) for block in _standard_forms(part.arms, sql)]
        parts.append(Answers(tuple(b for b in blocks if b.disjuncts), part.by_value))
    parts = [part for part in parts if part.blocks]
    if not parts:
        raise Refusal("the query can never have an answer", sql, "check its conditions")
    refuse_unnamed(parsed, columns, catalog)
    _refuse_untyped(columns, parts)
    sources = _sources(parts, resolved, catalog)
    _refuse_all_static(sources, catalog, sql)
    arrivals = _written_arrivals(parts, catalog)
    assumptions = parse_assumptions(assume, arrivals, catalog.time_zone)
    rewriting = Rewriting(
        columns, sources, canonical, tuple(written), tuple(parts), catalog, assumptions
    )
    refuse_too_long(parts, rewriting.order_at_worst(), sql)
    return rewriting


def _standard_forms(arms: Sequence[Arm], sql: str) -> Iterator[Block]:
    """The arms' blocks; where they have too many disjuncts, all of the query is the place."""
    disjuncts = 0
    for arm in arms:
        try:
            blocks = [to_standard_form(one) for one in keep_look_ups(arm)]
        except Refusal as refusal:
            raise Refusal(refusal.reason, refusal.where or sql, refusal.hint) from None
        disjuncts += sum(len(block.disjuncts) for block in blocks)
        if disjuncts > ALTERNATIVES:
            raise Refusal(
                f"the query has more than {ALTERNATIVES} alternatives: {len(arms)} ways to form a"
                " row of FROM (outer joins, UNION ALL), times the ORs over now() and subqueries",
                sql,
                "write it as several models and a UNION ALL of them, fewer ORs and outer joins",
            )
        yield from blocks


def _keyed(part: Answers) -> Answers:
    """The arm with the key as one more column: constant where its answers count by value."""
    blocks = (replace(block, select=block.select + block.keys) for block in part.blocks)
    return replace(part, blocks=tuple(blocks))


def _canonical(resolved: exp.Query, catalog: Catalog) -> str:
    """A text that two queries share iff they are one syntax tree, settings included."""
    bare = resolved.transform(lambda node: simplify_parens(node, dialect="spark"))
    text = bare.sql("spark", pretty=True, comments=False)
    return f"{text}\n-- session time zone {remark(catalog.time_zone)}"


def _sources(parts: Sequence[Answers], resolved: exp.Query, catalog: Catalog) -> tuple[str, ...]:
    """Every source of the query: those that no answer needs also say when time begins."""
    tables = all_tables(parts)
    needed = [t.source for t in tables if isinstance(t, SourceTable)]
    named = [table_name(table) for table in resolved.find_all(exp.Table) if not is_cte(table)]
    return tuple(dict.fromkeys([*needed, *(n for n in named if n in catalog.relations)]))


def _refuse_all_static(sources: tuple[str, ...], catalog: Catalog, sql: str) -> None:
    for name in sources:
        relation = catalog.relations[name]
        if isinstance(relation, Source) and relation.arrival is not None:
            return
    raise Refusal(
        "no source of this query grows: all are static",
        sql,
        "name the arrival column of one (loaded_at_field, or meta: {arrival: ts}), or use a table",
    )


def _refuse_untyped(columns: tuple[str, ...], parts: Sequence[Answers]) -> None:
    """A column that is NULL in every arm has no type: Delta cannot read such a column again."""
    blocks = [block for part in parts for block in part.blocks]
    for place, name in enumerate(columns):
        values = [block.select[place] for block in blocks]
        if all(isinstance(value, exp.Null) for value in values):
            raise Refusal(
                f"the column {name} has no type",
                values[0].sql("spark"),
                f"give it one: CAST(NULL AS STRING) AS {name}",
            )


def _written_arrivals(parts: Sequence[Answers], catalog: Catalog) -> dict[str, set[str]]:
    arrivals: dict[str, set[str]] = {}
    for table in all_tables(parts):
        if isinstance(table, SourceTable) and table.appended:
            source = catalog.relations[table.source]
            assert isinstance(source, Source)
            assert source.arrival is not None
            arrivals.setdefault(table.written, set()).add(source.arrival.lower())
    return arrivals
