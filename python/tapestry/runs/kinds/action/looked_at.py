"""The instant up to which the rules of an action have looked at all commits of their tables.

A batch that closes by the clock is only known once no rule can still find a commit before its
release: else its firings would depend on when the rules ran.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.action.rules_read import RuleRead
from tapestry.runs.sources.pins import Pinned
from tapestry.runs.sources.transactions import times_of


def looked_until(
    session: Session, invocation: Invocation, rules: Iterable[RuleRead], t: datetime
) -> datetime:
    """Return the time of the first commit that a rule has not looked at, t at most."""
    for rule in rules:
        found = invocation.pins.of(session, rule.table)
        if not isinstance(found, Pinned) or found.pin.version <= rule.position:
            continue
        times = times_of(session, found.table, found.pin.version)
        t = min([t, *(time for version, time in times.items() if version > rule.position)])
    return t
