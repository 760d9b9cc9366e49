"""The content of `tapestry explain` for one query, collected through the adapter's session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

from tapestry.cli.advice import Table, give_advice
from tapestry.errors import Refusal
from tapestry.quoting import relation_name
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.instants import show
from tapestry.runs.engine.session import Session
from tapestry.runs.engine.values import as_list
from tapestry.runs.kinds.continuous.after.cost import Cost, cost
from tapestry.runs.kinds.continuous.after.preview import Preview
from tapestry.runs.kinds.continuous.config import ContinuousConfig
from tapestry.runs.kinds.registry import kind_of
from tapestry.runs.model.model import Model
from tapestry.sql import Step, rewrite
from tapestry.sql.passes.sequence import passes_with
from tapestry.sql.rewriter import refusing_pass


@dataclass
class Explanation:
    """The steps of one query, and unless it is refused what its next run reads."""

    name: str
    file: str
    steps: list[Step] = field(default_factory=list)
    refusal: Refusal | None = None
    looked_at: Preview | None = None
    costs: Mapping[tuple[str, str], Cost] = field(default_factory=dict)
    advice: list[str] = field(default_factory=list)
    kind: str = ""
    told_strategy: str = ""

    @property
    def strategy(self) -> str:
        """The way in which a run finds new answers, or changes; '' for a refused query."""
        if self.looked_at is None:
            return self.told_strategy
        return self.looked_at.query.rewriting.strategy

    @property
    def audit(self) -> tuple[str, ...]:
        """The columns that read the clock, and are no part of an answer."""
        return () if self.looked_at is None else self.looked_at.query.rewriting.audit

    def as_json(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "model": self.name,
            "file": self.file,
            "kind": self.kind or None,
            "strategy": self.strategy or None,
            "audit_columns": list(self.audit),
            "steps": [{"name": s.name, "why": s.why, "sql": s.sql} for s in self.steps],
            "refused": _refused(self.refusal),
            **_next_run(self.looked_at, self.costs),
            "advice": self.advice,
        }


def explain_model(
    session: Session,
    model: Model,
    invocation: Invocation,
    stored: bool,
    warnings: Sequence[str] = (),
) -> Explanation:
    """Say how a run comes from the query, and look at what the run would read.

    A query that is refused is explained up to the step that refuses it; ``warnings`` are what a run
    says of the model besides.
    """
    found = kind_of(model).explain(session, model, invocation, stored)
    explained = Explanation(
        model.name,
        model.file,
        list(found.steps),
        found.refusal,
        kind=model.materialized if stored else "",
        told_strategy=found.strategy,
    )
    looked_at = found.looked_at
    if not isinstance(looked_at, Preview):
        return explained

    catalog = looked_at.query.relations.catalog
    config: ContinuousConfig = model.config.own
    passes = passes_with(config.infer == "on")
    rewrite_with = partial(rewrite, model.sql, catalog, begin=config.begin, passes=passes)
    tables = {name: _table(session, looked_at, name) for name in looked_at.scans}
    wanted = {(r.source, r.predicate) for r in looked_at.readings}
    wanted |= {(name, "") for name in looked_at.scans}
    explained.looked_at = replace(looked_at, notes=(*looked_at.notes, *warnings))
    # sql: predicates that sqlglot wrote
    explained.costs = {key: cost(session, looked_at, *key) for key in sorted(wanted)}
    explained.advice = give_advice(looked_at, explained.costs, tables, rewrite_with, config.assume)
    return explained


def _table(session: Session, looked_at: Preview, name: str) -> Table:
    (detail,) = session.rows(f"DESCRIBE DETAIL {relation_name(name)}")
    return Table(
        looked_at.query.relations.arrival(name),
        tuple(map(str, as_list(detail[8]))),
        tuple(map(str, as_list(detail[7]))),
        int(detail[9] or 0),
    )


def _refused(refusal: Refusal | None) -> dict[str, str] | None:
    if refusal is None:
        return None
    return {
        "by": refusing_pass(refusal),
        "reason": refusal.reason,
        "where": refusal.where,
        "hint": refusal.hint,
    }


def _next_run(looked_at: Preview | None, costs: Mapping[tuple[str, str], Cost]) -> dict[str, Any]:
    if looked_at is None:
        return {"window": None, "reads": [], "notes": [], "memories": [], "joins": []}
    window = looked_at.window
    reads = []
    for reading in looked_at.readings:
        here, whole = costs[reading.source, reading.predicate], costs[reading.source, ""]
        reads.append(
            {
                "place": reading.place,
                "source": reading.source,
                "alias": reading.alias,
                "narrowed": reading.narrowed,
                "range": list(reading.window),
                "conditions": list(reading.conditions),
                "looked_up_by": list(reading.keys),
                "bytes": here.size,
                "of_bytes": whole.size,
                "files": here.files,
                "of_files": whole.files,
            }
        )
    return {
        "window": {
            "tau": show(window.tau),
            "t": show(window.t),
            "supposed": looked_at.supposed,
        },
        "reads": reads,
        "notes": list(looked_at.notes),
        "memories": [asdict(one) for one in looked_at.memories],
        "joins": [
            {"place": one.place, "tables": list(one.tables), "why": one.why}
            for one in looked_at.joins
        ],
    }
