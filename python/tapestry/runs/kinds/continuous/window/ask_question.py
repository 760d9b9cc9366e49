"""A run's question made ready: when time began, and what its statements share in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.late.examine import Examination
from tapestry.runs.kinds.continuous.query import Query
from tapestry.runs.kinds.continuous.window.new_answers import NewAnswers
from tapestry.runs.kinds.continuous.window.question import (
    Question,
    begun,
    keyed,
    question_of,
    ripened,
    stamped,
)
from tapestry.runs.kinds.continuous.window.sharing import share
from tapestry.runs.kinds.continuous.window.sources_of_run import before_of, scans_of
from tapestry.runs.model.model import Model
from tapestry.runs.query.holding import NOTHING_HELD, Holding, hold, hold_rows
from tapestry.runs.tables.state_row import StateRow


@dataclass(frozen=True)
class Asked:
    """What the rows of an appending run are verified with; ``keyed`` is Q^I with keys for that."""

    question: Question | None
    row: StateRow
    holding: Holding
    keyed: str


def ask(
    session: Session,
    model: Model,
    query: Query,
    row: StateRow,
    found: Mapping[str, Examination],
    answers: NewAnswers,
) -> Asked:
    """The question of an appending run, and what its statements share in memory."""
    question = question_of(model, query, row, scans_of(found))
    before, in_memory = before_of(found), session.can.keeps_memory()
    if not before:  # else the scans read what is yet to be written
        question, row = began(session, question, row)
    question, holding = held(ripened(session, question), query, in_memory)
    if in_memory and query.little and not before and not holding.rows:
        holding = hold_rows(holding)  # unchecked rows: computed while the run is claimed
    text = keyed(answers, question, query)
    if answers.few and question is not None:
        text, question, holding = share(model, question, holding, text)
    return Asked(question, row, holding, text)


def began(
    session: Session, question: Question | None, row: StateRow
) -> tuple[Question | None, StateRow]:
    """The question and the row of a run, both with the instant at which time began.

    Without a question nobody asks for that instant: the row stays as it is.
    """
    question = begun(session, question)
    return question, row if question is None else question.row


def held(
    question: Question | None, query: Query, in_memory: bool = False
) -> tuple[Question | None, Holding]:
    """The question over sources that several statements share, and where new rows are checked."""
    holding = NOTHING_HELD
    if question is not None:
        narrow = question.of_a_part and query.rewriting.reads_alone
        holding = hold(query.relations, question.scans, narrow)
        question = stamped(question, query, holding.scans)
    if in_memory and (question is not None or query.expected):
        holding = hold_rows(holding)
    return question, holding
