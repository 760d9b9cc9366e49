"""Explains a rule step by step, in the SQL of its next run: triggers, tables and queries.

changes    the changed rows of the commits, and how old and new rows are told to be of one row
triggers   the commits with an event of `when`
table …    each other table that a query reads, as it was at each commit
<query>    each query over all commits at once
fired      the commits for which each query of the condition has found a row
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tapestry.errors import ChangesGone, QueryChanged
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.rule.ask import newest_window
from tapestry.runs.kinds.rule.config import DIFF
from tapestry.runs.kinds.rule.feed import FeedWindow
from tapestry.runs.kinds.rule.other_rule import refuse_other_query, refuse_other_table
from tapestry.runs.kinds.rule.plan_run import NextRuleRun
from tapestry.runs.kinds.rule.shown import CHANGES, FIRED, TRIGGERS, show_window
from tapestry.runs.kinds.rule.states import NOT_YET, States
from tapestry.runs.kinds.rule.triggers import RuleText
from tapestry.runs.kinds.rule.windows import TransactionWindow
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.kind import Explained
from tapestry.runs.protocol.standing import stand
from tapestry.sql import Step
from tapestry.sql.lift.cases import AT
from tapestry.words import counted


@dataclass(frozen=True)
class LookedAt:
    """A window that the next run would look at, or that is shown in its place.

    supposed
        Why this window is shown although the next run looks at another; "": it looks at this one.
    """

    window: TransactionWindow
    supposed: str = ""

    @property
    def states(self) -> States | None:
        """The other tables as they were at each commit; None: the table is a log of changes."""
        return self.window.states if isinstance(self.window, FeedWindow) else None


def explain_rule(
    session: Session, model: Model, invocation: Invocation, rule: RuleText
) -> Explained:
    """Return the steps of the rule's next run, over the window that it would look at now.

    Nothing is written. Raises the errors of a run where the changes of the window cannot be read.
    """
    looked_at = next_window(session, model, invocation, rule)
    _, texts = show_window(session, rule, looked_at.window)
    steps = []
    for one in texts:
        why = {
            CHANGES: _changes(rule, looked_at),
            TRIGGERS: _triggers(rule, looked_at),
            FIRED: _fired(rule),
        }.get(one.name)
        if why is None and one.name in rule.queries.texts:
            why = _query(rule, one.name)
        steps.append(Step(one.name, why or "The rows of which the changes are told.", one.sql))
        if one.name == TRIGGERS:
            steps += _states(rule, looked_at)
    return Explained(tuple(steps), strategy=f"over commits of {rule.table.table.name}")


def next_window(session: Session, model: Model, invocation: Invocation, rule: RuleText) -> LookedAt:
    """Return the window that the next run of the rule looks at.

    Where it would stop, or finds no commit, the newest commits stand in for it.
    """
    standing = stand(session, model, invocation, False)
    run, row = NextRuleRun(session, model, invocation, standing, rule), standing.row
    supposed = "the next run finds no commit: shown are the newest ones"
    try:
        if row is None:
            window = run.source.first()
        else:
            undone = (standing.crashed or standing.closing) and row.before is not None
            row = row.undone if undone else row
            refuse_other_query(rule, row)
            refuse_other_table(session, rule, row)
            window = run.source.following(row)
        if rule.log is not None:
            return LookedAt(window, "the next run finds nothing new" if window.empty else "")
        if not window.empty:
            return LookedAt(window)
    except (ChangesGone, QueryChanged) as error:
        supposed = f"the next run would stop, for {error.reason}: shown are the newest commits"
    return LookedAt(newest_window(session, rule, invocation), supposed)


def _changes(rule: RuleText, looked_at: LookedAt) -> str:
    table = rule.table.table
    if looked_at.states is None:
        why = f"From the rows of {table.name}, each of which says of which transaction it is."
        return f"{why} (Supposed: {looked_at.supposed}.)" if looked_at.supposed else why
    window = looked_at.states.window
    told = "Nothing asks which new row was which old one."
    if rule.paired:
        by = f" by {', '.join(rule.config.key)}" if rule.config.key else ""
        told = f"Old and new rows of a commit are paired{by}, or as the only two that are left."
    first, last = window.after + 1, window.until
    said = f"version {last}" if first == last else f"versions {first} to {last}"
    of = "By comparing the versions" if rule.config.changes == DIFF else "From the change data feed"
    why = f"{of} of {table.name}, {said}. {told}"
    return f"{why} (Supposed: {looked_at.supposed}.)" if looked_at.supposed else why


def _triggers(rule: RuleText, looked_at: LookedAt) -> str:
    states = looked_at.states
    these = "all transactions"
    if states is not None:
        these = counted(len(states.window.commits), "commit")
    return f"Those of {these} that do what `when` says: {', '.join(rule.config.when)}."


def _states(rule: RuleText, looked_at: LookedAt) -> Iterator[Step]:
    states = looked_at.states
    if states is None:
        return
    for name, pinned in rule.relations.tables.items():
        steps = states.moved.get(name, ())
        if steps:
            listed = ", ".join(
                f"{'nothing' if version == NOT_YET else f'version {version}'} from commit {since}"
                for version, since in steps
            )
            why = f"Changed within the window, each version read once: {listed}."
        else:
            why = f"Unchanged in the window: version {states.pins[name].version} for every commit."
        if pinned.table.table_id == rule.table.table.table_id:
            why += " It is the table of the rule, as each commit has left it."
        yield Step(f"table {name}", why, states.rows_at_each(name, pinned))


def _query(rule: RuleText, name: str) -> str:
    decides = name in rule.queries.conditions
    role = "Decides, and its rows are bound" if decides else "Its rows are bound"
    own = f" in {rule.model.relation}" if name == rule.queries.main else ""
    return f"{role}{own}: over all commits at once, each row with its commit in {AT}."


def _fired(rule: RuleText) -> str:
    asked = ", ".join(rule.queries.conditions)
    why = f"The commits for which {asked} found a row." if asked else "Every one of these commits."
    after = rule.config.after
    return f"{why} Each is released {f'{after} after its commit' if after else 'at once'}."
