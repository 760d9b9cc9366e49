"""No plain "continuous" for a query whose answers can end, and none of it where none can."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.advise.made import made, of

from tapestry.advise.records import CONTINUOUS, Survey

TABLES = """
sources:
  - name: s
    tables:
      - name: i
        columns: [{name: id, data_type: bigint}, {name: k, data_type: bigint},
                  {name: n, data_type: bigint}, {name: ts, data_type: timestamp}]
      - name: j
        columns: [{name: id, data_type: bigint}, {name: k, data_type: bigint},
                  {name: n, data_type: bigint}, {name: ts, data_type: timestamp}]
      - name: d
        config: {meta: {arrival: static}}
        columns: [{name: k, data_type: bigint}, {name: v, data_type: bigint}]
"""
RANKED = "select id, k, row_number() over (partition by k order by ts desc) as rn from s.i"
ENDING = {
    "select id from s.i qualify row_number() over (partition by k order by ts desc) = 1": (
        "a later row of s.i changes which rows are the first"
    ),
    f"select id, k from ({RANKED}) where rn = 1": "a later row of s.i changes which rows",
    f"with r as ({RANKED}) select r.id, j.n from r join s.j on j.k = r.k where rn = 1": (
        "a later row of s.i changes which rows"
    ),
    "select id from s.i order by ts desc limit 3": "a later row of s.i changes which rows",
    "select id from s.i where not exists (select 1 from s.i as later where later.k = i.k and"
    " later.ts > i.ts)": "a later row of s.i ends some",
    "select id from s.i where k not in (select k from s.j)": "a later row of s.j ends some",
    "select i.id from s.i left join s.j on j.k = i.k where j.k is null": "row of s.j ends some",
    "select i.id, j.n from s.i left join s.j on j.k = i.k": "a later row of s.j ends some",
    "select i.id, j.n from s.i right join s.j on j.k = i.k": "a later row of s.i ends some",
    "select i.id, j.n from s.i full join s.j on j.k = i.k": "a later row of s.j, s.i ends some",
    "select d.v, i.n from s.d left join s.i on i.k = d.k": "a later row of s.i ends some",
    "select i.id, a.n, b.n as m, c.n as o from s.i left join s.j a on a.k = i.k"
    " left join s.j b on b.n = i.k left join s.j c on c.id = i.k": "a later row of s.j ends some",
    "select k from s.i except select k from s.j": "a later row of s.j ends some",
    "select id from s.i where ts > now() - interval 7 days": "ends some by time",
    "select id from s.i where k in (select k from s.j where now() < ts + interval 1 day)": (
        "ends some by time"
    ),
    "select k, count(*) as c from s.i group by k": "every value that c ever had",
    "select i.id, (select max(j.n) from s.j where j.k = i.k) as m from s.i": (
        "every value that m ever had"
    ),
    "select id, lag(n) over (partition by k order by ts) as m from s.i": (
        "every value that m ever had"
    ),
    "select k, n, min(id) as first from s.i group by k, n": "every value that first ever had",
    "select k from s.i group by k having sum(n) > 3": "or a total or rank that is asked for",
    "select k from s.i group by k having count(*) < 3": "or a total or rank that is asked for",
    "select current_date() as day, id, n from s.i": "only if day is to tell when a row first",
    "select day, id from (select current_date() as day, id, n from s.i group by 1, 2, 3)": (
        "only if day is to tell when a row first was an answer"
    ),
    f"select id, k from ({RANKED.replace('s.i', 's.i where ts < now() - interval 2 days')})"
    " where rn = 1": "a later row of s.i changes which rows are the first",
    "select k, sum(n) as c from s.i group by k having now() > max(ts) + interval 2 days": (
        "comes to a group that time has closed"
    ),
}
LASTING = (
    "select id, n from s.i where n > 3",
    "select i.id, j.n from s.i join s.j on j.k = i.k",
    "select id from s.i where exists (select 1 from s.j where j.k = i.k)",
    "select id from s.i where now() >= ts + interval 7 days",
    "select distinct k from s.i",
    "select k from s.i group by k",
    "select k, n from s.i union select k, n from s.j",
    "select k from s.i intersect select k from s.j",
    "select i.id, d.v from s.i left join s.d on d.k = i.k",
    "select i.id from s.i left join s.d on d.k = i.k where d.k is null",
    "select id from s.i where k not in (select k from s.d)",
    "select k from s.i except select k from s.d",
    "select k from s.i group by k having count(*) > 3 and max(n) >= 2",
    "select min(ts) as first from s.i",
    "select k, n, min(ts) as first from s.i group by k, n",
    "select i.id, x.c from s.i join (select k, sum(v) as c from s.d group by k) x on x.k = i.k",
    "select id from s.i where n > (select max(v) from s.d)",
)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    """All of them in one project, with no key and no table of today: nothing else to say."""
    texts = [*ENDING, *LASTING]
    files = {
        f"models/q{place}.sql": "{{ config(materialized='incremental') }} " + text
        for place, text in enumerate(texts)
    }
    return made(tmp_path_factory.mktemp("endings"), {**files, "models/s.yml": TABLES})


@pytest.mark.parametrize(("place", "told"), enumerate(ENDING.values()))
def test_what_can_end_is_told(found: Survey, place: int, told: str) -> None:
    said = of(found, f"q{place}")
    assert (said.kind, len(said.conditions)) == (CONTINUOUS, 1), said
    assert told in said.conditions[0]


@pytest.mark.parametrize("place", range(len(ENDING), len(ENDING) + len(LASTING)))
def test_what_cannot_end_is_plain(found: Survey, place: int) -> None:
    said = of(found, f"q{place}")
    assert (said.kind, said.conditions) == (CONTINUOUS, ()), said


def test_what_is_made_of_versions_is_told(tmp_path: Path) -> None:
    """Through a view, too; and of parents that nobody judged."""
    made_of = "{{ config(materialized='incremental') }} select "
    keyed = "{{ config(materialized='incremental', unique_key='id') }} "
    files = {
        "models/s.yml": TABLES,
        "models/versions.sql": keyed + "select id, k, n, ts from s.i",
        "models/plain.sql": made_of + "id, k, n, ts from s.i",
        "models/shown.sql": "select * from {{ ref('versions') }}",
        "models/odd.sql": "{{ nobody() }}",
        "models/replaced.sql": keyed + "select id, mode(n) as n from s.i group by id",
        "models/total.sql": made_of + "count(distinct id) as c from {{ ref('shown') }}",
        "models/joined.sql": made_of + "i.id from s.i join {{ ref('versions') }} v on v.id = i.id",
        "models/after.sql": made_of + "id from {{ ref('joined') }}",
        "models/right.sql": made_of + "id from {{ ref('plain') }}",
        "models/of_odd.sql": made_of + "count(*) as c from {{ ref('odd') }}",
        "models/of_none.sql": made_of + "id from {{ ref('elsewhere') }}",
        "models/of_replaced.sql": made_of + "id from {{ ref('replaced') }}",
        "models/of_closed.sql": made_of + "id from {{ ref('closed') }}",
        "snapshots/closed.sql": "{% snapshot closed %} select * from s.i {% endsnapshot %}",
    }
    found = made(tmp_path, files)
    told = {name: " / ".join(of(found, name).conditions) for name in ("total", "joined", "after")}
    kept = "once it is continuous, keeps rows that are no answers any more"
    assert f"ref.versions, {kept}" in told["total"]
    assert "added up or ranked here takes them all" in told["total"]
    assert f"ref.versions, {kept}, and so does this" in told["joined"]
    assert f"ref.joined, {kept}, and so does this" in told["after"]
    assert of(found, "right").conditions == ()
    assert "ref.odd was not judged" in of(found, "of_odd").conditions[1]
    assert "takes them all" in of(found, "of_odd").conditions[1]
    assert "ref.elsewhere was not judged" in of(found, "of_none").conditions[0]
    assert "ref.replaced stays an incremental model" in of(found, "of_replaced").conditions[0]
    assert "ref.closed is a snapshot" in of(found, "of_closed").conditions[0]
