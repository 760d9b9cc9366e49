"""The place at which a strategy renders, and the result of rendering."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from tapestry.names import KEY
from tapestry.sql import timing
from tapestry.sql.branches.frame import Frame
from tapestry.sql.branches.selects import Reads
from tapestry.sql.read.audit_columns import PLACE
from tapestry.sql.scan import Form
from tapestry.sql.write import build


@dataclass(frozen=True)
class RenderPlace:
    """The window, the reads and the prefix of CTE names for one rendering.

    ``begin``: the model's.
    """

    columns: tuple[str, ...]
    frame: Frame
    reads: Reads
    form: Form
    prefix: str
    begin: exp.Expr | None = None

    @property
    def keyed(self) -> bool:
        """Whether the answer's key is one of its columns, the last one."""
        return self.columns[-1] == KEY

    @property
    def listed(self) -> tuple[str, ...]:
        """The columns of the select list."""
        return self.columns[:-1] if self.keyed else self.columns

    def audited(self, audit: Mapping[int, exp.Expr], place: int, first: exp.Expr) -> exp.Expr:
        """Return an audit column of an answer by value ``_n``, at the answer's first instant."""

        def value(node: exp.Expr) -> exp.Expr:
            of_place = isinstance(node, exp.Column) and node.table == PLACE
            return build.column(self.columns[int(node.name)], "_n") if of_place else node

        found = timing.as_of(audit[place], first).transform(value, copy=False)
        return build.named(found, self.columns[place])


@dataclass(frozen=True)
class Rendered:
    """Disjoint selects of the answers whose first instant lies in the window, and their CTEs.

    The select list is that of the query, with ``_matched_at``.
    """

    selects: tuple[exp.Select, ...]
    ctes: tuple[tuple[str, exp.Query], ...] = ()

    @classmethod
    def all_of_these(cls, each: Iterable[Rendered]) -> Rendered:
        """Return the selects and CTEs of all of these together."""
        found = list(each)
        selects = tuple(select for one in found for select in one.selects)
        return cls(selects, tuple(cte for one in found for cte in one.ctes))
