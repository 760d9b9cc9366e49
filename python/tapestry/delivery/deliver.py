"""Bring what is new to every sink: claim a batch, send it, note that it is done.

Killed anywhere, the batch that was claimed is sent again: every answer arrives at least once; in a
file and in a table exactly once, because there a repetition replaces or is skipped. Sending runs in
a thread a sink: one that is down or slow keeps nobody waiting but the end of the invocation, and
that no longer than its ``patience``. A thread that is stuck all the same (in a file system that
does not answer, say) is left behind; its sink is left alone until it is over. Only this thread
speaks SQL.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from tapestry.delivery import cursors
from tapestry.delivery.batch import Delivery
from tapestry.delivery.cursors import Batch
from tapestry.delivery.declare import Sink, TableSink, parse_sinks
from tapestry.delivery.exchange import in_background
from tapestry.delivery.retry import SinkError
from tapestry.delivery.rows import AnswersToSend, end_of_batch, read_json
from tapestry.delivery.send import Sent, send
from tapestry.delivery.send_table import send_table
from tapestry.errors import TapestryError
from tapestry.names import DELIVERIES_TABLE
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.column_types import columns_of_table
from tapestry.runs.engine.odd_rows import OddRow
from tapestry.runs.engine.session import Session
from tapestry.runs.model.model import Model
from tapestry.runs.query.relations import plain
from tapestry.runs.run.crash import point
from tapestry.runs.run.standing import stand
from tapestry.runs.tables.state_row import StateRow
from tapestry.words import counted

GRACE = 0.5
"""Seconds after a sink's deadline in which its thread may still tell what it knows."""
_stuck: dict[tuple[str, str, str], Future[Sent]] = {}
"""Threads that were left behind, by the table of deliveries, model and sink."""
UnderWay = dict[Future[Sent], tuple["_Line", Delivery]]


@dataclass
class DeliveryOutcome:
    """What one sink of one model got in this invocation.

    rows, batches
        What was sent and is done; of a table the rows are not counted (None).
    error
        Why not all was delivered; what is left stays for the next invocation.
    begun
        The sink is new: from now on it gets what is new.
    """

    model: str
    sink: str
    rows: int | None = 0
    batches: int = 0
    error: str = ""
    begun: bool = False
    warnings: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        name = f"{self.model} to {self.sink}"
        if self.error:
            return f"{name}: not delivered yet: {self.error}"
        if self.begun:
            return f"{name}: begins now, with what comes from here on"
        if not self.batches:
            return f"{name}: nothing new"
        rows = "new rows" if self.rows is None else counted(self.rows, "row")
        return f"{name}: {rows} delivered"


@dataclass
class _Line:
    """One sink of one model on its way.

    deadline
        When its patience is over. It begins with the first sending: what the engine takes before
        that, for other models' sinks too, would leave a sink of little patience untried for ever.
    """

    model: Model
    row: StateRow
    sink: Sink
    last: Batch | None
    columns: tuple[tuple[str, str], ...]
    outcome: DeliveryOutcome
    deadline: float = math.inf

    def begin(self) -> None:
        """Its first batch is sent now."""
        if self.deadline == math.inf:
            self.deadline = time.monotonic() + self.sink.patience.total_seconds()


def deliver(
    session: Session,
    invocation: Invocation,
    models: Iterable[Model],
    root: Path,
    only: Sequence[str] = (),
) -> list[DeliveryOutcome]:
    """Deliver what is new of some models to their sinks (those called ``only``, if given).

    Whatever goes wrong with a sink, or a model, is told in its outcome. Raises ConfigurationError
    for a sink that is declared wrongly, before anything is sent.
    """
    declared = [(model, parse_sinks(model.config.deliver, model.file)) for model in models]
    schema = invocation.state_table.rpartition(".")[0]
    table = f"{schema}.{DELIVERIES_TABLE}" if schema else DELIVERIES_TABLE
    run = _Run(session, invocation.state_table, table, root)
    for model, sinks in declared:
        wanted = [sink for sink in sinks if not only or sink.name in only]
        if wanted:
            run.add(model, wanted, invocation)
    return run.carry_out()


