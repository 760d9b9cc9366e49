"""The input of a run's verification: the query as it was executed, and its sources."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from sqlglot import exp

from tapestry.errors import ConfigurationError
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.begins import begins, time_begins
from tapestry.runs.kinds.continuous.config import ContinuousConfig
from tapestry.runs.kinds.continuous.query import Query
from tapestry.runs.kinds.continuous.window.new_answers import JoinedScan, NewAnswers
from tapestry.runs.model.model import Model
from tapestry.runs.query.holding import NOTHING_HELD, Holding, hold, hold_rows
from tapestry.runs.sources.describe import arrival_sql
from tapestry.runs.tables.state_row import StateRow
from tapestry.sql import Scan
from tapestry.sql.facts import keys
from tapestry.sql.planner.share_keyed_reads import NOTHING_SHARED, Sharing
from tapestry.sql.scan import LEFT, RIGHT, JoinScan
from tapestry.verification.definition import Definition, is_own
from tapestry.verification.events import begin_of_time
from tapestry.verification.restriction import Range
from tapestry.verification.ripe_ranges import ripe_ranges
from tapestry.verification.turns import turn, turns_of

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Question:
    """The input of the verification of one run: the query as it was executed, and its sources.

    definition
        The definition that every check evaluates.
    sampled
        Only a part of history is checked.
    sharing
        Sources that its statements share with the run's own.
    turn_rows
        Arm -> the view of the rows whose turn it is, where they are read once for several.
    ripe
        Ranges of rows that time itself may have made answers in the run's window.
    """

    definition: Definition
    row: StateRow
    columns: tuple[str, ...]
    sampled: bool
    sharing: Sharing = NOTHING_SHARED
    turn_rows: Mapping[int, str] = field(default_factory=dict)
    ripe: tuple[Range, ...] = ()

    @property
    def of_a_part(self) -> bool:
        """Whether neither the run nor its verification covers all of history."""
        return self.sampled and self.row.before is not None

    @property
    def scans(self) -> Mapping[str, Scan]:
        """The scans of its sources."""
        return self.definition.scans

    def turn(self, share: float, low: datetime) -> tuple[Range, ...]:
        """Return the ranges of the driving tables for a sample; history begins about ``low``."""
        return turn(self.row.n, turns_of(share), low, self.row.since, self.row.after.t, self.ripe)


def question_of(
    model: Model, query: Query, row: StateRow, scans: Mapping[str, Scan]
) -> Question | None:
    """Return the question of a run; None where its model is not verified.

    Raises ConfigurationError for a select list with a name that the verification uses itself.
    """
    if model.config.verify == "off" or incomparable(query):
        return None
    refuse_own_names(model, query)
    sampled = model.config.verify == "sample"
    definition = Definition.read(query.sql, query.relations.catalog, scans)
    return Question(definition, row, definition.columns, sampled)


def refuse_own_names(model: Model, query: Query) -> None:
    """Raise ConfigurationError for a select list with a name that the verification uses."""
    if model.config.verify == "off" or incomparable(query):
        return
    columns = query.rewriting.columns
    own = next((column for column in columns if is_own(column)), None)
    if own is not None:
        raise ConfigurationError(
            f"the select list holds {own}, a name of a column by which a run is verified",
            where=model.file,
            hint=f"rename it with AS, or set verify: off on {model.name}",
        )


def ripened(session: Session, question: Question | None) -> Question | None:
    """Return the question with the ranges of rows that became ripe in the window of its run."""
    if question is None or not question.of_a_part:
        return question
    row = question.row
    assert row.since is not None
    try:
        found = ripe_ranges(question.definition, session.rows, row.since, row.after.t)
    except Exception as error:
        # It only says where to look: an author's text may fail for values that no row has.
        logger.debug("where rows become ripe was not found: %s", error)
        found = ()
    return replace(question, ripe=found)


def stamped(question: Question, query: Query, scans: Mapping[str, Scan]) -> Question:
    """Return the question over these scans, each row id with its stamp: keys tell their turn."""
    found = {name: _stamped(query, name, scan) for name, scan in scans.items()}
    return replace(question, definition=replace(question.definition, scans=found))


def _stamped(query: Query, name: str, scan: Scan) -> Scan:
    """Return the scan with the stamp of each row in its id, where the source has an arrival."""
    column = query.relations.arrives(name)
    if column is None:
        return scan
    us = f"unix_micros({arrival_sql(column)})"
    return replace(scan, row_id=keys.stamped(scan.row_id, us))


def incomparable(query: Query) -> str:
    """Return a column whose values no engine compares (MAP, VARIANT); '' for none."""
    for arm in query.rewriting.arms:
        for values in arm.select_lists:
            for name, value in zip(query.rewriting.columns, values, strict=True):
                if any(kind.is_type("map", "variant") for kind in _types_in(value)):
                    return name
    return ""


def _types_in(value: exp.Expr) -> Iterator[exp.DataType]:
    """Yield the types within a value's; for an aggregate without a type, those of its argument."""
    value = value.unalias()
    while isinstance(value.this, exp.Expr) and (
        value.type is None or value.type.is_type("unknown", "null")
    ):
        value = value.this
    if value.type is not None:
        yield from value.type.find_all(exp.DataType)


