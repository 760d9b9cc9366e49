"""Values without an order: maps, first values."""

from __future__ import annotations

from tests.sql.advice.case import UNASKED, Case, Way, case

from tapestry.sql import Column

MAPPED = (Column("id", "int"), Column("tags", "map<string,int>"), Column("ts", "timestamp"))
CASES: tuple[Case, ...] = (
    case(
        "uncompared",
        Way(
            "select tags, count(*) over (partition by id) as n from mapped",
            columns={"mapped": MAPPED},
        ),
        Way(
            "select sort_array(map_entries(tags)) as tags, count(*) over (partition by id) as n"
            " from mapped",
            columns={"mapped": MAPPED},
        ),
        Way(
            "select to_json(tags) as tags, count(*) over (partition by id) as n from mapped",
            columns={"mapped": MAPPED},
        ),
        meant=UNASKED,
    ),
    case(
        "uncompared",
        Way("select id, max(tags) as tags from mapped group by id", columns={"mapped": MAPPED}),
        Way(
            "select id, max(sort_array(map_entries(tags))) as tags from mapped group by id",
            columns={"mapped": MAPPED},
        ),
        Way(
            "select id, max(to_json(tags)) as tags from mapped group by id",
            columns={"mapped": MAPPED},
        ),
        meant=UNASKED,
    ),
    case(
        "no-order",
        Way("select id, max_by(tags, ts) as x from mapped group by id", columns={"mapped": MAPPED}),
        Way(
            "select id, max_by(to_json(tags), ts) as x from mapped group by id",
            columns={"mapped": MAPPED},
        ),
        meant=UNASKED,
    ),
    case(
        "no-order",
        "select author, first(id) as x from messages group by author",
        "select author, any_value(id) as x from messages group by author",
        "select author, min_by(id, ts) as x from messages group by author",
        meant=UNASKED,
    ),
)