class _Run:
    """The deliveries of one invocation."""

    def __init__(self, session: Session, state_table: str, table: str, root: Path) -> None:
        self.session, self.state_table, self.table, self.root = session, state_table, table, root
        self.lines: list[_Line] = []
        self.outcomes: list[DeliveryOutcome] = []

    def add(self, model: Model, sinks: Sequence[Sink], invocation: Invocation) -> None:
        """Look where a model and its sinks stand; a model that has not run has nothing to say."""
        outcomes = [DeliveryOutcome(model.name, sink.name) for sink in sinks]
        try:
            standing = stand(self.session, model, invocation, False)
            row = standing.row
            if row is None:
                return
            row = row.undone if standing.crashed or standing.closing else row
            last = cursors.read_batches(self.session, self.table, plain(model.relation))
            columns = columns_of_table(self.session, model.relation)
        except Exception as error:
            for outcome in outcomes:
                outcome.error = _short(error)
            self.outcomes += outcomes
            return
        self.outcomes += outcomes
        for sink, outcome in zip(sinks, outcomes, strict=True):
            at = last.get(sink.name)
            if not isinstance(at, OddRow):
                at = cursors.refuse_ahead(self.table, at, row)
            if isinstance(at, OddRow):
                outcome.error = _short(cursors.unreadable(at))
            else:
                self.lines.append(_Line(model, row, sink, at, columns, outcome))

    def carry_out(self) -> list[DeliveryOutcome]:
        """Send until every sink has everything, or has used up its patience."""
        if not self.lines:
            return self.outcomes
        under_way: UnderWay = {}
        for line in self.lines:
            self._start(under_way, line)
        while under_way:
            for future in _over(under_way):
                line, delivery = under_way.pop(future)
                if self._note(line, delivery, self._sent(future, line, delivery)):
                    self._start(under_way, line)
        return self.outcomes

    def _start(self, under_way: UnderWay, line: _Line) -> None:
        """The sink's next batch; one for a table is over when this returns."""
        while True:
            try:
                delivery = self._next(line)
            except Exception as error:
                line.outcome.error = _short(error)
                return
            if delivery is None:
                return
            line.begin()
            if not isinstance(line.sink, TableSink):
                action = partial(send, line.sink, delivery, line.deadline)
                name = f"delivery of {line.model.name} to {line.sink.name}"
                under_way[in_background(action, name)] = (line, delivery)
                return
            line.outcome.rows = None
            try:
                send_table(self.session, line.sink, delivery)
                sent = Sent(0)
            except SinkError as error:
                sent = Sent(0, str(error))
            if not self._note(line, delivery, sent):
                return

    def _sent(self, future: Future[Sent], line: _Line, delivery: Delivery) -> Sent:
        """What a thread tells; of one that is stuck, that it is."""
        if future.done():
            return future.result()
        _stuck[self._key(line)] = future
        seconds = line.sink.patience.total_seconds()
        return Sent(delivery.batch.parts, f"still under way after {seconds:g} s, and left alone")

    def _key(self, line: _Line) -> tuple[str, str, str]:
        return self.table, plain(line.model.relation), line.sink.name

    def _next(self, line: _Line) -> Delivery | None:
        """The batch to be sent now, with its rows; None where there is none."""
        stuck = _stuck.get(self._key(line))
        if stuck is not None:
            if not stuck.done():
                line.outcome.error = "an earlier delivery to it is still stuck in this process"
                return None
            del _stuck[self._key(line)]
        batch = self._batch(line)
        if batch is None:
            return None
        answers = AnswersToSend(line.model.relation, line.columns, batch.after, batch.until)
        table = isinstance(line.sink, TableSink)
        rows = [] if table else read_json(self.session, answers)
        if not rows and not table:
            cursors.finish(self.session, self.table, batch)  # erased in the meantime
            line.last = replace(batch, done=True)
            return self._next(line)
        return Delivery(batch, answers, rows, self.root, line.model.name)

    def _batch(self, line: _Line) -> Batch | None:
        model, last, row = plain(line.model.relation), line.last, line.row
        if last is None:
            cursors.begin(
                self.session, self.table, model, line.sink.name, row.generation, row.after.t
            )
            line.outcome.begun = True
            return None
        at = cursors.position(self.session, self.state_table, last, row)
        if not last.done:
            if at > last.after:
                # The table was rewound into it: what lies after that comes with a later batch.
                return last if at == last.until else replace(last, until=at, parts=0)
            cursors.finish(self.session, self.table, last)
            last = replace(last, done=True)
        if at >= row.after.t:
            return None
        if time.monotonic() > line.deadline:
            line.outcome.error = "patience is over; the rest comes with the next run"
            return None
        answers = AnswersToSend(line.model.relation, line.columns, at, row.after.t)
        until = end_of_batch(self.session, answers)
        if until is None:
            return None
        point("planned")
        batch = cursors.claim(self.session, self.table, last, row.generation, at, until)
        if batch is None:
            line.outcome.error = "another invocation is delivering to it"
        point("claimed")
        return batch

    def _note(self, line: _Line, delivery: Delivery, sent: Sent) -> bool:
        """Keep what became of a batch; False where the sink is left alone for now."""
        outcome, batch = line.outcome, delivery.batch
        outcome.warnings += sent.warnings
        point("committed")
        try:
            if sent.error:
                outcome.error = sent.error
                if sent.parts > batch.parts and not _cut(line.last, batch):
                    cursors.note_parts(self.session, self.table, batch, sent.parts)
                return False
            cursors.finish(self.session, self.table, batch)
        except Exception as error:
            outcome.error = _short(error)
            return False
        point("confirmed")
        line.last = replace(batch, done=True)
        outcome.batches += 1
        if outcome.rows is not None:
            outcome.rows += len(delivery.rows)
        return True


def _over(under_way: UnderWay) -> list[Future[Sent]]:
    """Wait until something is over: sent, failed, or without an answer when patience is."""
    first = min(line.deadline for line, _ in under_way.values()) + GRACE
    done, _ = wait(under_way, max(0.0, first - time.monotonic()), FIRST_COMPLETED)
    if done:
        return list(done)
    now = time.monotonic()
    return [future for future, (line, _) in under_way.items() if line.deadline + GRACE <= now]


def _cut(last: Batch | None, batch: Batch) -> bool:
    """Was a batch cut short by a rewind? Its parts are others than those of the whole."""
    return last is not None and last.m == batch.m and last.until != batch.until


def _short(error: Exception) -> str:
    text = str(error).split("\n\n")[0]
    if isinstance(error, TapestryError):
        text = f"{error.reason} ({error.where})" if error.where else error.reason
    return " ".join(text.split())[:300]
