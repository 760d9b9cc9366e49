"""From a text to the keys that its table is kept by, or to the reason why it has none."""

from __future__ import annotations

from tapestry.errors import Refusal
from tapestry.runs.kinds.maintained.reasons import Reason, Whole
from tapestry.sql import Catalog
from tapestry.sql.operators.block import NotComparedError
from tapestry.sql.operators.compare_versions import KeptQuery, keep_by_keys
from tapestry.sql.passes.tree.refuse_misplaced import refuse_misplaced
from tapestry.sql.passes.tree.refuse_nondeterministic import refuse_nondeterministic
from tapestry.sql.passes.tree.refuse_subqueries import refuse_subqueries
from tapestry.sql.read.read_query import ReadQuery, read

REFUSE = (refuse_nondeterministic, refuse_misplaced, refuse_subqueries)
"""What no table could be the answer of, or be verified against."""


def refuse(sql: str, catalog: Catalog) -> ReadQuery:
    """A text as it is read; raises the Refusal of one that no table could be the answer of."""
    query = read(sql, catalog)
    for one in REFUSE:
        one(query.tree, catalog)
    return query


def how_kept(query: ReadQuery, decides: bool) -> KeptQuery | Whole:
    """By which keys a query is kept, or why it is not; ``decides``: something unsteady does."""
    if decides:
        return Whole(Reason.INEXACT)
    try:
        kept = keep_by_keys(query)
    except Refusal as refusal:
        return Whole(Reason.NOT_TAKEN_APART, refusal.code)
    except NotComparedError as error:
        return Whole(Reason.NOT_TAKEN_APART, str(error))
    if all(arm.key is None for arm in kept.arms):
        return Whole(Reason.NO_KEY)
    return kept
