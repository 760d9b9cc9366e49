"""A log of changes as the table of a rule: transactions by the columns of its rows.

    loaded     rows that came with loads that no run has seen, or that were of the future then
    ordered    those committed by now, each with the number of its transaction, its place in it,
               and the change of the same key before it
    changes    old and new images of them

Transactions are in the order of (commit_time, transaction). A run has seen the rows of the loads up
to a version that were committed up to an instant: what comes late for a transaction that was seen
is a transaction of its own, after those that were seen (rules, sections 3 and 12).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from tapestry.errors import AssumptionWrong, CannotPair
from tapestry.instants import LAST, from_micros, micros
from tapestry.quoting import identifier, identifiers, relation_name, string, timestamp
from tapestry.runs.engine.instants import show
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.rule.feed import begin_after, no_changes, refuse_later
from tapestry.runs.kinds.rule.log_columns import LogColumns
from tapestry.runs.kinds.rule.log_rows import LOAD, loaded_rows
from tapestry.runs.kinds.rule.log_states import LogStates, log_states
from tapestry.runs.kinds.rule.states import FOREVER
from tapestry.runs.kinds.rule.triggers import RuleText
from tapestry.runs.kinds.rule.windows import WindowReached
from tapestry.runs.query.views import Views
from tapestry.runs.sources.pins import Pinned
from tapestry.runs.sources.transactions import (
    HOW,
    IMAGES,
    TYPE,
    CommitWindow,
    gone,
    window_between,
)
from tapestry.runs.tables.state_row import StateRow
from tapestry.sql.catalog import Column
from tapestry.sql.commits.lift_commits import SINCE, UNTIL
from tapestry.sql.commits.transitions import (
    DELETED,
    INSERTED,
    NEW,
    OLD,
    ORDER,
    TIME,
    TRANSACTION,
    VERSION,
)

LOW, SEEN = "log_low", "log_seen"
"""In what a rule keeps of its own: the load up to which all rows were seen, and the instant up to
which those of later loads were, up to the version of the position."""
AT, KIND, WAS, KNOWN, TIED = "_tap_at", "_tap_kind", "_tap_was", "_tap_known", "_tap_tied"
"""The columns of a change: its commit time, its kind, the row of its key before it, whether there
is one, and whether it is unknown which of two changes came first."""
_NEW, _PLACE = "_tap_new", "_tap_place"


@dataclass(frozen=True)
class SeenRows:
    """All rows of loads up to ``low``, and those up to ``version`` committed by ``until``.

    start
        The load up to which some row was left out by the first run; None: up to ``low``.
    """

    low: int
    version: int
    until: datetime | None = None
    start: int | None = None

    def condition(self, log: LogColumns) -> str:
        """Return SQL: a row of the loads up to the version was seen."""
        return "true" if self.until is None else f"{log.instant} <= {timestamp(self.until)}"


@dataclass(frozen=True)
class LogSource:
    """The transactions of a rule's log; ``t`` is the instant of the run."""

    session: Session
    rule: RuleText
    log: LogColumns
    t: datetime

    def first(self) -> LogWindow:
        """Return the transactions that the first run looks at."""
        begin = self.rule.config.begin
        if isinstance(begin, datetime):
            refuse_later(self.rule, begin, self.t)
            return self.beyond(self.before(begin))
        after = begin_after(self.session, self.rule, self.t, self.earliest)
        after = min(after, self.rule.table.pin.version)
        return self.beyond(SeenRows(after, after))

    def before(self, begin: datetime) -> SeenRows:
        """Return the rows of transactions before an instant, as if they had been seen.

        Raises ChangesGone where it is not known with which load a later one has come.
        """
        table, low, at = self.rule.table, self.earliest(), timestamp(begin)
        if low >= 0:
            later = f"SELECT 1 FROM {table.table.at(low)} WHERE {self.log.instant} >= {at} LIMIT 1"
            if self.session.rows(later):
                why = f"its log does not tell which load has brought rows of {show(begin)} or later"
                raise gone(table.table, -1, low, why)
        rows = loaded_rows(self.session, table, low)
        ((last,),) = self.session.rows(
            f"SELECT max({LOAD}) FROM ({rows}) WHERE {self.log.instant} < {at}"
        )
        until = begin - timedelta(microseconds=1)
        return SeenRows(low, table.pin.version, until, low if last is None else int(last))

    def earliest(self) -> int:
        """Return the oldest version in the history, whose rows count as old; -1: none."""
        rows = self.session.rows(f"DESCRIBE HISTORY {relation_name(self.rule.name)}")
        oldest = int(min(row[0] for row in rows))
        return oldest if oldest else -1

    def following(self, row: StateRow) -> LogWindow:
        """Return the transactions after those that a run has looked at."""
        version = row.after.pins[self.rule.name].version
        low, seen = int(row.after.own.get(LOW, version)), row.after.own.get(SEEN)
        return self.beyond(SeenRows(low, version, None if seen is None else from_micros(int(seen))))

    def passing(self, row: StateRow) -> LogWindow:
        """Return no transaction, as if those since the run of a row had not been."""
        version = self.rule.table.pin.version
        seen = row.after.own.get(SEEN)
        t = self.t if seen is None else max(self.t, from_micros(int(seen)))
        return self.beyond(SeenRows(version, version, t))

    def beyond(self, seen: SeenRows) -> LogWindow:
        """Return the transactions that were not seen."""
        table = self.rule.table
        loads = window_between(self.session, table.table, seen.low, table.pin.version, None, LAST)
        t = self.t if seen.until is None else max(self.t, seen.until)
        return LogWindow(self.session, self.rule, self.log, seen, loads, t)


