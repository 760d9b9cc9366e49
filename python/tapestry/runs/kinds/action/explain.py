"""Explains an action step by step: its rules, its unit, the tables it writes, its statements.

The statements are those of the batch that is released next, or of all firings so far where none
waits; without a run of its rules they are the author's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tapestry.instants import now_utc
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.action.config import ActionConfig, config_of
from tapestry.runs.kinds.action.python_call import parts_of, targets_of
from tapestry.runs.kinds.action.queue import ActionQueue, queue_of
from tapestry.runs.kinds.action.rules_read import RuleRead
from tapestry.runs.kinds.action.statement import (
    ActionStatement,
    bound_names,
    bound_rows,
    said_of,
    with_rows,
)
from tapestry.runs.kinds.action.together import NotTogetherError
from tapestry.runs.kinds.action.waves import together_now
from tapestry.runs.model.model import Model
from tapestry.runs.model.triggers import triggers_of
from tapestry.runs.protocol.kind import Explained
from tapestry.runs.tables.action_batch import ActionBatch
from tapestry.sql import Step
from tapestry.words import counted


def explain_action(session: Session, model: Model, invocation: Invocation) -> Explained:
    """Return the steps of the action's next run."""
    config, parts = config_of(model.config.own), parts_of(model)
    queue = queue_of(session, model, invocation)
    steps = [
        Step("rules", _rules(model, queue), ""),
        Step("batches", f"{unit_of(config)} {_due(queue)}", ""),
        Step("writes", _writes(model, queue), ""),
        Step("how", f"{_how(session, model, queue, parts)} {_promise(parts)}", ""),
    ]
    steps += _statements(config, queue, parts)
    return Explained(tuple(steps), strategy=unit_of(config))


def unit_of(config: ActionConfig) -> str:
    """Return a sentence on the unit of batching."""
    if config.unique:
        return "All firings that wait are one batch."
    if config.unique_on:
        return f"Rows with the same {', '.join(config.unique_on)} that wait are one batch."
    return "Each firing is a batch of its own."


def _rules(model: Model, queue: ActionQueue) -> str:
    if not queue.rules:
        named = ", ".join(triggers_of(model))
        return f"Triggered by {named}; one of them has not run yet, and nothing waits."
    return " ".join(
        f"{rule.relation} looks at {rule.table}, binds {', '.join(rule.bound)}, and lets a firing"
        f" wait {rule.after}."
        for rule in queue.rules
    )


def _due(queue: ActionQueue) -> str:
    waiting = counted(len(queue.waiting), "batch waits", "batches wait")
    opened = f"; {counted(len(queue.opened), 'is', 'are')} not over" if queue.opened else ""
    release = queue.next_release
    told = "" if release is None else f", the first one released at {release:%Y-%m-%d %H:%M:%S} UTC"
    return f"{waiting}{told}{opened}."


def _writes(model: Model, queue: ActionQueue) -> str:
    written = targets_of(model)
    if not written:
        return "No table that can be told from its text or its configuration."
    held = max((rule.baseline for rule in queue.rules), default=-1)
    said = f" It holds the firings up to commit {held} already." if held >= 0 else ""
    return f"{', '.join(written)}, found in its text or its configuration.{said}"


def _how(
    session: Session, model: Model, queue: ActionQueue, parts: Sequence[ActionStatement]
) -> str:
    config = config_of(model.config.own)
    singly = f"Batches are executed singly, at most {config.max_batches} a run"
    if config.together == "false" or config.unique or not queue.rules:
        return f"{singly}."
    try:
        together_now(session, model, queue.rules, parts)
    except NotTogetherError as reason:
        return f"{singly}, for one statement for all would do something else: {reason}."
    if not parts:
        return (
            "The function is called once for all batches that are due, as it is separable, at most"
            f" {config.max_batches} a run."
        )
    return f"One statement executes all batches that are due, at most {config.max_batches} a run."


def _promise(parts: Sequence[ActionStatement]) -> str:
    if not parts:
        return (
            "The rows that its function returns are written exactly once; what it does outside is"
            " done at least once, with the same idempotency key at each attempt."
        )
    if len(parts) == 1:
        return "A batch takes effect exactly once."
    return f"Each of the {len(parts)} statements of a batch takes effect once, not all together."


def _statements(
    config: ActionConfig, queue: ActionQueue, parts: Sequence[ActionStatement]
) -> Iterator[Step]:
    batch = next(iter(queue.waiting), None) or _of_all(queue.rules)
    if not parts:
        return
    for number, part in enumerate(parts, start=1):
        name = "statement" if len(parts) == 1 else f"statement {number}"
        if batch is None:
            yield Step(name, "Over the rows that its rules bind.", part.text)
            continue
        rules = list(queue.rules)
        split = config if batch.key is not None else replace(config, unique_on=())
        rows = {one: bound_rows(batch, rules, split, one) for one in bound_names(rules)}
        said = said_of(batch, config, "its own, the same at each attempt")
        key = f", whose key is {batch.key}" if config.unique_on and batch.key else ""
        why = "Of the batch that is released next" if queue.waiting else "Of all firings so far"
        yield Step(name, f"{why}{key}.", with_rows(part, rows, said))


def _of_all(rules: Sequence[RuleRead]) -> ActionBatch | None:
    """Return a batch of all firings so far, to be shown; None where no rule has run."""
    if not rules:
        return None
    cut = {rule.relation: rule.cut(rule.baseline, 2**62) for rule in rules}
    now = now_utc()
    return ActionBatch(0, 0, None, cut, 0, 0, now, now)
