"""The newest row for each value of some columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tapestry.errors import ConfigurationError
from tapestry.quoting import identifier

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_OF_CHANGE = ("commit_time", "commit_version", "execute_order")
"""Columns of a transition table, where the rule has bound them."""
_OF_BATCH = ("_commit_time", "_commit_version", "_row")
"""Columns that each row of a batch has."""


def last_per(rows: DataFrame, *columns: str) -> DataFrame:
    """Keep of the rows with the same values in some columns the newest one.

    The order is that of the changes: by ``commit_time``, ``commit_version`` and ``execute_order``
    where the rows have all three, else by ``_commit_time``, ``_commit_version`` and ``_row``, which
    each row of a batch has; ``_row`` decides where the first three are equal. NULL is a value.

    Raises ConfigurationError where no column is named, or the rows lack what puts them in order.
    """
    from pyspark.sql import functions as f

    there = {name.lower(): name for name in rows.columns}
    if not columns:
        raise ConfigurationError(
            "last_per needs the columns of which it keeps one row for each value",
            hint="name them: last_per(rows, 'option_symbol')",
        )
    if lacking := [name for name in columns if name.lower() not in there]:
        raise ConfigurationError(
            f"last_per: the rows have no column {lacking[0]}",
            hint=f"they have {', '.join(rows.columns)}",
        )
    order = next((one for one in (_OF_CHANGE, _OF_BATCH) if set(one) <= set(there)), None)
    if order is None:
        raise ConfigurationError(
            "last_per: the rows have no columns that order them",
            hint=f"keep {', '.join(_OF_BATCH)} of the batch among their columns",
        )
    newest_first = [*order, *({_OF_BATCH[-1]} & set(there) - set(order))]
    per = [identifier(there[name.lower()]) for name in columns]
    order_by = f.struct(*(identifier(there[name]) for name in newest_first))
    newest = f.max_by(f.struct(*map(identifier, rows.columns)), order_by)
    return rows.groupBy(*per).agg(newest.alias("newest")).select("newest.*")
