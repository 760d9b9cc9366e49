"""PIVOT where Spark would read something else, or where its names are not certain.

No rows are asked for: every state of a group becomes an answer.
"""

from __future__ import annotations

from tests.sql.advice.case import UNASKED, Case, case

FROM = "select * from (select id, parent, author from messages)"

CASES: tuple[Case, ...] = (
    case(
        "unsupported-clause",
        "select * from messages m join old o on m.id = o.id pivot (max(m.id) for o.id in (1))",
        "select * from (select m.author, m.id, o.id as old from messages m join old o"
        " on m.id = o.id) pivot (max(id) for old in (1 as one))",
        meant=UNASKED,
    ),
    case(
        "odd-pivot",
        f"{FROM} pivot (max(id) for author in ('ann')) as p",
        f"select * from ({FROM} pivot (max(id) for author in ('ann'))) as p",
        meant=UNASKED,
    ),
    case(
        "odd-pivot",
        "select * from messages m pivot (max(id) for m.author in ('ann'))",
        "select * from messages m pivot (max(id) for author in ('ann'))",
        meant=UNASKED,
    ),
    case(
        "odd-pivot",
        f"{FROM} pivot (abs(id) for author in ('ann'))",
        "select parent, avg(id) filter (where author = 'ann') as ann from messages group by parent",
        meant=UNASKED,
    ),
    case(
        "odd-pivot",
        f"{FROM} pivot (max(id) for author in ('ann' as a, 'ann' as b))",
        f"{FROM} pivot (max(id) for author in ('ann' as a))",
        meant=UNASKED,
    ),
    case(
        "odd-pivot",
        "select q.* from (select id, parent, author from messages) q"
        " pivot (max(id) for author in ('ann'))",
        "select parent, ann from (select id, parent, author from messages) q"
        " pivot (max(id) for author in ('ann'))",
        meant=UNASKED,
    ),
    case(
        "odd-pivot",
        "select * from (select id, id / 2 as half from messages) pivot (max(id) for half in (1))",
        "select * from (select id, cast(id / 2 as string) as half from messages)"
        " pivot (max(id) for half in ('1.0'))",
        "select * from (select id, cast(id / 2 as decimal(10, 1)) as half from messages)"
        " pivot (max(id) for half in (1))",
        meant=UNASKED,
    ),
    case(
        "odd-pivot",
        f"{FROM} pivot (count(*) as n, max(crc32(id)) as c for author in ('ann'))",
        f"{FROM} pivot (count(*) as n, cast(max(crc32(id)) as bigint) as c for author in ('ann'))",
        meant=UNASKED,
    ),
    case(
        "odd-pivot",
        f"{FROM} pivot (max(id) for author in (lower('ANN') as ann))",
        f"{FROM} pivot (max(id) for author in ('ann' as ann))",
        meant=UNASKED,
    ),
    case(
        "odd-pivot",
        f"{FROM} pivot (max(id) for author in (1e1))",
        f"{FROM} pivot (max(id) for author in (1e1 as name))",
        meant=UNASKED,
    ),
    case(
        "odd-pivot",
        f"{FROM} pivot (max(id) as top, max(abs(parent)) for author in ('ann'))",
        f"{FROM} pivot (max(id) as top, max(abs(parent)) as name for author in ('ann'))",
        meant=UNASKED,
    ),
)
