"""What DuckDB is told to expect of the models over transfers is Q_M; rewritten, they deliver it."""

from __future__ import annotations

from collections import Counter

import pytest

from tapestry.demo.archive import EXPECTED, Archive
from tapestry.demo.made_up import made_up_transfers
from tapestry.sql import Scan

from .fedwire import MODELS, Target, text_of


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    return made_up_transfers(450, 7, tmp_path_factory.mktemp("archive"))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("at_once", [False, True], ids=["late rows", "at once"])
def test_expected_is_the_union_of_the_static_answers(
    archive: Archive, model: str, at_once: bool
) -> None:
    expected, database = archive.expect(model, at_once=at_once), archive.database
    database.execute("create or replace table due.instants as select distinct arr as s from "
                     f"due.transaction where arr <= timestamptz '{archive.steps[-1]}'")  # fmt: skip
    answer = text_of(model, "(select * from due.transaction x where x.arr <= i.s)")
    wanted = database.execute(
        "from (select * exclude (s), min(s) as _matched_at from"
        f" (select i.s, q.* from due.instants i, lateral ({answer}) q) group by all) order by all"
    ).fetchall()
    assert database.execute(f"from {expected} order by all").fetchall() == wanted
    assert wanted, "a model without an answer proves nothing"


@pytest.mark.parametrize("model", MODELS)
def test_rewritten_models_deliver_it_step_by_step(archive: Archive, model: str) -> None:
    expected = archive.expect(model)
    target = Target(archive.database, model)
    for step, until in enumerate(archive.steps, 1):
        visible = f"(select * from main.transaction where step <= {step})"
        target.run(Scan(visible, "arr", "rid", late=True), until)
    wanted = archive.database.execute(f"from {expected}").fetchall()
    assert Counter(target.rows()) == Counter(wanted)


def test_each_model_has_an_expectation() -> None:
    assert sorted(path.stem for path in (EXPECTED / "transfers").glob("*.sql")) == MODELS


def test_some_transfers_are_late(archive: Archive) -> None:
    assert sum(archive.late_rows(step) for step in range(1, len(archive.steps) + 1)) > 0
