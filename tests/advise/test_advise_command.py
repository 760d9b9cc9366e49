"""The command: counts first, a line a model, everything as JSON."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import Result
from tests.advise.made import made
from tests.command import tapestry

FILES = {
    "models/fits.sql": "{{ config(materialized='incremental') }} select id, loaded_at from s.t",
    "models/sums.sql": "{{ config(materialized='table') }} select mode(id) as n from s.t",
    "models/staged.sql": "select * from s.t",
    "models/odd.sql": "{{ nobody() }}",
}


def run(*arguments: str) -> Result:
    return tapestry("advise", *arguments)


def test_the_counts_come_first(tmp_path: Path) -> None:
    made(tmp_path, FILES)
    shown = run(str(tmp_path)).output
    assert shown.startswith("shop: 4 models, read as spark\n      1 can be continuous\n")
    assert "1 cannot: table (rebuilt by each run)" in shown
    assert "1 no-order: mode() depends on the order" in shown
    assert "1 stay what they are" in shown
    assert "1 could not be judged" in shown


def test_verbose_has_the_way_out(tmp_path: Path) -> None:
    made(tmp_path, FILES)
    shown = run(str(tmp_path), "--verbose").output
    assert "do: rank the values by count(*)" in shown
    assert "arrival: s.t: loaded_at (by its name; say so if rows arrive by another one)" in shown


def test_everything_as_json(tmp_path: Path) -> None:
    made(tmp_path, FILES)
    found = json.loads(run(str(tmp_path), "--json").output)
    assert found["counts"]["models"] == 4
    assert found["reasons"] == {"no-order": 1}
    assert {one["name"]: one["kind"] for one in found["models"]} == {
        **{"fits": "continuous", "sums": "table", "staged": "view", "odd": "unread"}
    }
    assert found["columns_taken"] == {"s.t": {"id": "string", "loaded_at": "timestamp"}}


def test_a_folder_without_sql_and_an_unknown_dialect(tmp_path: Path) -> None:
    assert "there are no SQL files" in str(run(str(tmp_path)).exception)
    assert "snowflak is no SQL dialect" in str(
        run(str(tmp_path), "--dialect", "snowflak").exception
    )
