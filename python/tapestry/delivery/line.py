"""Delivers to one sink of one model: which batch comes next, and what became of it.

Killed anywhere, the batch that was claimed is sent again. Only the thread that asks speaks SQL.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from tapestry.delivery import cursors
from tapestry.delivery.batch import Delivery
from tapestry.delivery.cursors import Batch
from tapestry.delivery.declare import Sink, TableSink
from tapestry.delivery.rows import AnswersToSend, end_of_batch, read_json
from tapestry.delivery.send import Sent
from tapestry.errors import TapestryError
from tapestry.runs.engine.session import Session
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.crash import point
from tapestry.runs.query.relations import plain
from tapestry.runs.tables.state_row import StateRow
from tapestry.words import counted


@dataclass
class DeliveryOutcome:
    """One sink of one model got this in this invocation.

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
class SinkLine:
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
        """Note that its first batch is sent now."""
        if self.deadline == math.inf:
            self.deadline = time.monotonic() + self.sink.patience.total_seconds()


@dataclass(frozen=True)
class Batches:
    """An invocation's batches, in the table of deliveries; ``root`` is the project's folder."""

    session: Session
    state_table: str
    table: str
    root: Path

    def following(self, line: SinkLine) -> Delivery | None:
        """The batch to be sent now, with its rows; None where there is none."""
        batch = self._batch(line)
        if batch is None:
            return None
        answers = AnswersToSend(line.model.relation, line.columns, batch.after, batch.until)
        table = isinstance(line.sink, TableSink)
        rows = [] if table else read_json(self.session, answers)
        if not rows and not table:
            cursors.finish(self.session, self.table, batch)  # erased in the meantime
            line.last = replace(batch, done=True)
            return self.following(line)
        return Delivery(batch, answers, rows, self.root, line.model.name)

    def _batch(self, line: SinkLine) -> Batch | None:
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

    def note(self, line: SinkLine, delivery: Delivery, sent: Sent) -> bool:
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
            outcome.error = short(error)
            return False
        point("confirmed")
        line.last = replace(batch, done=True)
        outcome.batches += 1
        if outcome.rows is not None:
            outcome.rows += len(delivery.rows)
        return True


def _cut(last: Batch | None, batch: Batch) -> bool:
    """Return whether a rewind cut a batch short, so that its parts differ from those of the
    whole.
    """
    return last is not None and last.m == batch.m and last.until != batch.until


def short(error: Exception) -> str:
    """An error in a line, without what Spark says after its first words."""
    text = str(error).split("\n\n")[0]
    if isinstance(error, TapestryError):
        text = f"{error.reason} ({error.where})" if error.where else error.reason
    return " ".join(text.split())[:300]
