"""The rows that a rule has bound for its actions: in its own table and, beside that, in others.

Each row says which firing has bound it (``_firing``), of which commit (``_commit_version``,
``_commit_time``), and which place it has among those of that firing (``_row``). In the rule's own
table it also says which run of the rule has written it (``_n``); the tables beside it mark that as
any kept table does.

Firings of a rule have numbers that grow: a cut of the queue is those after one number up to
another. Where each commit is one transaction the number is its version.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Final

from tapestry.errors import ReservedName
from tapestry.quoting import Sql, identifier
from tapestry.runs.tables.kept import GENERATION, NUMBER, KeptTable
from tapestry.sql.lift.cases import AT

N: Final = "_n"
FIRING: Final = "_firing"
COMMIT_VERSION: Final = "_commit_version"
COMMIT_TIME: Final = "_commit_time"
ROW: Final = "_row"
BOUND, AFTER, TABLE, START, KEEP, GAP = "bound", "after", "table", "start", "keep", "gap"
"""In what a rule keeps of its own: the names of its bound tables, its own first; how many
microseconds a firing waits; the table that it looks at, the commit after which it began to; how
many microseconds rows stay that all actions are done with; and the version up to which it has left
out changes that nobody can read, so that derived tables are to be built again."""
KEPT: Final = timedelta(days=7)
"""So long do they stay where the author says nothing."""
ADDED_BY_US: Final = (N, FIRING, COMMIT_VERSION, COMMIT_TIME, ROW)
"""Columns of a rule's own table behind those that are bound."""
_OWN = frozenset({*ADDED_BY_US, GENERATION, NUMBER, AT})
SHOWN: Final = (COMMIT_TIME, COMMIT_VERSION, ROW)
"""Those that an action sees behind the bound columns."""


def bound_table(name: str, columns: Mapping[str, Sql]) -> KeptTable:
    """Return ``<rule>__<name>``: the rows of another bound query of a rule."""
    own = {FIRING: "bigint", COMMIT_VERSION: "bigint", COMMIT_TIME: "timestamp", ROW: "bigint"}
    return KeptTable(name, f"tapestry: rows bound as {name}", {**columns, **own})


_NO_KEY = re.compile(r"(struct|array|map)<|variant|geo")
"""Types of which several values may have one text."""


def makes_key(kind: str) -> bool:
    """Return whether each value of a type has one text, by which batches can be told apart.

    >>> makes_key("decimal(9,2)"), makes_key("array<string>")
    (True, False)
    """
    return not _NO_KEY.match(kind.lower())


def key_text(kinds: Mapping[str, str], names: Sequence[str]) -> Sql:
    """Return SQL for the values of columns that tell the batch of a row, as JSON text.

    Equal values have one text, others another one, whatever the time zone of the session.
    """
    values = [f"CAST({_with_one_text(identifier(name), kinds[name])} AS STRING)" for name in names]
    return Sql(f"to_json(array({', '.join(values)}))")


def _with_one_text(value: Sql, kind: str) -> Sql:
    if kind in ("float", "double"):
        return Sql(f"{value} + CAST(0 AS {kind})")  # -0.0 is equal to 0.0
    if kind == "timestamp":  # an hour that a zone has twice has one text there
        seconds = f"CAST(unix_micros({value}) / 1000000BD AS DECIMAL(18, 6))"
        since = f"make_dt_interval(0, 0, 0, {seconds})"
        return Sql(f"concat(TIMESTAMP_NTZ'1970-01-01 00:00:00' + {since}, 'Z')")
    if kind == "binary":  # what is no UTF-8 would have one text
        return Sql(f"hex({value})")
    return value


def refuse_own_columns(query: str, columns: Collection[str], where: str = "") -> None:
    """Raise ReservedName for a bound column with a name of a column that we add.

    >>> refuse_own_columns("matches", ["comp", "commit_time"])
    """
    odd = next((one for one in columns if one.lower() in _OWN), None)
    if odd is not None:
        raise ReservedName(
            f"{query} binds a column {odd}, which the rows of a batch have of their own",
            where=where,
            hint=f"give it another name with AS than {', '.join(sorted(_OWN))}",
        )
