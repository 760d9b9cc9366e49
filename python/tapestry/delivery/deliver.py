"""Delivers new answers to every sink: claims a batch, sends it, notes that it is done.

Killed anywhere, the batch that was claimed is sent again: every answer arrives at least once; in a
file and in a table exactly once, because there a repetition replaces or is skipped. Sending runs in
a thread a sink: one that is down or slow keeps nobody waiting but the end of the invocation, and
that no longer than its ``patience``. A thread that is stuck all the same (in a file system that
does not answer, say) is left behind; its sink is left alone until it is over. Only this thread
speaks SQL.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import partial
from pathlib import Path

from tapestry.delivery import cursors
from tapestry.delivery.batch import Delivery
from tapestry.delivery.declare import Sink, TableSink, parse_sinks
from tapestry.delivery.exchange import in_background
from tapestry.delivery.line import Batches, DeliveryOutcome, SinkLine, short
from tapestry.delivery.retry import SinkError
from tapestry.delivery.send import Sent, send
from tapestry.delivery.send_table import send_table
from tapestry.names import DELIVERIES_TABLE
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.column_types import columns_of_table
from tapestry.runs.engine.odd_rows import OddRow
from tapestry.runs.engine.session import Session
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.standing import stand
from tapestry.runs.query.relations import plain

GRACE = 0.5
"""Seconds after a sink's deadline in which its thread may still tell what it knows."""
_stuck: dict[tuple[str, str, str], Future[Sent]] = {}
"""Threads that were left behind, by the table of deliveries, model and sink."""
UnderWay = dict[Future[Sent], tuple["SinkLine", Delivery]]


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
        self.session, self.table = session, table
        self.batches = Batches(session, state_table, table, root)
        self.lines: list[SinkLine] = []
        self.outcomes: list[DeliveryOutcome] = []

    def add(self, model: Model, sinks: Sequence[Sink], invocation: Invocation) -> None:
        """Add a model and its sinks with their positions; skip a model that has not run."""
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
                outcome.error = short(error)
            self.outcomes += outcomes
            return
        self.outcomes += outcomes
        for sink, outcome in zip(sinks, outcomes, strict=True):
            at = last.get(sink.name)
            if not isinstance(at, OddRow):
                at = cursors.refuse_ahead(self.table, at, row)
            if isinstance(at, OddRow):
                outcome.error = short(cursors.unreadable(at))
            else:
                self.lines.append(SinkLine(model, row, sink, at, columns, outcome))

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
                if self.batches.note(line, delivery, self._sent(future, line, delivery)):
                    self._start(under_way, line)
        return self.outcomes

    def _start(self, under_way: UnderWay, line: SinkLine) -> None:
        """Start to send the sink's next batch; one for a table is done on return."""
        while True:
            try:
                delivery = self._next(line)
            except Exception as error:
                line.outcome.error = short(error)
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
            if not self.batches.note(line, delivery, sent):
                return

    def _sent(self, future: Future[Sent], line: SinkLine, delivery: Delivery) -> Sent:
        """Return the result of a thread; for a stuck one a failure."""
        if future.done():
            return future.result()
        _stuck[self._key(line)] = future
        seconds = line.sink.patience.total_seconds()
        return Sent(delivery.batch.parts, f"still under way after {seconds:g} s, and left alone")

    def _key(self, line: SinkLine) -> tuple[str, str, str]:
        return self.table, plain(line.model.relation), line.sink.name

    def _next(self, line: SinkLine) -> Delivery | None:
        """The batch to be sent now, with its rows; None: none is, or the sink is stuck."""
        stuck = _stuck.get(self._key(line))
        if stuck is not None:
            if not stuck.done():
                line.outcome.error = "an earlier delivery to it is still stuck in this process"
                return None
            del _stuck[self._key(line)]
        return self.batches.following(line)


def _over(under_way: UnderWay) -> list[Future[Sent]]:
    """Return the futures that are over: sent, failed, or unanswered when patience is."""
    first = min(line.deadline for line, _ in under_way.values()) + GRACE
    done, _ = wait(under_way, max(0.0, first - time.monotonic()), FIRST_COMPLETED)
    if done:
        return list(done)
    now = time.monotonic()
    return [future for future, (line, _) in under_way.items() if line.deadline + GRACE <= now]
