"""What a number of cases came to: a tally, refusals by reason, reproductions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from judge.case import Case
from judge.oracle import Answers
from judge.schema import TABLES
from judge.tree import tables_of
from judge.verdict import Verdict


@dataclass
class Tally:
    """Verdicts of many cases."""

    kinds: Counter[str] = field(default_factory=Counter)
    strategies: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    answered: int = 0
    slow: list[str] = field(default_factory=list)
    failures: list[Case] = field(default_factory=list)

    def add(self, case: Case, verdict: Verdict) -> None:
        """Count one verdict."""
        self.kinds[verdict.kind] += 1
        self.strategies[verdict.strategy] += 1
        self.answered += verdict.answers > 0
        if verdict.kind == "slow" and len(self.slow) < 5:
            self.slow.append(verdict.text)
        if verdict.kind == "refused":
            self.reasons[verdict.text] += 1
        if verdict.failed:
            self.failures.append(case)

    @property
    def total(self) -> int:
        """All cases."""
        return self.kinds.total()

    def text(self) -> str:
        """One line a fact."""
        lines = [
            f"{self.total} queries, {self.answered} with answers: {dict(self.kinds)}",
            f"strategies: {dict(self.strategies)}",
        ]
        return "\n".join(
            [*lines, *(f"refused {n}: {text}" for text, n in self.reasons.most_common())]
        )


def reproduction(case: Case, right: Answers, verdict: Verdict) -> str:
    """A failing case as a person reads it."""
    lines = [f"case {case.number}: {verdict.kind}", case.sql, f"assume {case.assume}"]
    for table in tables_of(case.query):
        lines.append(f"{table} ({', '.join(TABLES[table])}, _arr, _rid)")
        for row, end in zip(case.data.rows[table], case.data.ends(table), strict=True):
            lines.append("  " + ", ".join(map(str, row)) + (f" until {end}" if end else ""))
    ends = ", ".join(str(end) for end in case.ends)
    lines += [
        f"windows end at {ends}; begin {case.begin}; late {case.data.late}; pinned {case.pinned}"
    ]
    lines += [f"expected {[tuple(map(str, row)) for row in right.elements()]}", verdict.text]
    return "\n".join(lines)


def case_text(case: Case, right: Answers, why: str) -> str:
    """A case as a file of tests/property/cases."""
    rows = {
        table: [_cells(row) for row in case.data.rows[table]] for table in tables_of(case.query)
    }
    parts: dict[str, Any] = {
        "why": why,
        "sql": case.sql,
        "columns": list(case.query.names),
        "late": case.data.late,
        "begin": None if case.begin is None else str(case.begin),
        "assume": list(case.assume),
        "ends": [str(end) for end in case.ends],
        "ended": [[*key, str(end)] for key, end in case.data.ended.items()],
        "expected": [_cells(row) for row in right.elements()],
        **{f"table {name}": found for name, found in rows.items()},
    }
    return (
        "{\n"
        + ",\n".join(f"{json.dumps(key)}: {_lines(value)}" for key, value in parts.items())
        + "\n}\n"
    )


def _lines(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], list):
        return "[\n  " + ",\n  ".join(json.dumps(row) for row in value) + "\n]"
    return json.dumps(value)


def _cells(row: tuple[Any, ...]) -> list[Any]:
    return [str(cell) if isinstance(cell, (date, datetime)) else cell for cell in row]


def judged(case: Case, judge: Callable[[Case], Verdict]) -> Callable[[Case], bool]:
    """Does a smaller case fail the same way? Cases that the oracle cannot read do not count."""
    first = judge(case)

    def fails(smaller: Case) -> bool:
        try:
            verdict = judge(smaller)
        except Exception:
            return False
        return verdict.kind == first.kind and verdict.text[:30] == first.text[:30]

    return fails
