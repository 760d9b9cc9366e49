"""Plans the next run of a maintained model: nothing, the changes, or the whole answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property

from tapestry.runs.context.clock import window_end
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.maintained.another_table import another_table
from tapestry.runs.kinds.maintained.cheaper import Cheaper, weigh
from tapestry.runs.kinds.maintained.config import config_of
from tapestry.runs.kinds.maintained.kept_sums import KeptSums, SumsOfRun
from tapestry.runs.kinds.maintained.query import MaintainedQuery
from tapestry.runs.kinds.maintained.reasons import NotIncremental, Reason, Whole
from tapestry.runs.kinds.maintained.rejected_rows import RejectedRows
from tapestry.runs.kinds.maintained.replace_rows import Replacement, replacement
from tapestry.runs.kinds.maintained.source_versions import SharedFeeds, compare_sources
from tapestry.runs.kinds.maintained.table_change import (
    Comparing,
    TableChange,
    at_version,
)
from tapestry.runs.kinds.maintained.write_run import WriteRun, is_followed
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.claiming import closing, first_row, following_row
from tapestry.runs.protocol.plan import CloseRun, Nothing, Plan, Planned, Told
from tapestry.runs.protocol.standing import Standing
from tapestry.runs.query.holding import SMALL
from tapestry.runs.tables.state_row import Position, StateRow

TINY = 2**20
"""Bytes of a table up to which the few rows that differ are looked for before all are written."""
NEVER_A_FAILURE = (Reason.FIRST_RUN, Reason.ASKED)
"""Reasons that ``refresh: incremental`` does not mind."""


@dataclass(frozen=True)
class NextRun:
    """A model, its standing, its query, and the session and invocation that plan its run."""

    session: Session
    model: Model
    invocation: Invocation
    standing: Standing
    query: MaintainedQuery
    asked: Whole | None = None

    def plan(self) -> Plan:
        """Plan the next step: close a run that did not land, make a table, or go on."""
        row = self.standing.row
        if row is None:
            return self.creation(self.asked or Whole(Reason.FIRST_RUN))
        if self.standing.closing or self.standing.crashed:
            return CloseRun(self.model, row)  # a new run covers all that this one was to bring
        if (left := self.rejected.leftover(self.standing)) is not None:
            return left
        clock = self.invocation.clock
        if clock.instant < row.after.t:
            end = window_end(clock, timedelta(0), row.after.t)
            return Nothing(self.model, row.after.t, Told(end.warnings))
        if late := self.query.relations.behind(self.session, row.after.pins):
            return Nothing(self.model, row.after.t, Told(late))
        other = another_table(self.session, self.model, self.invocation, self.query, row)
        if other is not None:
            return self.creation(other)
        if self.query.pins == row.after.pins and not self.passes(row.after.t):
            return Nothing(self.model, clock.instant)
        return self.following(row)

    def passes(self, since: datetime) -> bool:
        """Return whether time alone may change the answer."""
        later = self.invocation.clock.instant > since
        return later and (self.query.reads_clock or self.query.arrives)

    def creation(self, whole: Whole) -> Planned:
        """Plan the first run of a new generation."""
        self.refuse_full(whole)
        standing, sums = self.standing, self.sums.first()
        row = first_row(self.model, standing, self.after(sums, 1))
        ready = closing(self.session, standing, row)
        return self.writes(row, whole).creating(ready, self.anew_all_the_same(whole))

    def anew_all_the_same(self, whole: Whole) -> tuple[str, ...]:
        """Return a warning where the author would rather have gone on with the former query."""
        asked = config_of(self.model.config.own).on_configuration_change
        if asked != "continue" or whole.reason is not Reason.QUERY_CHANGED:
            return ()
        return (
            "the query is another one: the table is built anew, on_configuration_change: continue"
            " notwithstanding, for it would not be the query's answer",
        )

    def after(self, sums: KeptSums | None = None, rejecting: int = 0) -> Position:
        """Return the position at which the run ends, with the counts and sums that it keeps.

        ``rejecting``: the run whose rejected rows are in force.
        """
        own = {**self.sums.own(sums), **self.rejected.own(rejecting)}
        return Position(self.invocation.clock.instant, self.query.pins, self.query.canonical, own)

    @property
    def rejected(self) -> RejectedRows:
        """The rows that are kept out of the table."""
        return RejectedRows(self.session, self.query.declared)

    def following(self, last: StateRow) -> Plan:
        """Plan the run after the last one: by changes where they can be told, else all rows."""
        row = following_row(self.model, last, self.standing, self.after())
        comparing = self.comparing(last.after, row.after.t, self.rejected.of(last))
        try:
            return self.changing(last, row, comparing)
        except BaseException as error:
            comparing.views.release()
            if not self.invocation.pins.lose(self.model.relation, error):
                raise
            return self.following(last)

    def comparing(self, last: Position, t: datetime, rejected: str = "") -> Comparing:
        """Return the query between two positions, over the present table; to be released."""
        table = at_version(self.model.relation, self.standing.version)
        return Comparing(self.session, self.query, table, last, t, rejected)

    @property
    def lost(self) -> bool:
        """Whether files that the last run read are gone, as an attempt to read them has found."""
        return self.model.relation in self.invocation.pins.lost

    def changing(self, last: StateRow, row: StateRow, comparing: Comparing) -> Plan:
        """Plan the run by changes, if it can, with views that the caller releases on an error."""
        told, sums = self.told(last, comparing)
        if told is None:
            same = replace(row, after=replace(row.after, own=last.after.own))
            return self.unchanged(last, same, comparing)
        whole = told if isinstance(told, Whole) else None
        if whole is not None:
            self.refuse_full(whole)
            sums = self.sums.first(last)
        if isinstance(told, Whole):
            found = self.by_answer(sums, comparing)
            if found is None:
                comparing.views.release()
                row = replace(row, after=self.after(sums, row.n))
                return self.writes(row, told).overwriting()
            told = found
        rejecting = row.n if told.kept_out else self.rejected.since(last)
        row = replace(row, after=self.after(sums, rejecting))
        if told.empty:
            return self.unchanged(last, row, comparing)
        made = replacement(comparing, told)
        return self.writes(row, whole).replacing(made, comparing.views.names, told)

    def told(
        self, last: StateRow, comparing: Comparing
    ) -> tuple[TableChange | Whole | None, KeptSums | None]:
        """Return the table's changes, or why they are not computed; None: no source differs.

        The second value are the counts and sums that the run keeps.
        """
        whole, go_on = self.whole_in_any_case(), self.sums.go_on(last)
        if whole is None and not go_on:
            whole = self.query.kept.whole or self.cheaper.by_sizes()
        if whole is not None:
            return whole, None
        feeds, views = SharedFeeds(self.session, self.invocation.shared), comparing.views
        found = compare_sources(
            views, self.query, last.after, comparing.t, feeds, cheaper=self.cheaper
        )
        if isinstance(found, Whole):
            return found, None
        if not found.moved and not self.query.reads_clock:
            return None, None
        sums = self.sums.later(last, found, comparing.computed) if self.small else None
        if sums is not None:
            return comparing.with_answer(self.sums.answer(sums)), sums
        if self.query.kept.whole is not None:
            return self.query.kept.whole, None
        change = comparing.between(found, self.cheaper)
        return change, None if isinstance(change, Whole) else self.sums.anew(last)

    def whole_in_any_case(self) -> Whole | None:
        """Return why the whole answer is computed whatever has changed; None: it depends."""
        if self.lost:
            return Whole(Reason.HISTORY_GONE)
        if self.query.uncomparable:
            return Whole(Reason.UNCOMPARABLE_TYPE, self.query.uncomparable)
        if self.refresh == "full":
            return Whole(Reason.ASKED)
        if self.refresh == "auto" and self.query.size <= SMALL and self.small:
            return Whole(Reason.SMALL)
        return None

    @cached_property
    def cheaper(self) -> Cheaper:
        """The comparison of both costs; it never prefers a forbidden whole answer."""
        row, size = self.standing.row, self.query.size
        if self.refresh != "auto" or row is None or size <= SMALL:
            return Cheaper(0, 0, 1)
        above, sizes = config_of(self.model.config.own).full_above, (size, self.target_size)
        return weigh(self.session, self.invocation, row.model, sizes, above)

    @property
    def target_size(self) -> int:
        """The size of the table in bytes."""
        target = self.standing.target
        return 0 if target is None else target.size or 0

    @property
    def small(self) -> bool:
        """Whether the table is small enough to be compared with the whole answer."""
        return self.standing.target is not None and self.target_size <= SMALL

    def by_answer(self, sums: KeptSums | None, comparing: Comparing) -> TableChange | None:
        """The rows in which the whole answer differs from the table; None: all rows are written.

        Who reads the table by its changes sees no others then, and rows that stay keep the instant
        at which they were written. Where nobody does, to find them costs more than to write all,
        but for few rows of a tiny table, which one statement tells.
        """
        if self.query.uncomparable:
            return None
        if sums is not None:
            return comparing.with_answer(self.sums.answer(sums))
        tiny = self.target_size <= TINY
        if self.small and (is_followed(self.model) or self.query.stamps):
            return comparing.with_answer()
        if not (self.small and tiny):
            return None
        return comparing.with_answer() if self.query.declared.drops else comparing.few_of_answer()

    def unchanged(self, last: StateRow, row: StateRow, comparing: Comparing) -> Plan:
        """Plan a run without changed rows: it writes nothing, or, after long, an empty commit."""
        comparing.views.release()
        pins, tables = self.invocation.pins, self.query.relations.tables
        if row.after.t - last.after.t < pins.last(tables, last.after.pins):
            return Nothing(self.model, row.after.t)
        same, run = TableChange("", (), 0, 0, 0), self.writes(row)
        made = Replacement(f"SELECT * FROM ({run.answer}) LIMIT 0", None)
        return run.replacing(made, comparing.views.names, same)

    def writes(self, row: StateRow, whole: Whole | None = None) -> WriteRun:
        """Return the run as it is carried out."""
        state = self.invocation.state_table
        return WriteRun(self.model, self.query, self.standing, state, row, self.cheaper, whole)

    @cached_property
    def sums(self) -> SumsOfRun:
        """The counts and sums of the query's groups."""
        asked = self.refresh == "incremental"
        return SumsOfRun(self.session, self.invocation, self.query, asked)

    def refuse_full(self, whole: Whole) -> None:
        """Raise NotIncremental where the model forbids such a run."""
        if self.refresh != "incremental" or whole.reason in NEVER_A_FAILURE:
            return
        about = f" ({whole.detail})" if whole.detail else ""
        raise NotIncremental(
            f"{self.model.name} cannot be kept by what changed: {whole.reason.value}{about}"
            f" [{whole.reason.name}]",
            where=self.model.file,
            hint="refresh: auto computes the whole answer in such a run; --full-refresh once",
        )

    @property
    def refresh(self) -> str:
        """The model's key: auto | incremental | full."""
        return config_of(self.model.config.own).refresh