@dataclass
class LogWindow:
    """The transactions that were not seen yet, committed by ``t``.

    loads
        The commits of the log that may have brought them.
    states
        The other tables as they were at each transaction, once the changes were read.
    """

    session: Session
    rule: RuleText
    log: LogColumns
    seen: SeenRows
    loads: CommitWindow
    t: datetime
    states: LogStates | None = None
    ordered: str = ""
    low: int = -1

    @property
    def empty(self) -> bool:
        """Whether no load has come, and no earlier row has become visible."""
        version = self.rule.table.pin.version
        nothing = self.seen.low >= self.seen.version or self.t == self.seen.until
        return version <= self.seen.version and nothing

    @property
    def columns(self) -> Sequence[Column]:
        """The columns of the rows whose changes the log has."""
        return self.log.changed

    @property
    def moved(self) -> Collection[str]:
        """The tables that differ between transactions; the log itself grows with each."""
        own = [name for name, one in self.rule.relations.tables.items() if self.is_log(one)]
        return [*own, *(() if self.states is None else self.states.moved)]

    def is_log(self, table: Pinned) -> bool:
        """Return whether a table is the log itself."""
        return table.table.table_id == self.rule.table.table.table_id

    def depth_of(self, version: str) -> str:
        """Return SQL: how deep in a chain of actions a load is."""
        return self.loads.depth_of(version)

    def reached(self) -> WindowReached:
        """Return how far the rule is after these transactions."""
        version, states = self.rule.table.pin.version, self.states
        until = self.t if states is None else states.until
        own = {LOW: self.low, SEEN: micros(until)}
        start = self.seen.low if self.seen.start is None else self.seen.start
        return WindowReached(version, start, {} if states is None else states.pins, own)

    def read_changes(self, views: Views, n: int) -> str:
        """Return a view of the changed rows of all transactions.

        Raises ChangesGone where the loads cannot be told, AssumptionWrong for rows that lack what a
        log has to have, CannotPair where the row before an update is not known.
        """
        version = self.rule.table.pin.version
        self.low = version
        if version <= self.seen.low:
            self.ordered = views.keep(f"SELECT * FROM ({self.nothing()})")
            return views.keep(no_changes(self.columns))
        loaded = views.keep(self.loaded())
        self.refuse_odd(loaded)
        ordered = views.keep(self.in_order(loaded, n))
        self.refuse_unknown(ordered)
        self.states = log_states(self.session, self.rule, ordered, self.t, self.seen.until)
        self.ordered = views.keep(
            f"SELECT * FROM {ordered} WHERE {TRANSACTION} < {self.states.end:d}L"
        )
        self.low = self.lowest(loaded, self.states.until)
        return views.keep(self.images())

    def nothing(self) -> str:
        """Return a SELECT of no rows of the log."""
        names = identifiers(one.name for one in self.rule.table.table.columns)
        table = self.rule.table
        return (
            f"SELECT {names}, 0L AS {TRANSACTION} FROM {table.table.at(table.pin.version)} LIMIT 0"
        )

    def loaded(self) -> str:
        """Return a SELECT of the rows that were not seen, with time and kind."""
        rows = loaded_rows(self.session, self.rule.table, self.seen.low)
        seen = self.seen
        select = f"SELECT *, {self.log.instant} AS {AT}, {self.log.kind} AS {KIND} FROM ({rows})"
        if seen.until is None or seen.low >= seen.version:
            return select
        condition = seen.condition(self.log)
        return f"{select} WHERE NOT coalesce({LOAD} <= {seen.version:d} AND {condition}, false)"

    def refuse_odd(self, loaded: str) -> None:
        """Raise AssumptionWrong for rows without a time, or that are no change."""
        ((times, kinds, word),) = self.session.rows(
            f"SELECT count_if({AT} IS NULL), count_if({KIND} IS NULL),"
            f" max(CAST({identifier(self.log.op.column)} AS STRING)) FILTER (WHERE {KIND} IS NULL)"
            f" FROM {loaded}"
        )
        name = self.rule.name
        if times:
            raise AssumptionWrong(
                f"{times} new rows of {name} have no {self.log.time.name}: which transactions they"
                " are of is not known",
                where=name,
                hint="let the loader write when each transaction was committed",
            )
        if kinds:
            listed = ", ".join(self.log.op.words.values())
            raise AssumptionWrong(
                f"{kinds} new rows of {name} have in {self.log.op.column} none of {listed}"
                f" (the greatest is {word!r})",
                where=name,
                hint="say what its words stand for, like op: {column: op, insert: I, update: U,"
                " delete: D}",
            )

    def earlier(self) -> str:
        """Return a SELECT of the rows that were seen."""
        table = self.rule.table.table
        if self.seen.version < 0:
            return ""
        return (
            f"SELECT {identifiers(one.name for one in table.columns)}"
            f" FROM {table.at(self.seen.version)} WHERE {self.seen.condition(self.log)}"
        )

    @property
    def looks_back(self) -> bool:
        """Return whether the row before a change matters, and only earlier changes tell it."""
        reads = self.rule.updates or not self.rule.sources.isdisjoint((OLD, DELETED))
        return self.log.before is None and reads

    def in_order(self, loaded: str, n: int) -> str:
        """Return a SELECT of the rows that were committed by now, in the order of the log."""
        log, keys = self.log, self.log.keys
        names = identifiers(one.name for one in self.rule.table.table.columns)
        rows = f"SELECT *, true AS {_NEW} FROM {loaded} WHERE {AT} <= {timestamp(self.t)}"
        earlier = self.earlier() if self.looks_back else ""
        if earlier:
            same = " AND ".join(f"e.{one} <=> k.{one}" for one in keys)
            rows += (
                f" UNION ALL SELECT e.*, CAST(NULL AS BIGINT), {log.instant}, {log.kind}, false"
                f" FROM ({earlier}) AS e LEFT SEMI JOIN {loaded} AS k ON {same}"
            )
        transaction = identifier(log.transaction.name)
        place = ", ".join([AT, transaction, *log.place])
        values = ", ".join(identifier(one.name) for one in log.changed)
        over = f"(PARTITION BY {', '.join(keys)} ORDER BY {place}, {_NEW})"
        here = f"struct({place}, {_NEW})"
        among = ", ".join([*log.place, *keys])
        return f"""
SELECT {names}, {LOAD}, {AT}, {KIND}, {WAS}, {KNOWN}, {TIED}, {TRANSACTION},
  row_number() OVER (PARTITION BY {TRANSACTION} ORDER BY {among}) AS {_PLACE}
FROM (
  SELECT *, {n << 32:d}L + dense_rank() OVER (ORDER BY {AT}, {transaction}) AS {TRANSACTION}
  FROM (
    SELECT *, lag(struct({values})) OVER {over} AS {WAS},
      coalesce(lag({KIND}) OVER {over} IN ('insert', 'update'), false) AS {KNOWN},
      coalesce(lag({here}) OVER {over} <=> {here}, false) AS {TIED}
    FROM ({rows})
  ) WHERE {_NEW}
)"""

    def refuse_unknown(self, ordered: str) -> None:
        """Raise CannotPair where the row before an update, or the first of two, is unknown."""
        keys = ", ".join(f"CAST({one} AS STRING)" for one in self.log.keys)
        unknown = f"{KIND} = 'update' AND NOT {KNOWN}" if self.looks_back else "false"
        ((lacking, tied, which, what),) = self.session.rows(
            f"SELECT count_if({unknown}), count_if({TIED}),"
            f" max(to_json(array({keys}))) FILTER (WHERE {unknown}),"
            f" max(to_json(array({keys}))) FILTER (WHERE {TIED}) FROM {ordered}"
        )
        name = self.rule.name
        if tied:
            raise CannotPair(
                f"a transaction of {name} changes the row {what} twice, and which change came first"
                " is not known",
                where=name,
                hint="give the rule order: the columns by which the changes of a transaction are in"
                " order",
            )
        if lacking:
            raise CannotPair(
                f"{name} has an update of {which} without a row of that key before it: what the"
                " values were is not known",
                where=name,
                hint="write the row as it was first, as an insert; or give before: a prefix of"
                " columns with the old values",
            )

    def lowest(self, loaded: str, until: datetime) -> int:
        """Return the load up to which no row was committed later."""
        ((first,),) = self.session.rows(
            f"SELECT min({LOAD}) FROM {loaded} WHERE {AT} > {timestamp(until)}"
        )
        return self.rule.table.pin.version if first is None else int(first) - 1

    def images(self) -> str:
        """Return a SELECT of the changed rows, with old and new images as rows of their own."""
        own = identifiers(one.name for one in self.log.changed)
        was = ", ".join(
            f"{self.old_value(one)} AS {identifier(one.name)}" for one in self.log.changed
        )
        added = f"{_PLACE} AS {ORDER}, {AT} AS {TIME}, {LOAD} AS {VERSION}, {TRANSACTION}"
        parts = []
        for listed, first, second, alone in (
            (own, INSERTED, NEW, "insert"),
            (was, DELETED, OLD, "delete"),
        ):
            kind = f"IF({KIND} = 'update', {string(IMAGES[second])}, {string(IMAGES[first])})"
            parts.append(
                f"SELECT {listed}, {added}, {kind} AS {TYPE}, 0 AS {HOW} FROM {self.ordered}"
                f" WHERE {KIND} IN ('update', {string(alone)})"
            )
        return " UNION ALL ".join(parts)

    def old_value(self, column: Column) -> str:
        """Return SQL: the value of a column before a change."""
        name = identifier(column.name)
        if self.log.before is not None:
            was = self.log.before.get(column.name)
            return name if was is None else identifier(was.name)
        return f"IF({KNOWN}, {WAS}.{name}, {name})"

    def rows_at_each(self, name: str, pinned: Pinned) -> str:
        """Return a SELECT of a table's rows.

        If it differs between transactions, each row has the range of those at which it is there.
        """
        if not self.is_log(pinned):
            version = pinned.pin.version
            if self.states is None:
                return f"SELECT * FROM {pinned.table.at(version)}"
            return self.states.rows_at_each(name, pinned)
        names = identifiers(one.name for one in pinned.table.columns)
        rows = (
            f"SELECT {names}, {TRANSACTION} AS {SINCE}, {FOREVER:d}L AS {UNTIL} FROM {self.ordered}"
        )
        earlier = self.earlier()
        if earlier:
            rows += f" UNION ALL SELECT *, 0L, {FOREVER:d}L FROM ({earlier})"
        return rows