def said_of(model: Model, query: Query) -> tuple[str, ...]:
    """Return warnings on a query: it is not verified, or its answers are rarely intended."""
    config: ContinuousConfig = model.config.own
    column, running = incomparable(query), query.rewriting.running_values
    said = []
    if column and model.config.verify != "off":
        said.append(f"its runs are not verified: {not_comparable(column)}")
    if running and config.running_values != "wanted":
        said.append(running)
    return tuple(said)


def not_comparable(column: str) -> str:
    """Return why a table with such a column is not compared with its query."""
    return f"values of {column}, a MAP, cannot be compared"


def keyed(answers: NewAnswers, question: Question | None, query: Query) -> str:
    """Return Q^I with the keys that its rows are verified by; '' where they are not.

    The question is ``stamped``; so are the scans of uses here.
    """
    if question is None:
        return ""
    uses = {
        alias: replace(use, scan=_stamped(query, use.source, use.scan))
        for alias, use in answers.uses.items()
    }
    joins = tuple(replace(one, scan=_stamped_both(query, one)) for one in answers.pairs)
    return replace(answers, uses=uses, pairs=joins).sql(question.scans, keyed=True)


def _stamped_both(query: Query, joined: JoinedScan) -> JoinScan:
    """Return the scan of a stored join with the stamps of both rows."""
    ids = []
    for side, use, row_id in zip(
        (LEFT, RIGHT), (joined.use.left, joined.use.right), joined.scan.row_ids, strict=True
    ):
        column = query.relations.arrives(use.source)
        assert column is not None  # else there is no memory of it
        us = f"unix_micros({arrival_sql(replace(column, name=side + column.name))})"
        ids.append(keys.stamped(row_id, us))
    return replace(joined.scan, row_ids=(ids[0], ids[1]))


def began(
    session: Session, question: Question | None, row: StateRow
) -> tuple[Question | None, StateRow]:
    """Return the question and the row of a run, both with the instant at which time began.

    It is looked for once in a generation: rows that come after a run at τ arrive after τ, so that
    the earliest arrival stays the earliest. Without a question that instant is not needed: the row
    stays as it is.
    """
    if question is None:
        return None, row
    if begins(question.row).began is None:
        instant = begin_of_time(question.definition, session.rows, question.row.after.t)
        question = replace(question, row=time_begins(question.row, instant))
    return question, question.row


def held(
    question: Question | None, query: Query, in_memory: bool = False
) -> tuple[Question | None, Holding]:
    """Return the question over shared sources, and the views in which new rows are checked."""
    holding = NOTHING_HELD
    if question is not None:
        narrow = question.of_a_part and query.rewriting.reads_alone
        holding = hold(query.relations, question.scans, narrow)
        question = stamped(question, query, holding.scans)
    if in_memory and (question is not None or query.expected):
        holding = hold_rows(holding)
    return question, holding
