"""Explains how a maintained model is kept, step by step, in readable SQL."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from tapestry.runs.context.invocation import Invocation
from tapestry.runs.kinds.maintained.query import MaintainedQuery
from tapestry.runs.protocol.kind import Explained
from tapestry.sql import Step
from tapestry.sql.operators.compare_versions import compare
from tapestry.sql.operators.read_sums import sums_at
from tapestry.sql.operators.sums import SummedQuery
from tapestry.sql.operators.texts import Between, SourceVersions
from tapestry.sql.operators.versions import WrittenQuery

WHAT = ("old", "new", "minus", "plus")
"""The prefixes of the names that the relations of a source have in the explanation."""


def explain(invocation: Invocation, query: MaintainedQuery) -> Explained:
    """Return the answer, and for each arm its key, the keys that a change reaches, and their rows.

    The texts are those of a change of every source.
    """
    t = invocation.clock.instant
    steps = [Step("answer", "The query at the instant of the run.", query.answer(t))]
    if (summed := query.kept.summed) is not None:
        steps += _of_sums(summed, _between(summed, t))
    kept, whole = query.kept.keyed, query.kept.whole
    if kept is None:
        assert whole is not None
        why = f"{whole.reason.value} {f'({whole.detail})' if whole.detail else ''}".strip()
        why = f"{why}, but for what is told by counts and sums" if query.kept.summed else why
        steps.append(Step("refresh", f"Each run computes it whole: {why}.", str(whole)))
        strategy = str(whole) if query.kept.summed is None else "incremental"
        return Explained(tuple(steps), strategy=strategy)
    between = _between(kept, t)
    for number, arm in enumerate(kept.arms, start=1):
        place = f" of arm {number}" if len(kept.arms) > 1 else ""
        if arm.key is None:
            steps.append(Step(f"arm {number}", f"The rows{place} are computed whole: no key.", ""))
            continue
        shown = ", ".join(part.sql("spark") for part in arm.key.parts)
        texts = compare(kept, arm, between)
        why = f"By {shown}: the keys{place} that a change reaches."
        steps.append(Step("keys", why, texts.keys))
        steps.append(Step("rows", f"The new rows{place} of these keys.", texts.new))
    return Explained(tuple(steps), strategy="incremental")


def _of_sums(summed: SummedQuery, between: Between) -> Iterator[Step]:
    """Yield the counts and sums of the query's blocks, while their groups are few."""
    for block in summed.blocks:
        why = "Kept while the groups are few: what a change adds to these is added, not all summed."
        yield Step("sums", why, sums_at(summed, block, between))


def _between(query: WrittenQuery, t: datetime) -> Between:
    sources = enumerate(query.sources, start=1)
    return Between((t, t), {name: _versions(number) for number, name in sources})


def _versions(number: int) -> SourceVersions:
    old, new, minus, plus = (f"SELECT * FROM {what}_{number:d}" for what in WHAT)
    return SourceVersions(old, new, minus, plus)
