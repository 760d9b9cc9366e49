"""Writes the rows that a function in Python has returned into a table, in one statement.

The statement is executed under the batch's transaction: it lands once, whoever executes it again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tapestry.errors import ActionFailed
from tapestry.quoting import Sql, identifier, identifiers, relation_name
from tapestry.runs.engine.column_types import Columns, columns_of_table, read_kind
from tapestry.runs.engine.session import Session

_WHOLE = ("tinyint", "smallint", "int", "bigint")
_BROKEN = ("float", "double")
_DECIMAL = re.compile(r"decimal\(\d+,(\d+)\)")
_TEXT = re.compile(r"(?:string|varchar|char)\b.*")


@dataclass(frozen=True)
class ReturnedTable:
    """Returned rows as a view of a session, and the table that takes them.

    file
        The file of the function.
    columns
        The names and types of the returned columns.
    """

    file: str
    view: Sql
    columns: Columns
    table: str
    merge_on: Sequence[str]

    def statement(self, session: Session) -> Sql:
        """Return the statement that writes the rows.

        Raises ActionFailed where they do not fit the table, or two of them have one key.
        """
        there = dict(columns_of_table(session, self.table))
        names = self._names_there(there)
        if not self.merge_on:
            listed = identifiers(names.values())
            given = identifiers(names)
            return Sql(
                f"INSERT INTO {relation_name(self.table)} ({listed})"
                f" SELECT {given} FROM {self.view}"
            )
        key = [name for name in names if name.lower() in {one.lower() for one in self.merge_on}]
        self._refuse_two_of_a_key(session, key)
        return self._merge(names, key)

    def _names_there(self, there: dict[str, str]) -> dict[str, str]:
        """Return the table's column for each returned column of the same name.

        Raises ActionFailed for one that the table lacks or that does not fit it.
        """
        names = {name.lower(): name for name in there}
        found: dict[str, str] = {}
        for name, kind in self.columns:
            own = names.get(name.lower())
            if own is None:
                raise self._odd(
                    f"a column {name}, and {self.table} has none of that name",
                    f"it has {', '.join(there)}: rename the column, or leave it out",
                )
            if own in found.values():
                raise self._odd(f"two columns {own}", "rename one of them, or leave it out")
            if not fits(kind, there[own]):
                raise self._odd(
                    f"{kind} as {own}, and {self.table} has {there[own]}",
                    f"cast it: .withColumn('{name}', F.col('{name}').cast('{there[own]}'))",
                )
            found[name] = own
        for name in self.merge_on:
            if name.lower() not in {one.lower() for one in found}:
                raise self._odd(
                    f"no column {name}, which merge_on names",
                    "select it in the function, or correct merge_on",
                )
        return found

    def _refuse_two_of_a_key(self, session: Session, key: Sequence[str]) -> None:
        """Raise ActionFailed where rows have the same values in the columns of the key."""
        listed = identifiers(key)
        twice = session.rows(
            f"SELECT {listed}, count(*) FROM {self.view} GROUP BY {listed}"
            " HAVING count(*) > 1 LIMIT 1"
        )
        for *values, count in twice:
            said = ", ".join(f"{name} = {value}" for name, value in zip(key, values, strict=True))
            raise self._odd(
                f"{count} rows with {said}, and merge_on says that there is one",
                "keep one of them: tapestry.actions.last_per keeps the newest; or group them",
            )

    def _merge(self, names: dict[str, str], key: Sequence[str]) -> Sql:
        on = " AND ".join(f"t.{identifier(names[one])} <=> s.{identifier(one)}" for one in key)
        others = [name for name in names if name not in key]
        update = ", ".join(f"{identifier(names[one])} = s.{identifier(one)}" for one in others)
        values = ", ".join(f"s.{identifier(name)}" for name in names)
        matched = f" WHEN MATCHED THEN UPDATE SET {update}" if update else ""
        return Sql(
            f"MERGE INTO {relation_name(self.table)} AS t USING {self.view} AS s ON {on}{matched}"
            f" WHEN NOT MATCHED THEN INSERT ({identifiers(names.values())}) VALUES ({values})"
        )

    def _odd(self, what: str, hint: str) -> ActionFailed:
        return ActionFailed(f"the function has returned {what}", where=self.file, hint=hint)


def fits(given: str, wanted: str) -> bool:
    """Return whether a column of one type takes another's values without silently losing a part.

    A value that overflows is an error when it is written; decimals are rounded.

    >>> fits("int", "bigint"), fits("double", "decimal(20,4)"), fits("decimal(9,2)", "int")
    (True, True, False)
    >>> fits("string", "int"), fits("string", "varchar(3)"), fits("date", "timestamp")
    (False, True, True)
    """
    one, other = str(read_kind(given)), str(read_kind(wanted))
    if one in (other, "void") or (one == "string" and _TEXT.fullmatch(other)):
        return True
    if one == "date":
        return other in ("timestamp", "timestamp_ntz")
    decimal = _DECIMAL.fullmatch(one)
    whole = one in _WHOLE or (decimal is not None and int(decimal[1]) == 0)
    if other in _WHOLE:
        return whole
    number = whole or decimal is not None or one in _BROKEN
    return number and (other in _BROKEN or _DECIMAL.fullmatch(other) is not None)
