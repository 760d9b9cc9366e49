"""The reading of a text over a catalog, from which everything about a query starts.

The rewriter, what verifies it, the static answer and the advice share it, and a process makes each
part of it once. Its trees are everybody's: whoever changes one changes a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from sqlglot import exp
from sqlglot.optimizer.simplify import simplify_parens

from tapestry.quoting import remark
from tapestry.sql.catalog import Catalog
from tapestry.sql.copies import copied
from tapestry.sql.read.audit_columns import audit_places
from tapestry.sql.read.inline_views import inline_views
from tapestry.sql.read.output_names import output_names
from tapestry.sql.read.parse import is_cte, parse, table_name
from tapestry.sql.read.resolve_names import resolve_names
from tapestry.sql.work import REMEMBERED, ReadPart


@dataclass(frozen=True)
class TreePass:
    """A step over the syntax tree, and why it changes no answer: what ``explain`` prints."""

    function: Callable[[exp.Query, Catalog], exp.Query]
    why: str

    @property
    def name(self) -> str:
        """The function's name, and its file's."""
        return self.function.__name__


READ: tuple[TreePass, ...] = (
    TreePass(
        inline_views,
        "A view is replaced by its query.",
    ),
    TreePass(
        resolve_names,
        "`*` and names without a table are written in full: only the spelling changes.",
    ),
)
"""From the syntax tree as parsed to the one that every name is resolved in."""


@dataclass(frozen=True, eq=False)
class ReadQuery:
    """A text read over a catalog; each part is computed when it is first asked for.

    Each part raises the Refusal of the step that makes it.
    """

    sql: str
    catalog: Catalog

    @ReadPart
    def written(self) -> exp.Query:
        """The text as a tree."""
        return parse(self.sql)

    @ReadPart.behind(written)
    def opened(self) -> exp.Query:
        """The tree over sources only."""
        return inline_views(self.written, self.catalog)

    @ReadPart.behind(opened)
    def tree(self) -> exp.Query:
        """The tree in which every name is resolved, and every expression typed."""
        return resolve_names(self.opened, self.catalog)

    @ReadPart.behind(tree)
    def columns(self) -> tuple[str, ...]:
        """Names of the select list, in the author's (else the source's) upper and lower case."""
        return output_names(self.tree, self.catalog)

    @ReadPart.behind(tree)
    def audit(self) -> tuple[int, ...]:
        """The places of the select list, from 0, that read the clock."""
        return audit_places(self.tree)

    @ReadPart.behind(tree)
    def named(self) -> tuple[str, ...]:
        """The sources that the query names; even those that no answer needs bound the begin of
        time.
        """
        tables = self.tree.find_all(exp.Table)
        names = dict.fromkeys(table_name(table) for table in tables if not is_cte(table))
        return tuple(name for name in names if name in self.catalog.relations)

    @ReadPart.behind(tree)
    def canonical(self) -> str:
        """A text that two queries share iff they are one syntax tree, settings included."""
        bare = copied(self.tree).transform(
            lambda node: simplify_parens(node, dialect="spark"), copy=False
        )
        text = bare.sql("spark", pretty=True, comments=False, copy=False)
        return f"{text}\n-- session time zone {remark(self.catalog.time_zone)}"

    def steps(self) -> Iterator[tuple[TreePass, exp.Query]]:
        """The steps of ``READ``, each with the tree that it gives."""
        views, names = READ
        yield views, self.opened
        yield names, self.tree


@lru_cache(maxsize=REMEMBERED)
def read(sql: str, catalog: Catalog) -> ReadQuery:
    """Return the reading of a text over a catalog; no part of it is computed yet."""
    return ReadQuery(sql, catalog)
