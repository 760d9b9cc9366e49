"""The demonstration from end to end, small: two runs, late rows, then DuckDB's comparison."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tapestry.demo.__main__ import TRANSFERS
from tapestry.demo.check import check
from tapestry.demo.made_up import made_up_transfers
from tapestry.demo.play import Player

from .archives import ROOT, small_archive

pytestmark = pytest.mark.spark

MODELS = ("q3_replied_in_list", "q4_unanswered")


@pytest.fixture
def player(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Player]:
    warehouse = {"spark.sql.warehouse.dir": str(tmp_path / "warehouse")}
    schema = f"demo_{uuid.uuid4().hex[:8]}"
    models = getattr(request, "param", MODELS)
    player = Player(ROOT, tmp_path, models, settings=warehouse, schema=schema)
    yield player
    for name in (player.schema, player.at_once_schema):
        player.session.run(f"drop schema if exists {name} cascade")


def test_a_played_archive_ends_as_duckdb_says(player: Player, tmp_path: Path) -> None:
    archive = small_archive(tmp_path, steps=3)
    played = list(player.play(archive))
    assert sum(step.late for step in played) > 0
    checked = list(check(player, archive))
    assert [one for one in checked if not one.equal] == []
    for one in checked:
        assert one.expected == one.rejected + sum(step.new[one.model] for step in played) > 0
    assert [one.rejected > 0 for one in checked] == [False, True]  # messages without author


def test_one_run_over_everything_ends_as_duckdb_says(player: Player, tmp_path: Path) -> None:
    archive = small_archive(tmp_path, steps=3)
    player.play_at_once(archive)
    assert all(one.equal and one.expected for one in check(player, archive, at_once=True))


@pytest.mark.parametrize("player", [TRANSFERS], indirect=True)
def test_the_models_over_transfers_end_as_duckdb_says(player: Player, tmp_path: Path) -> None:
    archive = made_up_transfers(450, 3, tmp_path)
    played = list(player.play(archive))
    assert sum(step.late for step in played) > 0
    for one in check(player, archive):
        assert one.equal
        assert one.expected == sum(step.new[one.model] for step in played) > 0
    player.play_at_once(archive)
    assert all(one.equal and one.expected for one in check(player, archive, at_once=True))
