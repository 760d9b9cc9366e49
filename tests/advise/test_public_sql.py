"""The numbers of `python -m benchmarks.public_sql`: counts and times, none of the SQL."""

from __future__ import annotations

from pathlib import Path

from benchmarks.public_sql import measured, rows
from tests.advise.made import made


def test_the_numbers_of_a_project(tmp_path: Path) -> None:
    files = {
        "models/a.sql": "{{ config(materialized='incremental') }} select secret from s.t",
        "models/b.sql": "{{ config(materialized='incremental') }} select mode(n) as n from s.t",
        "models/c.sql": "{{ config(materialized='table') }} select mode(n) as n from s.t",
        "models/d.sql": "{{ nobody() }}",
    }
    numbers = measured(made(tmp_path, files))
    assert "secret" not in str(numbers)
    assert numbers["rewriting"]["tried"] == 3
    assert 0 < numbers["rewriting"]["longest_seconds"] <= numbers["rewriting"]["seconds"]
    assert rows(numbers) == [
        ["models", "4", "2"],
        ["continuous", "1", "1"],
        ["continuous_if", "0", "0"],
        ["unread", "1", "0"],
        ["refused: no-order", "2", "1"],
    ]
