"""Checks that no two rows of a table have one key, where the author says so (`unique_key`).

It reads the rows that come in, together with those of their keys that stay: no other keys can have
become duplicates. NULLs are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic

from tapestry.quoting import identifier, identifiers
from tapestry.runs.checks.checks import ERROR, FAIL, PASS, CheckResult, why_not_asked
from tapestry.runs.checks.verification import Verification
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.maintained.declared import Declared
from tapestry.runs.model.model import Model


@dataclass(frozen=True)
class UniqueRows:
    """Counts the rows of each key.

    stays
        A relation of the table's rows that stay, for FROM; "": none does.
    declared
        The author's key and expectations: rows that are kept out of the table are not counted.
    verification
        A further verification of the new rows.
    """

    columns: Sequence[str]
    declared: Declared
    stays: str
    verification: Verification | None

    def verify(self, session: Session, model: Model, staged: str) -> list[CheckResult]:
        """Check the key, then execute the further verification."""
        others = self.verification
        taken = self.declared.taken(f"SELECT * FROM {staged}")
        return [self._checked(session, f"({taken})")] + (
            [] if others is None else others.verify(session, model, staged)
        )

    def _checked(self, session: Session, staged: str) -> CheckResult:
        names, began = identifiers(self.columns), monotonic()
        rows = f"SELECT {names} FROM {staged}"
        if self.stays:
            same = " AND ".join(
                f"_tap_t.{identifier(name)} <=> _tap_n.{identifier(name)}" for name in self.columns
            )
            rows += (
                f" UNION ALL SELECT {names} FROM (SELECT * FROM {self.stays}) AS _tap_t"
                f" WHERE EXISTS (SELECT 1 FROM {staged} AS _tap_n WHERE {same})"
            )
        name = f"unique_key: {', '.join(self.columns)}"
        try:
            ((count, shown),) = session.rows(
                f"SELECT coalesce(sum(_tap_c), 0), min(left(to_json(struct({names})), 300)) FROM"
                f" (SELECT {names}, count(*) AS _tap_c FROM ({rows}) GROUP BY {names})"
                " WHERE _tap_c > 1"
            )
        except Exception as error:
            message = {"message": why_not_asked(error)}
            return CheckResult("expectation", name, "fail", ERROR, None, 0, message)
        status, details = (FAIL, {"row": shown}) if count else (PASS, {})
        seconds = monotonic() - began
        return CheckResult("expectation", name, "fail", status, None, int(count), details, seconds)
