"""Few changed rows, read by the driver: the replacing statement has them as literals.

No view of the session holds them then, nothing is staged, and the condition on the replaced rows
compares columns with values: Delta reads only files that may have them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tapestry.quoting import Sql, identifier, identifiers
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.maintained.rows_as_text import (
    Texts,
    are_exact,
    as_text,
    is_exact,
    literal,
    select_of,
)
from tapestry.sql.catalog import Column

FEW = 200
"""So many changed rows are named one by one, each of them with all its columns."""
WIDE = 2_000
"""So many values in all."""
LONG = 2_000
"""So many characters has the text of each: longer ones would fill a statement, and the log."""


@dataclass(frozen=True)
class NamedRows:
    """Changed rows, each once, with the numbers of all its former and present copies."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Texts, int, int], ...]

    @property
    def select(self) -> Sql:
        """Return a SELECT of the present copies."""
        columns = [(column.name, column.type) for column in self.columns]
        return select_of(columns, [row for row, _, now in self.rows for _ in range(now)])

    @property
    def instead_of(self) -> Sql:
        """Return the condition that a row is one of them; "": there were no former copies."""
        if not any(was for _, was, _ in self.rows):
            return Sql("")
        return Sql(" OR ".join(f"({self._is(row)})" for row, _, _ in self.rows))

    @property
    def some_stay(self) -> bool:
        """Return whether a row has both former and present copies."""
        return any(was and now for _, was, now in self.rows)

    def counts(self, key: Sequence[int]) -> tuple[int, int, int]:
        """Return how many rows come in, replace others with their key, and go out.

        ``key``: the places of its columns; none: no row takes another's place.
        """
        came, went = Counter[Texts](), Counter[Texts]()
        for row, was, now in self.rows:
            of = tuple(row[place] for place in key)
            came[of] += max(now - was, 0)
            went[of] += max(was - now, 0)
        updated = sum(min(came[of], went[of]) for of in came) if key else 0
        return sum(came.values()) - updated, updated, sum(went.values()) - updated

    def _is(self, row: Texts) -> Sql:
        pairs = zip(self.columns, row, strict=True)
        return Sql(
            " AND ".join(
                f"{identifier(column.name)} <=> {literal(text, column.type)}"
                for column, text in pairs
            )
        )


def few_rows(
    session: Session, columns: Sequence[Column], signed: str, delta: Sql
) -> NamedRows | None:
    """Return the differing rows of ``signed``, whose column ``delta`` is -1 or 1; None: too many.

    All copies of a row that differs must be among them.
    """
    names = identifiers(column.name for column in columns)
    if not all(is_exact(column.type) for column in columns):
        return None
    listed = ", ".join(f"left({as_text(c.name, c.type)}, {LONG + 1})" for c in columns)
    most = min(FEW, WIDE // len(columns))
    rows = session.rows(
        f"SELECT {listed}, _tap_was, _tap_now FROM (SELECT {names},"
        f" count_if({delta} < 0) AS _tap_was, count_if({delta} > 0) AS _tap_now"
        f" FROM ({signed}) GROUP BY {names}"
        f" HAVING sum({delta}) <> 0) LIMIT {most + 1}"
    )
    if len(rows) > most or not all(are_exact(row[:-2], LONG) for row in rows):
        return None
    return NamedRows(
        tuple(columns), tuple((tuple(row[:-2]), int(row[-2]), int(row[-1])) for row in rows)
    )
