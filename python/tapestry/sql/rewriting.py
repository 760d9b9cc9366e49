"""A rewritten query: blocks that are ready to be rendered for any window."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property

from tapestry.names import KEY
from tapestry.sql.arms import OuterArm, with_keys
from tapestry.sql.branches.join_order import FEW, JoinOrder, join_order
from tapestry.sql.branches.measured import Measured
from tapestry.sql.branches.order import Assumption
from tapestry.sql.catalog import Catalog, Exploded
from tapestry.sql.choose_strategy import strategy_for
from tapestry.sql.facts.walk import source_tables
from tapestry.sql.look.source_reads import WINDOW, narrowed_sources
from tapestry.sql.look.trace import (
    INFERRED,
    TAU,
    Passed,
    Step,
    T,
    last_steps,
    steps_of,
    symbolic_scans,
)
from tapestry.sql.look.window_notes import window_notes
from tapestry.sql.planner.measure_narrowed import (
    BranchRows,
    MeasuredTables,
    Measurement,
    measured_rows,
    statement,
    used_columns,
)
from tapestry.sql.query_facts import QueryFacts
from tapestry.sql.scan import Form, JoinScan, KnownAnswers, Scan, Window
from tapestry.sql.statement.check_assumptions import check_assumptions
from tapestry.sql.statement.reading import QueryReading
from tapestry.sql.statement.render import Rendering
from tapestry.sql.statement.render_bounds import render_bounds
from tapestry.sql.statement.text import Body


@dataclass(frozen=True)
class Rewriting(QueryFacts):
    """A query that can be kept exactly, ready to be rendered for any window."""

    columns: tuple[str, ...]
    sources: tuple[str, ...]
    canonical: str
    arms: tuple[OuterArm, ...]
    catalog: Catalog
    assumptions: tuple[Assumption, ...]
    passed: tuple[Passed, ...] = field(compare=False, repr=False)
    """The query as written, and after each pass."""
    audit: tuple[str, ...] = ()
    """Those of ``columns`` that read the clock, evaluated at ``_matched_at``."""
    begin: datetime | None = None
    how_read: QueryReading = field(default_factory=QueryReading, compare=False, repr=False)
    """The reading of ``incremental``: the uses with a scan of their own, the order of joins, and
    the measurements of the rows of a window (``measurement``)."""
    rendered: dict[Hashable, Body] = field(default_factory=dict, compare=False, repr=False)

    @property
    def infers(self) -> bool:
        """Whether tables are read by inferred conditions."""
        return any(one.name == INFERRED for one in self.passed)

    @property
    def values(self) -> tuple[str, ...]:
        """The columns that an answer consists of: all but its audit columns."""
        return tuple(name for name in self.columns if name not in self.audit)

    def reading(
        self,
        apart: Mapping[str, Scan],
        joined: Mapping[tuple[str, str], JoinScan] | None = None,
    ) -> Rewriting:
        """Return the rewriting with some uses read by own scans, by alias, and some in pairs.

        Each has every row of the source's scan for which the ``conditions`` of that use hold; of
        two, every pair of such rows for which those of ``pairing`` hold, too.
        """
        return replace(self, how_read=replace(self.how_read, apart=apart, joined=joined or {}))

    def joining(self, names: Sequence[str]) -> Rewriting:
        """Return the rewriting with its tables joined in this order, by aliases in FROM.

        The answers are the same. Raises ConfigurationError for what is no table of the query.
        """
        return replace(self, how_read=replace(self.how_read, joins=join_order(self.arms, names)))

    def knowing(self, measured: Measured) -> Rewriting:
        """Return the rewriting with measurements: ``incremental`` over their window reads less.

        The scans must give the rows that it was measured of.
        """
        return replace(self, how_read=replace(self.how_read, measured=measured))

    @cached_property
    def narrowed(self) -> frozenset[str]:
        """The sources of which a run reads only rows that arrived in its window, if none is late.

        No statement of it asks for the ids of their rows.
        """
        if self.asks_known:
            return frozenset()
        return narrowed_sources(
            self.sources, lambda scans, few: self.incremental(WINDOW, scans, few=few)
        )

    @property
    def trace(self) -> tuple[Step, ...]:
        """Every step from Q to Q^I, each with the reason why it is allowed."""
        scans = symbolic_scans(self.sources, self.catalog)
        texts = self.template(scans, None, T), self.template(scans, TAU, T)
        last = last_steps(self.costliest, texts, self.window_notes(scans))
        return (*steps_of(self.passed), *last)

    def incremental(
        self,
        window: Window,
        scans: Mapping[str, Scan],
        dialect: str = "spark",
        few: bool = False,
        keyed: bool = False,
        known: KnownAnswers | None = None,
    ) -> str:
        """Q^I over one window: the select list and ``_matched_at`` of every new answer, once.

        ``window.tau=None`` gives Q_M(t). ``scans`` has one entry for each of ``sources``.  Only the
        first window costs the rendering; the next ones differ in the scans and the instants.

        few
            What ``measurement`` finds is small enough to be sent to every task of a join: Spark is
            told so by a hint.
        known
            The answers so far, where ``asks_known``.
        keyed
            Add ``_key``, the text that identifies the answer (``tapestry.sql.facts.keys``).
        """
        form, joins = Form.of_run(window, known), self._joins(window, scans)
        reading = replace(self.how_read, scans=scans, few=few and not form.first, joins=joins)
        if form.first or (reading.measured and reading.measured.window != window):
            reading = replace(reading, measured=None)
        rendering = self.rendering(reading, dialect, form, keyed)
        if self.asks_known and window.tau is not None and known is None:
            raise KeyError("no known answers")
        return rendering.finish(self.body(rendering), window.tau, window.t, known)

    def body(self, rendering: Rendering) -> Body:
        """Q^I without its scans; rendered once, but for what was measured of a window."""
        if rendering.reading.measured is not None:
            return rendering.incremental()
        key = rendering.rendered_key
        if key not in self.rendered:
            self.rendered[key] = rendering.incremental()
        return self.rendered[key]

    def template(
        self,
        scans: Mapping[str, Scan],
        tau: str | None,
        t: str,
        dialect: str = "spark",
        known: str = "known_answers",
    ) -> str:
        """Q^I over a window whose ends are texts, which stand where a timestamp's text would.

        ``tau=None`` gives Q_M(t). What a Jinja template or a reader fills in later.
        """
        undated = {name: replace(scan, late_from=None) for name, scan in scans.items()}
        rendering = self.rendering(self._alone(undated), dialect, Form(tau is None))
        return rendering.finish(rendering.incremental(), tau, t, KnownAnswers(known))

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
        rendering = self.rendering(self._alone(scans), dialect, Form(first=True))
        return tuple(rendering.finish(body, tau, t) for body in render_bounds(rendering))

    def states(
        self,
        window: Window,
        scans: Mapping[str, Scan],
        known: KnownAnswers | None = None,
        dialect: str = "spark",
        whole: bool = False,
        few: bool = False,
    ) -> str:
        """Render how a window changes the groups with running states; all states, to begin with.

        The columns are ``state_columns``, those of ``KnownAnswers.states``, which is what several
        of these give, one after the other; ``whole`` puts what is known and the changes together.
        ``few`` as in ``incremental``.
        Only for a query that ``keeps_states``.
        """
        form, joins = (
            replace(Form.of_run(window, known), at_begin=False),
            self._joins(window, scans),
        )
        reading = QueryReading(scans, few=few and not form.first, joins=joins)
        rendering = self.rendering(reading, dialect, form)
        return rendering.finish(rendering.remembered(whole), window.tau, window.t, known)

    def state_columns(self, scans: Mapping[str, Scan]) -> tuple[str, ...]:
        """The columns that ``states`` gives, in their order."""
        return self.rendering(self._alone(scans), "spark", Form(first=True)).state_columns()

    def row_instants(
        self, window: Window, scans: Mapping[str, Scan], at_begin: bool = False
    ) -> tuple[str, ...]:
        """Return, for each arm evaluated at instants, a SELECT of its keys and row-instants.

        The last column is the number of pairs of an instant and a row that are looked at, at most.
        """
        form = Form(window.tau is None, at_begin)
        rendering = self.rendering(self._alone(scans), "spark", form)
        return tuple(rendering.finish(body, window.tau, window.t) for body in rendering.measures())

    def measurement(
        self,
        window: Window,
        scans: Mapping[str, Scan],
        dialect: str = "spark",
        exact: frozenset[str] | None = None,
    ) -> Measurement | None:
        """Return what a run measures first of the rows to which Q^I's branches narrow tables.

        Their bytes; and, where others can be read by it, the least and greatest values of columns:
        only of the sources in ``exact``, if given, whose scans have the rows that ``incremental``
        will read. None where there is no such range, or nothing that it is joined to.
        """
        if window.tau is None:
            return None
        rendering = self.rendering(self._alone(scans), dialect, Form(first=False))
        asked = self.asked(rendering, exact)
        if not asked:
            return None
        used, reads = used_columns(self.arms), rendering.reads()
        select = statement(asked, used, self.catalog, reads, rendering.frame())
        text = rendering.finish(rendering.body([], select), window.tau, window.t)
        return Measurement(asked, window, text)

    def asked(self, rendering: Rendering, exact: frozenset[str] | None) -> tuple[BranchRows, ...]:
        """Return the measured rows of branches; of sources in ``exact``, more than their bytes."""
        exact = exact if self.infers else frozenset()
        wanted = MeasuredTables(lambda block: strategy_for(block).by_branches, exact)
        return measured_rows(self.arms, self.catalog, rendering.frame(), wanted)

    def window_notes(self, scans: Mapping[str, Scan]) -> tuple[str, ...]:
        """Return what a window implies for tables, and why, for ``explain``."""
        rendering = self.rendering(self._alone(scans), "spark", Form(first=False))
        return window_notes(self.arms, self.asked(rendering, None), rendering.frame())

    def assumption_checks(
        self, window: Window, scans: Mapping[str, Scan], dialect: str = "spark"
    ) -> tuple[tuple[str, str], ...]:
        """(assumption, SELECT of one number): how many pairs in the window break it; 0 is right."""
        rendering = self.rendering(self._alone(scans), dialect, Form.of_run(window))
        return tuple(
            (text, rendering.finish(body, window.tau, window.t))
            for text, body in check_assumptions(rendering)
        )

    def rendering(
        self, reading: QueryReading, dialect: str, form: Form, keyed: bool = False
    ) -> Rendering:
        """Return the rendering of this query over these scans; KeyError for a missing scan."""
        missing = [name for name in self.sources if name not in reading.scans]
        if missing:
            raise KeyError(f"no scan for {', '.join(missing)}")
        reading = replace(reading, scans={name: reading.scans[name] for name in self.sources})
        made = [n for n, one in self.catalog.relations.items() if isinstance(one, Exploded)]
        return Rendering(
            tuple(with_keys(arm) for arm in self.arms) if keyed else self.arms,
            (*self.columns, KEY) if keyed else self.columns,
            self.catalog,
            (*self.sources, *made),
            self.assumptions,
            self.begin,
            dialect,
            form,
            reading,
        )

    def _alone(self, scans: Mapping[str, Scan]) -> QueryReading:
        """Return a reading by these scans, no use apart, tables joined in the author's order."""
        return QueryReading(scans, joins=self.how_read.joins)

    def _joins(self, window: Window, scans: Mapping[str, Scan]) -> JoinOrder:
        """Return the order in which tables are joined, by the sizes in these scans."""
        if window.tau is None:
            return self.how_read.joins
        sizes = dict[str, Scan]()
        for table in source_tables(self.arms):
            if root := self.catalog.root(table.source):
                sizes[table.alias] = self.how_read.apart.get(table.alias) or scans[root]
        joins = self.how_read.joins
        return joins if len(sizes) <= FEW else joins.over(window, sizes)
