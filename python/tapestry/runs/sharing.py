"""A large source that a run and its checks ask for the rows with a few keys: read once for both.

A small source is held whole (``holding``).  Of a large one what a run narrows itself to decides,
and what its checks do: with their keys known before, one reading gives the rows of both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tapestry.runs.holding import Holding, new_view
from tapestry.runs.model import Model
from tapestry.runs.question import Question
from tapestry.sql.share_keyed_reads import share_keyed_reads
from tapestry.verification.chosen import Chosen, Rows
from tapestry.verification.compare import Comparison


def share(
    model: Model, question: Question, holding: Holding, text: str
) -> tuple[str, Question, Holding]:
    """Q^I, the question and what is held, with the readings that the run and its checks share.

    Only where new rows stand in memory, and part of history is checked.
    """
    if not holding.rows or not question.of_a_part:
        return text, question, holding
    texts = [text, *_comparisons(model, question)]
    held = [view.strip("`") for view in holding.views]
    sharing = share_keyed_reads(texts, iter(new_view, ""), held)
    selects = {one.view: one.select for one in sharing.relations}
    return (
        sharing.applied(text),
        replace(question, sharing=sharing),
        replace(holding, selects={**holding.selects, **selects}),
    )


def _comparisons(model: Model, question: Question) -> Iterator[str]:
    """What the sample will ask of the sources, at other instants and with other new rows."""
    row, definition = question.row, question.definition
    if row.began is None:
        return
    ranges = question.turn(model.config.verify_share, row.began)
    rows = Rows("new_rows", row.begin or row.began, row.tau, row.t)
    for arm, by_value in enumerate(definition.by_value, start=1):
        comparison = Comparison(definition, rows, arm)
        if not by_value and comparison.driver is not None and comparison.driver.first:
            yield comparison.both(Chosen((row.t,), ranges=ranges))
