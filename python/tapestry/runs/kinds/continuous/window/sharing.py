"""Prepares a run's question: when time began, and the rows that statements share in memory.

A large source from which a run and its checks read the rows with a few keys is read once for both.

A small source is held whole (``holding``). Whether rows of a large one are held depends on how far
a run narrows itself, and its checks: with their keys known before, one reading gives the rows of
both. The rows whose turn it is to be checked are held too: they give the checks' keys, and are
compared themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.begins import begins
from tapestry.runs.kinds.continuous.late.scans import Examination
from tapestry.runs.kinds.continuous.query import Query
from tapestry.runs.kinds.continuous.window.new_answers import NewAnswers
from tapestry.runs.kinds.continuous.window.question import (
    Question,
    began,
    held,
    keyed,
    question_of,
    ripened,
)
from tapestry.runs.kinds.continuous.window.sources_of_run import before_of, scans_of
from tapestry.runs.model.model import Model
from tapestry.runs.query.holding import Holding, new_view
from tapestry.runs.tables.state_row import StateRow
from tapestry.sql.planner.share_keyed_reads import share_keyed_reads
from tapestry.verification.chosen_rows import Chosen, RunRows
from tapestry.verification.compare import Comparison
from tapestry.verification.restriction import Range


@dataclass(frozen=True)
class Asked:
    """The data that an appending run's rows are verified with; ``keyed`` is Q^I with keys."""

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
    """Return the question of an appending run, and the rows that its statements share in memory."""
    question = question_of(model, query, row, scans_of(found))
    before, in_memory = before_of(found), session.can.keeps_memory()
    if not before:  # else the scans read what is yet to be written
        question, row = began(session, question, row)
    question, holding = held(ripened(session, question), query, in_memory)
    text = keyed(answers, question, query)
    if answers.few and question is not None:
        text, question, holding = share(model, question, holding, text)
    return Asked(question, row, holding, text)


def share(
    model: Model, question: Question, holding: Holding, text: str
) -> tuple[str, Question, Holding]:
    """Return Q^I, the question and held rows, with the readings that run and checks share.

    Only where new rows stand in memory, and part of history is checked.
    """
    if not holding.rows or not question.of_a_part or begins(question.row).began is None:
        return text, question, holding
    turns = [
        _Turn(comparison, new_view(), ranges, select)
        for comparison, ranges in _comparisons(model, question)
        if (select := comparison.turn_rows(ranges))
    ]
    texts = [text, *(turn.compared(question) for turn in turns)]
    held = [view.strip("`") for view in holding.views]
    own = frozenset(turn.name for turn in turns)
    sharing = share_keyed_reads(texts, iter(new_view, ""), held, held=own)
    if not sharing.relations:
        return text, question, holding
    selects = {turn.view: turn.select for turn in turns}  # first: the others read these
    selects |= {one.view: one.select for one in sharing.relations}
    turn_rows = {turn.comparison.arm: turn.name for turn in turns}
    return (
        sharing.applied(text),
        replace(question, sharing=sharing, turn_rows=turn_rows),
        replace(holding, selects={**holding.selects, **selects}),
    )


@dataclass(frozen=True)
class _Turn:
    """The rows of an arm whose turn it is, in a view."""

    comparison: Comparison
    view: str
    ranges: tuple[Range, ...]
    select: str

    @property
    def name(self) -> str:
        """The view's name, without quotes."""
        return self.view.strip("`")

    def compared(self, question: Question) -> str:
        """Return the sample's query of the sources, for other instants and other new rows."""
        chosen = Chosen((question.row.after.t,), ranges=self.ranges, turn_rows=self.name)
        return self.comparison.both(chosen)


def _comparisons(
    model: Model, question: Question
) -> Iterator[tuple[Comparison, tuple[Range, ...]]]:
    """Yield the comparison of each arm, and the ranges whose turn it is."""
    row, definition, known = question.row, question.definition, begins(question.row)
    assert known.began is not None
    ranges = question.turn(model.config.verify_share, known.began)
    rows = RunRows("new_rows", known.begin or known.began, row.since, row.after.t)
    for arm in range(1, len(definition.by_value) + 1):
        yield Comparison(definition, rows, arm), ranges
