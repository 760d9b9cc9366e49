"""Verifies a run's table: the rows of a bucket are computed once more from the definition.

The bucket is taken of all keys, not of those that were found to change: a group that was overlooked
would otherwise stay unchecked (maintained, section 8).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from time import monotonic

from tapestry.quoting import Sql, identifiers
from tapestry.runs.checks.checks import ERROR, FAIL, PASS, WARN, CheckResult, why_not_asked
from tapestry.runs.checks.verification import VERIFICATION
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.maintained.query import MaintainedQuery
from tapestry.runs.model.model import Model, ModelConfig
from tapestry.runs.query.holding import SMALL
from tapestry.runs.tables.state_row import StateRow
from tapestry.sql.operators.compare_versions import KeptQuery


@dataclass(frozen=True)
class AnswerVerified:
    """Compares the table as it will be with the answer.

    stays
        The rows of the table that stay, as they stand behind FROM.
    """

    query: MaintainedQuery
    answer: str
    row: StateRow
    stays: str

    def verify(self, session: Session, model: Model, staged: str) -> list[CheckResult]:
        """Compare a bucket, or all rows, as bags."""
        names = identifiers(self.query.names)
        said = self.query.declared
        taken = said.taken(f"SELECT {names} FROM {staged}")
        after = f"SELECT {names} FROM {self.stays} UNION ALL {taken}"
        level = model.config.verify
        bucket = self.bucket(model) if level == "sample" else ""
        return compare_bags(
            session, model, self.query, (said.taken(self.answer), after), level, bucket
        )

    def bucket(self, model: Model) -> Sql:
        """Return the condition of the bucket whose turn it is."""
        return turn_of(self.query, self.row.n, model.config.verify_share)


def is_verified(query: MaintainedQuery, n: int, config: ModelConfig) -> bool:
    """Return whether run n is compared with the definition.

    A sample of large sources would read all of them for a part of the keys. So one run of as many
    as there are parts compares all rows, the first one after the table was made among them: that
    costs no more than a part does each time, and leaves no row out for longer.
    """
    if config.verify == "sample" and query.size > SMALL:
        buckets = ceil(1 / config.verify_share)
        return n % buckets == 2 % buckets
    return config.verify != "off"


def turn_of(query: MaintainedQuery, turn: int, share: float) -> Sql:
    """Return the condition of one of so many buckets that each holds this share of the keys.

    "": all rows, where the sources are large, and where no column tells buckets apart.
    """
    buckets = ceil(1 / share)
    if query.size > SMALL or not (steady := _told_by(query)):
        return Sql("")
    return Sql(f"pmod(xxhash64({identifiers(steady)}), {buckets:d}) = {turn % buckets:d}")


def compare_bags(
    session: Session,
    model: Model,
    query: MaintainedQuery,
    sides: tuple[str, str],
    level: str,
    bucket: str = "",
) -> list[CheckResult]:
    """Count the rows that the definition has more than the table, and the other way round.

    Columns whose values are not the same twice are left out.
    """
    columns = [c for c in query.names if c not in query.unsteady]
    names = identifiers(columns)
    where = f" WHERE {bucket}" if bucket else ""
    rule, began = model.config.on_verify_failure, monotonic()
    signed = " UNION ALL ".join(
        f"SELECT {names}, {sign} AS _tap_s FROM ({side}){where}"
        for side, sign in zip(sides, (1, -1), strict=True)
    )
    counts = f"SELECT {names}, sum(_tap_s) AS _tap_n FROM ({signed}) GROUP BY {names}"
    shown = f"to_json(struct({names}))"
    try:
        ((missing, surplus, lost, more, checked),) = session.rows(
            "SELECT coalesce(sum(greatest(_tap_n, 0)), 0), coalesce(-sum(least(_tap_n, 0)), 0),"
            f" min(IF(_tap_n > 0, left({shown}, 300), NULL)),"
            f" min(IF(_tap_n < 0, left({shown}, 300), NULL)), count(*) FROM ({counts})"
        )
    except Exception as error:
        message = {"message": why_not_asked(error)}
        return [
            CheckResult(kind, kind.replace("_", " "), rule, ERROR, None, 0, message, level=level)
            for kind in VERIFICATION
        ]
    seconds = (monotonic() - began) / 2
    found = []
    for kind, n, example in zip(VERIFICATION, (missing, surplus), (lost, more), strict=True):
        failed = WARN if rule == "warn" else FAIL
        details = {"message": f"{example} {_WORDS[kind]}"} if n else {}
        name, status = kind.replace("_", " "), failed if n else PASS
        one = CheckResult(kind, name, rule, status, int(checked), int(n), details, seconds, level)
        found.append(one)
    return found


_WORDS = dict(
    zip(VERIFICATION, ("is in the answer and not in the table",
                       "is in the table and not in the answer"), strict=True)
)  # fmt: skip


def _told_by(query: MaintainedQuery) -> Sequence[str]:
    """Return the columns that put the answer's rows into buckets: those of the key, else all."""
    kept = query.kept.keyed
    steady = [column for column in query.names if column not in query.unsteady]
    if kept is None:
        return steady
    return _shown_key(kept, query.names) or steady


def _shown_key(kept: KeptQuery, names: Sequence[str]) -> list[str]:
    if len(kept.arms) > 1:
        return []
    return [names[place] for place in kept.arms[0].shown if place is not None]
