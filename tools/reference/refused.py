"""docs/reference/refused.md: what a continuous model may not ask, why, and what to write instead.

Each message is what the rewriting says when the page is written; what stands under "instead" is
rewritten, too.  The known gaps stand below.  A query that is no longer refused, or a way out that
is none, stops the writing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.reference.gaps import section

from tapestry.errors import Refusal
from tapestry.sql import Catalog, Column, Source, rewrite

TEXT = """\
# Queries that are refused, and known gaps

<!-- written by tools/reference from the code: `make reference` -->

A run of a continuous model computes the exact answers of its query. If it cannot, it refuses the
query before it reads any data. This page shows the message for each kind of query, and what to
write instead. `tapestry explain --sql "…"` tests another query. [Limitations](limitations/index.md)
lists everything else that is not supported.

The word in brackets after the first line is the code of the refusal. It stays the same if the
wording changes. [Errors](errors.md#refusal) lists all codes.

You can still use a refused query in an ordinary model (`table`, `view`) that reads a continuous
one.
"""
ORDERS = ("id bigint", "customer string", "amount bigint", "due timestamp", "ts timestamp")
PAYMENTS = ("order_id bigint", "amount bigint", "ts timestamp")


def _source(name: str, columns: tuple[str, ...]) -> Source:
    typed = tuple(Column(*column.split(" ")) for column in columns)
    return Source(name, typed, "ts" if "ts timestamp" in columns else None)


CATALOG = Catalog(
    {
        "orders": _source("orders", ORDERS),
        "payments": _source("payments", PAYMENTS),
        "countries": _source("countries", ("code string", "name string")),
        "late_orders": Source(
            "late_orders",
            (Column("id", "bigint"), Column("_matched_at", "timestamp")),
            "_matched_at",
        ),
    }
)


@dataclass(frozen=True)
class Case:
    """A refused query and a way out: words, and where there is one a query that works."""

    title: str
    query: str
    instead: str
    works: str = ""


CASES = (
    Case(
        "A sum of DOUBLEs",
        "select customer, sum(amount / 2) as total from orders group by customer",
        "Spark adds the values in no fixed order, so the last digits vary. A DECIMAL is exact:",
        "select customer, sum(cast(amount / 2 as decimal(38, 6))) as total from orders"
        " group by customer",
    ),
    Case(
        "A list without an order",
        "select customer, collect_list(id) as ids from orders group by customer",
        "Give it an order:",
        "select customer, sort_array(collect_list(id)) as ids from orders group by customer",
    ),
    Case(
        "The first of a group",
        "select customer, first(amount) as first_one from orders group by customer",
        "Rows have no order. Name the column that decides which one is the first:",
        "select customer, min_by(amount, ts) as first_one from orders group by customer",
    ),
    Case(
        "PIVOT followed by a name",
        "select p.ann from (select customer, amount from orders)"
        " pivot (sum(amount) for customer in ('ann')) as p",
        "Spark does not read it. Put it into a derived table:",
        "select p.ann from (select * from (select customer, amount from orders)"
        " pivot (sum(amount) for customer in ('ann'))) as p",
    ),
    Case(
        "The hour of now()",
        "select id from orders where hour(now()) = 9",
        "This condition holds again every day. Compare with an instant, here nine o'clock on the"
        " next day:",
        "select id from orders where now() >= date_trunc('day', ts) + interval 33 hours",
    ),
    Case(
        "Months taken from now()",
        "select id from orders where now() - interval 1 month > ts",
        "Months have different lengths. Add the month to the data instead:",
        "select id from orders where now() > ts + interval 1 month",
    ),
    Case(
        "Random numbers",
        "select id from orders where rand() < 0.1",
        "Compute the value from the data, so that it is the same each time:",
        "select id from orders where pmod(hash(id), 10) = 0",
    ),
    Case(
        "A subquery with several rows as a value",
        "select id, (select p.amount from payments p where p.order_id = o.id) as paid"
        " from orders o",
        "Use an aggregate, which always returns one value:",
        "select id, (select max(p.amount) from payments p where p.order_id = o.id) as paid"
        " from orders o",
    ),
    Case(
        "select * over a continuous model",
        "select * from late_orders",
        "The model already has a column `_matched_at`. List the columns, and rename this one:",
        "select id, _matched_at as late_since from late_orders",
    ),
    Case(
        "Only look-up tables",
        "select code from countries",
        "No rows arrive in look-up tables. Use a `table` or a `view`.",
    ),
    Case(
        "A generator over several tables",
        "select explode(array(o.id, p.order_id)) as x from orders o join payments p"
        " on p.order_id = o.id",
        "Compute it upstream, in a table that keeps the arrival column. A view is not enough,"
        " because its text is inlined.",
    ),
)


def page(root: Path) -> str:
    """The page as Markdown.

    Raises ValueError for a case that is none any more.
    """
    return "\n".join([TEXT, *(line for case in CASES for line in _lines(case)), section(root)])


def _lines(case: Case) -> Iterator[str]:
    yield f"## {case.title}\n"
    yield f"<!-- not run: {HOW} -->\n```sql\n{_spread(case.query)}\n```\n"
    yield f"<!-- output -->\n```text\n{_message(case)}\n```\n"
    yield f"{case.instead}\n"
    if case.works:
        rewrite(case.works, CATALOG)
        yield f"<!-- not run: {HOW} -->\n```sql\n{_spread(case.works)}\n```\n"


HOW = "the program that writes this page rewrites it"


def _message(case: Case) -> str:
    try:
        rewrite(case.query, CATALOG)
    except Refusal as refusal:
        return str(refusal)
    raise ValueError(f"{case.title}: this is not refused any more: {case.query}")


def _spread(query: str) -> str:
    for word in (" from ", " where ", " group by ", " except "):
        head, found, rest = query.partition(word)
        query = head + found.replace(" ", "\n", 1) + rest
    return query
