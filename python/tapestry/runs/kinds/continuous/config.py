"""The keys that only a continuous model has: a row each (``runs/model/keys.py``)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from tapestry.runs.model.keys import KindKeys, keyed
from tapestry.runs.model.model import COMMON
from tapestry.runs.model.values import choice, instant, length, texts, whole_number


@dataclass(frozen=True)
class ContinuousConfig:
    """The keys of a continuous model besides those of any kind.

    It is ``model.config.own`` of each such model.
    """

    late_rows: str = keyed(
        choice("deliver", "warn", "fail"),
        """The treatment of rows that come `late_after` or more after their time. `deliver`: they
        count as arrived now. `warn`: the same, with a warning. `fail`: the run stops.""",
    )
    late_after: timedelta = keyed(
        length(timedelta(hours=1)),
        """How late a row may come before `late_rows: warn` or `fail` takes effect. With `deliver`
        this key has no effect.""",
    )
    on_source_rewrite: str = keyed(
        choice("fail", "deletes_ok", "refresh"),
        """The reaction if rows of a source were updated or deleted since the last run. `fail`: the
        run stops. `deletes_ok`: deleted rows no longer count from now on, and their answers stay.
        If the query depends on rows of the past (subqueries, outer joins, DISTINCT and the like),
        the deleted rows are kept in `<model>__late_…`, with the instant at which they ended.
        `refresh`: the table is built again.""",
    )
    on_query_change: str = keyed(
        choice("fail", "continue", "refresh"),
        """The reaction if the query differs from that of the last run in more than the columns of
        its select list. `fail`: the run stops. `continue`: the rows stay, and the new query applies
        from the end of the last run, or from a later `begin`. `refresh`: the table is built
        again.""",
    )
    on_schema_change: str = keyed(
        choice(
            "fail",
            "ignore",
            "append_new_columns",
            refused={
                "sync_all_columns": "it would take columns away, and nothing is ever taken back:"
                " append_new_columns keeps a column that the query no longer has, and"
                " --full-refresh builds the table anew"
            },
        ),
        """dbt's own key: the reaction if the columns of the query differ from those of the table.
        If a column of the table cannot hold the new type, the run stops with any value. If only the
        columns changed (a source under `*` has a new column), `on_query_change` has no effect.
        `fail`: the run stops. `ignore`: new columns are left out. `append_new_columns`: they are
        added, with NULL in the existing rows.""",
    )
    begin: datetime | None = keyed(
        instant(),
        """The first instant that the model covers. Answers that ended before it are left out; an
        answer that holds at this instant begins at it. Without this key the model covers all of
        history.""",
        word=True,
    )
    lag: timedelta = keyed(
        length(timedelta(0)),
        """The run covers the time up to now minus this length. It gives slow loaders time, and
        answers come later.""",
        word=True,
    )
    assume: tuple[str, ...] = keyed(
        texts("conditions", '["r.ts >= m.ts"]'),
        """Orders of two arrival columns that always hold, like `r.ts >= m.ts`. They make runs
        cheaper. If a view or CTE is used twice, an order applies to each use separately. Each run
        checks them on its new rows and those of the week before, and stops if one does not
        hold.""",
        word=True,
    )
    running_values: str = keyed(
        choice("warn", "wanted"),
        """Whether a run warns if the select list contains a count or another value that changes as
        rows arrive: every value that it ever had is an answer. `warn`: it warns. `wanted`: it does
        not; you want these answers.""",
    )
    instants_limit: int = keyed(
        whole_number(
            1_000_000_000,
            "it counts pairs of an instant and a row; 1000000000 is the default",
            least=1,
        ),
        """The maximum number of pairs of an instant and a row for one run. A query with aggregates,
        window functions or LIMIT is evaluated at each instant at which its answer may change. A run
        that needs more pairs stops before it computes them.""",
    )
    infer: str = keyed(
        choice("on", "off"),
        """Whether a run also filters each table by conditions that the query implies for it. For
        example, `r1.amount > 100 and r2.amount = r1.amount` implies `r2.amount > 100`. If the
        tables are large, the least and greatest values of the new rows are used too. The answers
        are the same either way. `tapestry explain` shows the implied conditions and their origin.
        `off`: only the conditions of the query are used.""",
        word=True,
    )
    join_order: tuple[str, ...] = keyed(
        texts("aliases", "[r3, r2, r1]"),
        """The order in which a run joins its tables, as a list of their aliases in FROM, like `[r3,
        r2, r1]`. The answers are the same in any order. Default: first the table with the new or
        due rows, then repeatedly the table of which the least is read, among those that an equality
        joins to the tables so far. `tapestry explain` shows the order. Tables that are not in the
        list follow by the same rule, but the table with the new rows stays first unless it is in
        the list. LEFT JOINs to static tables always come last.""",
    )


KEYS = KindKeys(tuple(COMMON.values()), ContinuousConfig)
