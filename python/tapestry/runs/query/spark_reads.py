"""Has Spark analyse a new query as the author wrote it, before any of its rows is kept.

The rewriting reads SQL with another parser than Spark's. Where Spark cannot read the text at all,
or finds other columns or other types in it, the two understand it differently.
"""

from __future__ import annotations

from tapestry.errors import Refusal
from tapestry.runs.engine.column_types import columns_of_query
from tapestry.runs.engine.session import Session
from tapestry.runs.model.model import Model
from tapestry.runs.query.read_text import ReadText
from tapestry.runs.query.refuse_read_apart import refuse_read_apart
from tapestry.sql.read.open_qualify import without_qualify


def refuse_read_otherwise(
    session: Session, model: Model, query: ReadText, select: str = ""
) -> None:
    """Raise Refusal where Spark finds other columns, or rows, in a query than the rewriting does.

    Reads data only where Spark plans otherwise than was read (``refuse_read_apart``).
    """
    refuse_other_columns(session, model, query, select)
    refuse_read_apart(session, model, query)


def refuse_other_columns(session: Session, model: Model, query: ReadText, select: str = "") -> None:
    """Raise Refusal where Spark finds other columns in a query than the rewriting does.

    ``select``, the rewritten query, has them and ``_matched_at``; '' compares their number only.
    Reads no data. For a text that Spark cannot read at all, Spark's own error is raised.
    """
    theirs, columns = types_of(session, query.sql), query.rewriting.columns
    ours = types_of(session, select)[: len(columns)] if select else theirs
    if len(theirs) != len(columns):
        raise Refusal(
            f"Spark finds {len(theirs)} columns in this query, the rewriting {len(columns)}",
            where=model.file,
            hint="list the columns, and please report it",
            code="read-otherwise",
        )
    for column, our, their in zip(columns, ours, theirs, strict=True):
        if our != their:
            raise Refusal(
                f"Spark reads the column {column} as {their}, the rewriting makes it {our}",
                where=model.file,
                hint=f"write CAST(… AS {their}) AS {column}, and please report it",
                code="read-otherwise",
            )


def types_of(session: Session, sql: str) -> list[str]:
    """Return the types of an author's columns, as Spark names them; reads no data."""
    return [kind for _, kind in columns_of_query(session, without_qualify(sql))]
