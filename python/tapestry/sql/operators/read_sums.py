"""Renders the SQL of counts and sums: all of a block, the change of them, the query over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tapestry.quoting import Sql
from tapestry.sql.operators.changed_rows import ChangedRows
from tapestry.sql.operators.sums import SummedBlock, SummedQuery
from tapestry.sql.operators.texts import (
    Between,
    sources_of,
    text_of,
    two_versions,
)
from tapestry.sql.operators.versions import Version
from tapestry.sql.write import build


def sums_at(
    summed: SummedQuery,
    block: SummedBlock,
    now: Between,
    means: bool = False,
    dialect: str = "spark",
) -> str:
    """Return SQL of the counts and sums of a block in the new version; ``means``: averages, too."""
    versions = two_versions(summed, now)
    query = versions.query_at(block.typed() if means else block.summing(), Version.NEW)
    return text_of(query, (), sources_of(versions, now), dialect)


def sums_apart(
    summed: SummedQuery,
    block: SummedBlock,
    between: Between,
    dialect: str = "spark",
    hold: Callable[[Sql], str] | None = None,
) -> str:
    """Return SQL of the counts and sums that a change removes and adds, by ``SIGN``; '': none.

    A group may have several rows.
    """
    versions = two_versions(summed, between, hold)
    terms = list(ChangedRows(versions).signed(block))
    if not terms:
        return ""
    together = build.union_all(terms) if len(terms) > 1 else terms[0]
    return text_of(together, versions.ctes, sources_of(versions, between), dialect)


def over_sums(
    summed: SummedQuery,
    groups: Sequence[str],
    now: Between,
    columns: Sequence[str],
    dialect: str = "spark",
) -> str:
    """Return the query over SELECTs of its blocks' groups, and of its sources' new version.

    ``columns`` are the names of its columns.
    """
    versions = two_versions(summed, now)
    query = versions.query_at(summed.query, Version.NEW)
    texts = [*sources_of(versions, now), *zip(summed.names, groups, strict=True)]
    pairs = zip(query.named_selects, columns, strict=True)
    listed = [build.named(build.column(own, "_all"), wanted) for own, wanted in pairs]
    whole = build.add_from(build.select(listed), build.subquery(query, "_all"))
    return text_of(whole, (), texts, dialect)
