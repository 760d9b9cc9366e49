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
        """How late a row may be before `late_rows: warn` or `fail` minds. With `deliver` it has no
        effect.""",
    )
    on_source_rewrite: str = keyed(
        choice("fail", "deletes_ok", "refresh"),
        """The reaction when rows of a source were changed or deleted since the last run. `fail`:
        stop. `deletes_ok`: deleted rows are gone from now on, their answers stay; a query that asks
        what was there before (subqueries, outer joins, DISTINCT and the like) keeps them, with
        their end, in `<model>__late_…`. `refresh`: build the table again.""",
    )
    on_query_change: str = keyed(
        choice("fail", "continue", "refresh"),
        """The reaction when the query is not the one of the last run, in more than the columns of
        its select list. `fail`: stop. `continue`: the table stays, the new query counts from the
        end of the last run on, or from a later `begin`. `refresh`: build the table again.""",
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
        """dbt's own key, for a query with other columns than its table has; one whose new type the
        table's column does not hold stops the run in any case. Where nothing else changed (a source
        under `*` has a new column) this key alone is asked, `on_query_change` is not. `fail`: stop.
        `ignore`: new columns are left out. `append_new_columns`: they are added, NULL in the rows
        that are there.""",
    )
    begin: datetime | None = keyed(
        instant(),
        """The first instant of interest: what was an answer only before it is left out, and what
        was one already begins there. Without it: all of history.""",
        word=True,
    )
    lag: timedelta = keyed(
        length(timedelta(0)),
        """The run goes up to now minus this. It gives slow loaders time, at the price of later
        answers.""",
        word=True,
    )
    assume: tuple[str, ...] = keyed(
        texts("conditions", '["r.ts >= m.ts"]'),
        """Orders of two arrival columns that always hold, like `r.ts >= m.ts`. They make runs
        cheaper. Of a view or CTE that is used twice an order speaks of each use for itself. Each
        run checks them on its new rows and those of the week before, and stops where one does not
        hold.""",
        word=True,
    )
    running_values: str = keyed(
        choice("warn", "wanted"),
        """The reaction where the select list shows a count or another value that changes as rows
        come: every value that it ever had is an answer. `warn`: a run says so. `wanted`: it is
        meant.""",
    )
    instants_limit: int = keyed(
        whole_number(
            1_000_000_000,
            "it counts pairs of an instant and a row; 1000000000 is the default",
            least=1,
        ),
        """A query with aggregates, window functions or LIMIT is evaluated at each instant at which
        its answer may change. So many pairs of an instant and a row may a run look at; with more it
        stops before it computes them.""",
    )
    infer: str = keyed(
        choice("on", "off"),
        """Whether a run also reads its tables by what the conditions of the query imply of each of
        them, of `r1.amount > 100 and r2.amount = r1.amount` that `r2.amount > 100`, and by the
        least and greatest values of its new rows, where the tables are large. Answers are the same
        either way; `tapestry explain` shows what is implied, and by what. `off`: only by what is
        written.""",
        word=True,
    )
    join_order: tuple[str, ...] = keyed(
        texts("aliases", "[r3, r2, r1]"),
        """In which order a run joins its tables, by their aliases in FROM, like `[r3, r2, r1]`.
        Answers are the same in any order. Without it: first the table in which a run looks for what
        is new, or due, then each time, of those that an equality joins to these, the one of which
        the least is read; `tapestry explain` shows the order. What the list leaves out follows by
        that rule, except that the table with the new rows stays in front unless it is in the list.
        LEFT JOINs to static tables come last in any case.""",
    )


KEYS = KindKeys(tuple(COMMON.values()), ContinuousConfig)
