"""The sources of which a run reads only rows that arrived in its window.

Told from the statement itself, as `source_reads` does: every place that reads such a source says
that its arrival lies after τ. Whoever reads the rows after τ instead of the source, or those after
an earlier instant, finds the same answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timezone

from sqlglot import exp, parse_one

from tapestry.names import ARRIVAL
from tapestry.sql.look.source_reads import SCANS, readings
from tapestry.sql.scan import Scan, Window
from tapestry.sql.timing import text_of

TAU = datetime(2001, 2, 3, 4, 5, 6, 7, timezone.utc)
"""An instant that nobody's query names."""
WINDOW = Window(TAU, datetime(2001, 2, 3, 4, 5, 6, 8, timezone.utc))
ID = "_tap_row_id"
KINDS = ((False, False), (False, True), (True, False))
"""Little sources, few rows: by these a statement takes other forms."""


def narrowed_sources(
    sources: Iterable[str], statement: Callable[[Mapping[str, Scan], bool], str]
) -> frozenset[str]:
    """Return the sources of which a run reads only new rows; ``statement`` renders Q^I.

    Nor does it ask for the ids of their rows, which tell one from all others.
    """
    found = frozenset(sources)
    for little, few in KINDS:
        # sql: rendered to be read again, never run
        scans = {name: Scan(name, "arrival", ID, little=little) for name in sources}
        text = statement(scans, few)
        found = frozenset[str]() if ID in text else found & _narrowed(text, scans)
    return found


def _narrowed(text: str, scans: Mapping[str, Scan]) -> frozenset[str]:
    asked, bounded, places = Counter[str](), Counter[str](), Counter[str]()
    for one in readings(text, scans):
        asked[one.source] += 1
        # sql: compared with conditions, never run
        after = f"{one.alias}.{ARRIVAL} > CAST('{text_of(TAU)}' AS TIMESTAMP)"
        bounded[one.source] += after in one.conditions
    tree = parse_one(text, dialect="spark")
    tables = Counter(table.name for table in tree.find_all(exp.Table))
    for step in tree.find_all(exp.CTE):
        from_ = step.this.args.get("from_")
        if step.alias.startswith(SCANS) and isinstance(from_, exp.From):
            name = ".".join(part.name for part in from_.this.parts).lower()
            places[name] += tables[step.alias]
    return frozenset(name for name in asked if asked[name] == bounded[name] == places[name])
