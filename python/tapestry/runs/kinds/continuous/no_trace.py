"""May a run that finds no rows leave no trace? (semantics, section 1)

Then nothing is claimed or committed, τ stays where the last run ended that wrote something, and
the next run covers the window again. So that the windows do not grow a run leaves a trace all the
same where it covers a day, or much came in (`window.shared_window`); and so does that of a model
that others read, whose table says how far they may go.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from tapestry.runs.kinds.continuous.window.shared_window import SharedWindow
from tapestry.runs.run.plan import WriteRows

LONGEST = timedelta(days=1)


def without_trace(planned: WriteRows, shared: SharedWindow, noteworthy: bool) -> WriteRows:
    """The plan, ``traceless`` where it is one over few new rows that writes nothing but answers.

    ``noteworthy``: the query is another one, or somebody else has written to the table, which the
    next run is to know.
    """
    row = planned.row
    if not shared.few or noteworthy or planned.model.feeds or planned.circumstances.again:
        return planned
    if row.since is None or row.after.t - row.since >= LONGEST:
        return planned
    writes = planned.before or planned.ready
    checks = planned.checks_rows or planned.proof.assumptions
    return replace(planned, traceless=not (writes or checks))
