"""What a query is rewritten to: its blocks, ready to be rendered for any window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property

from tapestry.instants import FIRST
from tapestry.names import KEY
from tapestry.sql.branches.measured import Measured
from tapestry.sql.branches.order import Assumption
from tapestry.sql.catalog import Catalog, Exploded, Source
from tapestry.sql.cumulative.remember import names_kept
from tapestry.sql.cumulative.rows import ends
from tapestry.sql.facts.begin import holds_from_begin
from tapestry.sql.facts.walk import all_tables
from tapestry.sql.ir import Lifted, Part, ValueTable
from tapestry.sql.look.running_values import running_columns, running_values
from tapestry.sql.look.trace import Passed, Step, last_steps, steps_of
from tapestry.sql.look.uses_of_sources import Use, uses_of
from tapestry.sql.look.window_notes import window_notes
from tapestry.sql.planner.measure_narrowed import (
    BranchRows,
    MeasuredTables,
    measured_rows,
    used_columns,
)
from tapestry.sql.planner.measurement import Measurement, statement
from tapestry.sql.scan import KnownAnswers, Scan, Window
from tapestry.sql.statement.check_assumptions import check_assumptions
from tapestry.sql.statement.render import Body, Rendering
from tapestry.sql.statement.render_bounds import render_bounds
from tapestry.sql.strategies.choose import CUMULATIVE, INSTANTS, STRATEGIES, Strategy, strategy_for


@dataclass(frozen=True)
class Rewriting:
    """A query that can be kept exactly, ready to be rendered for any window."""

    columns: tuple[str, ...]
    sources: tuple[str, ...]
    canonical: str
    parts: tuple[Part, ...]
    catalog: Catalog
    assumptions: tuple[Assumption, ...]
    passed: tuple[Passed, ...] = field(compare=False, repr=False)
    """The query as written, and after each pass."""
    audit: tuple[str, ...] = ()
    """Those of ``columns`` that read the clock, evaluated at ``_matched_at``."""
    begin: datetime | None = None
    apart: Mapping[str, Scan] = field(default_factory=dict, compare=False, repr=False)
    """By alias, how ``incremental`` reads a use that has a scan of its own."""
    infer: bool = True
    """Are tables read by what the conditions imply of them?"""
    measured: Measured | None = field(default=None, compare=False, repr=False)
    """What was measured of the rows of a window (``measurement``)."""
    rendered: dict[tuple[frozenset[str] | str | tuple[bool, ...], ...], Body] = field(
        default_factory=dict, compare=False, repr=False
    )

    @property
    def values(self) -> tuple[str, ...]:
        """The columns that an answer consists of: all but its audit columns."""
        return tuple(name for name in self.columns if name not in self.audit)

    @cached_property
    def uses(self) -> tuple[Use, ...]:
        """The uses of its sources, each with the conditions on its rows alone."""
        return uses_of(self.parts, self.catalog)

    def reading(self, apart: Mapping[str, Scan]) -> Rewriting:
        """The same, some uses read by a scan of their own, by alias.

        Each has every row of the source's scan for which the ``conditions`` of that use hold.
        """
        return replace(self, apart=apart)

    def knowing(self, measured: Measured) -> Rewriting:
        """The same, where this was measured: ``incremental`` over its window reads less.

        The scans must give the rows that it was measured of.
        """
        return replace(self, measured=measured)

    @property
    def costliest(self) -> Strategy:
        """The costliest strategy among the blocks."""
        if self.lifted:
            running = all(lifted.sums is not None for lifted in self.lifted)
            return CUMULATIVE if running else INSTANTS
        found = [strategy_for(block) for part in self.parts for block in part.blocks]
        return max(found, key=STRATEGIES.index)

    @property
    def lifted(self) -> tuple[Lifted, ...]:
        """The arms that are evaluated at instants."""
        return tuple(part.lifted for part in self.parts if part.lifted is not None)

    @property
    def asks_known(self) -> bool:
        """Are new answers told from those that are known by their values?"""
        return any(not lifted.by_rows for lifted in self.lifted)

    @property
    def strategy(self) -> str:
        """Its name: bounds, least, anti_join, stages, gaps, candidates or instants."""
        return self.costliest.name

    @property
    def keeps_states(self) -> bool:
        """Are there groups with running states?"""
        return any(lifted.sums is not None for lifted in self.lifted)

    @property
    def rows_end(self) -> tuple[bool | None, ...]:
        """Of each arm at instants: may a row of its groups end? None: it has no running states.

        What is kept of a group hangs on it: of DISTINCT, how many rows have a value, or that one
        has it.
        """
        lifted = [part for part in self.parts if part.lifted is not None]
        return tuple(
            ends(part.blocks) if part.lifted is not None and part.lifted.sums is not None else None
            for part in lifted
        )

    @property
    def running_values(self) -> str:
        """The warning that every intermediate value of a column becomes an answer; "" for none."""
        return running_values(self.running_columns)

    @property
    def running_columns(self) -> tuple[str, ...]:
        """The columns of which every intermediate value becomes an answer."""
        return running_columns(self.lifted, self.columns, self.catalog)

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
            or (table.on is not None and self.catalog.root(table.source) == source)
            for part in self.parts
            for table in all_tables([part])
        )

    @property
    def asks_begin(self) -> bool:
        """Does any derivation of static rows alone hold from the begin of time on?"""
        return bool(self.lifted) or any(
            holds_from_begin(block) for part in self.parts for block in part.blocks
        )

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
        return (*steps_of(self.passed), *last_steps(self))

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
        rendering = self.rendering(scans, dialect, window.tau is None, keyed)
        at_begin = known is not None and known.at_begin
        remembers = known is not None and bool(known.states)
        few = few and not rendering.first
        rendering = replace(
            rendering, few=few, at_begin=at_begin, remembers=remembers, uses=self.apart
        )
        if self.asks_known and window.tau is not None and known is None:
            raise KeyError("no known answers")
        body = self.body(rendering, window)
        return rendering.finish(body, scans, window.tau, window.t, known)

    def body(self, rendering: Rendering, window: Window) -> Body:
        """Q^I without its scans; rendered once, but for what was measured of a window."""
        if self.measured and self.measured.window == window and not rendering.first:
            return replace(rendering, measured=self.measured).incremental()
        flags = (
            *(rendering.first, rendering.few, KEY in rendering.columns),
            *(rendering.at_begin, rendering.remembers, rendering.unsplit),
        )
        apart, dated = frozenset(self.apart), frozenset(rendering.late_from)
        key = (rendering.late, dated, rendering.dialect, flags, apart)
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
        rendering = replace(self.rendering(scans, dialect, tau is None), late_from={})
        return rendering.finish(rendering.incremental(), scans, tau, t, KnownAnswers(known))

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

    def states(
        self,
        window: Window,
        scans: Mapping[str, Scan],
        known: KnownAnswers | None = None,
        dialect: str = "spark",
        whole: bool = False,
        few: bool = False,
    ) -> str:
        """What a window changes of the groups that have running states; all since ever, to begin.

        The columns are ``state_columns``, those of ``KnownAnswers.states``, which is what several
        of these give, one after the other; ``whole`` puts what is known and the changes together.
        ``few`` as in ``incremental``.
        Only for a query that ``keeps_states``.
        """
        rendering = self.rendering(scans, dialect, window.tau is None)
        remembers = known is not None and bool(known.states)
        rendering = replace(rendering, remembers=remembers, few=few and window.tau is not None)
        body = rendering.remembered(whole)
        return rendering.finish(body, scans, window.tau, window.t, known)

    def state_columns(self, scans: Mapping[str, Scan]) -> tuple[str, ...]:
        """The columns that ``states`` gives, in their order."""
        return tuple(names_kept(self.rendering(scans, "spark", first=True).kept()))

    def row_instants(
        self, window: Window, scans: Mapping[str, Scan], at_begin: bool = False
    ) -> tuple[str, ...]:
        """For each arm that is evaluated at instants, a SELECT of its keys and their row-instants.

        The last column is the number of pairs of an instant and a row that are looked at, at most.
        """
        rendering = self.rendering(scans, "spark", window.tau is None)
        rendering = replace(rendering, at_begin=at_begin)
        return tuple(
            rendering.finish(body, scans, window.tau, window.t) for body in rendering.measures()
        )

    def measurement(
        self,
        window: Window,
        scans: Mapping[str, Scan],
        dialect: str = "spark",
        exact: frozenset[str] | None = None,
    ) -> Measurement | None:
        """What a run asks first of the rows that the branches of Q^I narrow their tables to.

        Their bytes; and, where others can be read by it, the least and greatest values of columns:
        only of the sources in ``exact``, if given, whose scans have the rows that ``incremental``
        will read. None where there is no such range, or nothing that it is joined to.
        """
        if window.tau is None:
            return None
        rendering = self.rendering(scans, dialect, first=False)
        asked = self.asked(rendering, exact)
        if not asked:
            return None
        used, reads = used_columns(self.parts), rendering.reads()
        select = statement(asked, used, self.catalog, reads, rendering.frame())
        text = rendering.finish(rendering.body([], select), scans, window.tau, window.t)
        return Measurement(asked, window, text)

    def asked(self, rendering: Rendering, exact: frozenset[str] | None) -> tuple[BranchRows, ...]:
        """What is measured of the branches' rows, more than their bytes of sources in ``exact``."""
        exact = exact if self.infer else frozenset()
        wanted = MeasuredTables(lambda block: strategy_for(block).by_branches, exact)
        return measured_rows(self.parts, self.catalog, rendering.frame(), wanted)

    def window_notes(self, scans: Mapping[str, Scan]) -> tuple[str, ...]:
        """What a window says of tables, and how that is known: what ``explain`` shows."""
        rendering = self.rendering(scans, "spark", first=False)
        return window_notes(self.parts, self.asked(rendering, None), rendering.frame())

    def assumption_checks(
        self, window: Window, scans: Mapping[str, Scan], dialect: str = "spark"
    ) -> tuple[tuple[str, str], ...]:
        """(assumption, SELECT of one number): how many pairs in the window break it; 0 is right."""
        rendering = self.rendering(scans, dialect, window.tau is None)
        return tuple(
            (text, rendering.finish(body, scans, window.tau, window.t))
            for text, body in check_assumptions(rendering)
        )

    def rendering(
        self, scans: Mapping[str, Scan], dialect: str, first: bool, keyed: bool = False
    ) -> Rendering:
        """What renders this query over these scans."""
        missing = [name for name in self.sources if name not in scans]
        if missing:
            raise KeyError(f"no scan for {', '.join(missing)}")
        made = [n for n, one in self.catalog.relations.items() if isinstance(one, Exploded)]
        late = frozenset(
            name
            for name in (*self.sources, *made)
            if (root := self.catalog.root(name)) and scans[root].late
        )
        late_from = {
            name: least
            for name in self.sources
            if name in late and not first and (least := scans[name].late_from or FIRST) > FIRST
        }
        return Rendering(
            tuple(_keyed(part) for part in self.parts) if keyed else self.parts,
            (*self.columns, KEY) if keyed else self.columns,
            self.catalog,
            (*self.sources, *made),
            late,
            self.assumptions,
            dialect,
            first,
            begin=self.begin,
            unsplit=all(scans[name].little for name in self.sources),
            late_from=late_from,
        )


def _keyed(part: Part) -> Part:
    """The arm with the key as one more column: constant where its answers count by value."""
    if part.lifted is not None:
        return part
    blocks = (replace(block, select=block.select + block.keys) for block in part.blocks)
    return replace(part, blocks=tuple(blocks))
