"""`tapestry advise` tells where a maintained model keeps the answer as it is now."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.advise.made import made, model, of

from tapestry.advise.judge import GOES
from tapestry.advise.records import CONTINUOUS, MAINTAINED, REBUILT
from tapestry.cli.advise_view import details, in_order, kind_text, summary, why_text

GROUPS = "select customer, mode(amount) as usual from {{ ref('orders') }} group by customer"
TOTALS = "select customer, sum(cast(amount as decimal(9, 2))) as total from s.t group by customer"


def _config(said: str) -> str:
    return "{{ config(" + said + ") }} "


@pytest.mark.parametrize(
    ("config", "sql", "kind", "text"),
    [
        ("materialized='table'", GROUPS, MAINTAINED, "maintained"),
        ("materialized='incremental', unique_key='customer'", GROUPS, MAINTAINED, "maintained, if"),
        ("materialized='incremental'", GROUPS, REBUILT, "table (rebuilt by each run)"),
        ("materialized='table'", "select mode(a) as a from s.t", REBUILT,
         "table (rebuilt by each run)"),
        ("materialized='table'", "select rand() as a, b from s.t", REBUILT,
         "table (rebuilt by each run)"),
    ],
)  # fmt: skip
def test_a_query_that_only_a_maintained_model_keeps(
    tmp_path: Path, config: str, sql: str, kind: str, text: str
) -> None:
    said = model(tmp_path, _config(config) + sql)
    assert (said.kind, kind_text(said)) == (kind, text)
    assert said.code
    assert (GOES in said.conditions) is text.endswith("if")
    changed = f"materialized='maintained' instead of '{said.today}'"
    assert (changed in said.changes) is (kind == MAINTAINED)
    assert said.reason in why_text(said)


def test_a_table_s_totals_are_continuous_under_a_condition_or_maintained(tmp_path: Path) -> None:
    files = {
        "models/totals.sql": _config("materialized='table'") + TOTALS,
        "models/groups.sql": _config("materialized='table'") + GROUPS,
        "models/added.sql": _config("materialized='incremental'") + TOTALS,
    }
    found = made(tmp_path, files)
    totals, added = of(found, "totals"), of(found, "added")
    assert (totals.kind, totals.also, added.also) == (CONTINUOUS, MAINTAINED, "")
    assert any("or materialized='maintained'" in line for line in details(totals))
    assert (found.counts["maintained"], found.counts["also_maintained"]) == (1, 1)
    assert found.reasons == {}  # none is left a table
    lines = "\n".join(summary(found))
    assert "1 of these can be maintained instead" in lines
    assert "1 can be maintained: the answer as it is now" in lines
    assert [one.kind for one in in_order(found)] == [CONTINUOUS, CONTINUOUS, MAINTAINED]
