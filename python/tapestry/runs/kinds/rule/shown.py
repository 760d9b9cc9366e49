"""Shows the statements of a rule's run: the same code composes them, nothing is computed.

A run puts its rows into views, each over those before it. Here the views are named by their
contents, in the order in which a run makes them:

    changes    the changed rows of all commits of the window
    triggers   the commits with an event of `when`
    <query>    each query over all of these commits at once
    fired      the commits for which each query of the condition has found a row
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final

from tapestry.quoting import identifier
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.rule.evaluate import Evaluated, OverWindow
from tapestry.runs.kinds.rule.triggers import RuleText
from tapestry.runs.kinds.rule.windows import TransactionWindow
from tapestry.runs.query.views import Views

CHANGES: Final = "changes"
TRIGGERS: Final = "triggers"
FIRED: Final = "fired"


@dataclass
class ShownViews(Views):
    """Views that are never computed; ``selects`` has the text of each."""

    selects: dict[str, str] = field(default_factory=dict)
    at_once: ClassVar[bool] = False

    def keep(self, select: str) -> str:
        """Make a view of the session, so that statements over it can be analysed; keep its text."""
        view = super().keep(select)
        self.selects[view] = select
        return view


@dataclass(frozen=True)
class ShownText:
    """A view by its contents, and its name in the texts of later views."""

    name: str
    relation: str
    sql: str


def show_window(
    session: Session, rule: RuleText, window: TransactionWindow
) -> tuple[Evaluated, list[ShownText]]:
    """Return the result of a window, and the views of its run by their contents, in order."""
    views = ShownViews(session)
    try:
        found = OverWindow(session, rule, window, views).evaluate(1)
        return found, _texts(views, found)
    finally:
        views.release()


def _texts(views: ShownViews, found: Evaluated) -> list[ShownText]:
    texts: list[ShownText] = []
    called: dict[str, str] = {}
    names = {found.changes: CHANGES, found.triggers: TRIGGERS, found.fired: FIRED}
    names |= {view: name for name, view in found.rows.items()}
    for place, (view, select) in enumerate(views.selects.items(), start=1):
        select, name = select.strip(), names.get(view, f"{CHANGES} {place}")
        for other, relation in called.items():
            select = select.replace(other, relation)
        relation = f"_{name}" if name in (CHANGES, TRIGGERS, FIRED) else name
        while relation in called.values():
            relation += "_"
        called[view] = identifier(relation)
        texts.append(ShownText(name, called[view], select))
    return texts


def one_statement(texts: Sequence[ShownText], select: str) -> str:
    """Return a SELECT over the views as one statement without them."""
    listed = ",\n".join(f"{one.relation} AS (\n{one.sql}\n)" for one in texts)
    return f"WITH {listed}\n{select}"
