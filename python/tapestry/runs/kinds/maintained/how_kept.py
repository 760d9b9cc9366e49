"""Finds the keys by which a query's table is kept, or the reason why there are none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tapestry.errors import Refusal
from tapestry.runs.kinds.maintained.reasons import Reason, Whole
from tapestry.sql import Catalog
from tapestry.sql.operators.block import NotComparedError
from tapestry.sql.operators.compare_versions import KeptQuery, keep_by_keys
from tapestry.sql.operators.sums import SummedQuery, sum_blocks
from tapestry.sql.operators.wanted_key import CODE
from tapestry.sql.passes.tree.refuse_misplaced import refuse_misplaced
from tapestry.sql.passes.tree.refuse_nondeterministic import refuse_nondeterministic
from tapestry.sql.passes.tree.refuse_subqueries import refuse_subqueries
from tapestry.sql.read.read_query import ReadQuery, read
from tapestry.sql.read.refuse_unsupported import has_windows_of_time

REFUSE = (refuse_nondeterministic, refuse_misplaced, refuse_subqueries)
"""The passes that refuse a query whose answer no table can hold, or be verified against."""


def refuse(sql: str, catalog: Catalog) -> ReadQuery:
    """Return a text as it is read; raise the Refusal of one that no table could be the answer of.

    Windows of time are a feature of Spark alone: if there are some, Spark finds what is misplaced.
    """
    query = read(sql, catalog)
    for one in REFUSE[:1] if has_windows_of_time(query.tree) else REFUSE:
        one(query.tree, catalog)
    return query


@dataclass(frozen=True)
class HowKept:
    """The ways to follow a change of the sources.

    written
        The query written out, with the key of each arm that has one; None where ``whole`` says why
        it is not taken apart.
    whole
        Why it is not kept by keys; None: it is.
    summed
        The query over the counts and sums of its blocks; None: it has no such blocks.
    """

    written: KeptQuery | None
    whole: Whole | None
    summed: SummedQuery | None = None

    @property
    def keyed(self) -> KeptQuery | None:
        """The query if it is kept by keys, else None."""
        return self.written if self.whole is None else None


def how_kept(
    query: ReadQuery, decides: bool, weights: Mapping[str, int], wanted: Sequence[int] = ()
) -> HowKept:
    """Return how a query is kept, or why it is not.

    ``decides``: an unsteady value decides which rows there are. ``weights``: the sizes of its
    sources. ``wanted``: the places of the columns of `unique_key`; raises Refusal for one that the
    query is not kept by.
    """
    if decides and not wanted:
        return HowKept(None, Whole(Reason.INEXACT))
    if has_windows_of_time(query.tree):
        return HowKept(None, Whole(Reason.NOT_TAKEN_APART, "window"))
    try:
        kept = keep_by_keys(query, wanted, weights)
    except Refusal as refusal:
        if refusal.code == CODE:
            raise
        return HowKept(None, Whole(Reason.NOT_TAKEN_APART, refusal.code))
    except NotComparedError as error:
        return HowKept(None, Whole(Reason.NOT_TAKEN_APART, str(error)))
    if decides:
        return HowKept(None, Whole(Reason.INEXACT))
    keyless = all(arm.key is None for arm in kept.arms)
    summed = sum_blocks(kept)
    return HowKept(kept, Whole(Reason.NO_KEY) if keyless else None, summed)
