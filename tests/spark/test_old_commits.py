"""Sources whose last commit is older than Delta keeps deleted files: right, or an error that helps.

Delta refuses to read a version that is not the newest once its commit is older than
``delta.deletedFileRetentionDuration``, vacuumed or not, on a server that forbids our sessions to
say otherwise. Commits are made old by their files' times, by which Delta tells how old a commit is.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.killed import killed_at
from tests.spark.run_world import ALL, World, at, literal, make_old

from tapestry.errors import SourceHistoryGone, SourceRewritten, TapestryError
from tapestry.runs.kinds.continuous.after.audit import audit
from tapestry.runs.kinds.continuous.after.plan_rewind import plan_rewind
from tapestry.runs.kinds.continuous.after.rewind import rewind
from tapestry.runs.sources.too_old import GUARD

NEW = "insert into {m} values (4, 'c', null, {t9})"
LATE = "insert into {m} values (4, 'c', null, {t2})"
SAME = "insert overwrite {m} select * from {m}"
DELETE = "delete from {m} where id = 1"
UPDATE = "update {m} set author = 'z' where id = 1"
FILES = "select distinct _metadata.file_path from {m}"
DAYS_30 = "alter table {m} set tblproperties ('delta.deletedFileRetentionDuration' = '30 days')"
BEFORE = [(1, 0.0), (2, 1.0), (3, 5.0)]
LATELY = 7.000001
CHANGES = {
    NEW: [*BEFORE, (4, 9.0)],
    LATE: [*BEFORE, (4, LATELY)],
    SAME: BEFORE,
    DELETE: BEFORE,
    UPDATE: [(1, 0.0), (1, LATELY), *BEFORE[1:]],
}
"""What somebody does to the source after eight days, and the answers of the run after it."""


def change(world: World, statement: str) -> None:
    m = f"{world.schema}.messages"
    world.session.run(statement.format(m=m, t2=literal(2), t9=literal(9)))


@pytest.fixture
def _refused(session: Any) -> Iterator[None]:
    """Sessions cannot change what the server says of old versions."""
    session.run(f"set {GUARD} = true")
    yield
    session.run(f"set {GUARD} = false")


@pytest.mark.parametrize("statement", CHANGES)
@pytest.mark.parametrize("gone", [False, True])
def test_a_source_that_changes_after_eight_days_is_read_while_its_files_are_there(
    world: World, statement: str, gone: bool
) -> None:
    model = world.model(ALL, on_source_rewrite="deletes_ok")
    world.run(model, 7)
    make_old(world, "messages")
    m = f"{world.schema}.messages"
    before = {file for (file,) in world.session.rows(FILES.format(m=m))}
    change(world, statement)
    for file in before - {file for (file,) in world.session.rows(FILES.format(m=m))}:
        if gone:
            Path(file.removeprefix("file:")).unlink()
    if gone and statement not in (NEW, LATE):
        with pytest.raises(SourceRewritten, match="can no longer be read"):
            world.run(model, 10)
        assert world.answers() == BEFORE
        return
    world.run(model, 10)
    assert world.answers() == CHANGES[statement]


@pytest.mark.usefixtures("_refused")
@pytest.mark.parametrize("statement", CHANGES)
def test_a_source_that_changes_after_eight_days(world: World, statement: str) -> None:
    """Rows that are added need no old version; what rewrites is compared once Delta reads it."""
    model = world.model(ALL, on_source_rewrite="deletes_ok")
    world.run(model, 7)
    make_old(world, "messages")
    change(world, statement)
    if statement not in (NEW, LATE):
        with pytest.raises(SourceRewritten, match="can no longer be read") as refused:
            world.run(model, 10)
        assert "set tblproperties ('delta.deletedFileRetentionDuration'" in refused.value.hint
        assert world.answers() == BEFORE
        change(world, DAYS_30)
    world.run(model, 10)
    assert world.answers() == CHANGES[statement]


@pytest.mark.usefixtures("_refused")
def test_a_run_that_crashed_eight_days_ago(world: World) -> None:
    """Its version is read no more, nothing of it has landed: its window is run anew."""
    model = world.model(ALL, on_source_rewrite="deletes_ok")
    world.run(model, 3)
    change(world, NEW)
    with killed_at("claimed"):
        world.run(model, 10)
    world.recall = type(world.recall)()
    make_old(world, "messages")
    change(world, "insert into {m} values (5, 'd', null, {t9})")
    world.run(model, 20)
    assert world.answers() == [*BEFORE, (4, 9.0), (5, 9.0)]


@pytest.mark.usefixtures("_refused")
def test_verify_and_rewind_over_old_versions(world: World) -> None:
    model = world.model(ALL, on_source_rewrite="deletes_ok")
    world.run(model, 3)
    world.run(model, 7)
    make_old(world, "messages")
    assert all(
        result.status == "pass"
        for result in audit(world.session, model, world.invocation(8), "full").results
    )
    change(world, DELETE)
    with pytest.raises(SourceHistoryGone, match="older than delta") as refused:
        audit(world.session, model, world.invocation(8), "full")
    assert "interval 30 days" in refused.value.hint
    invocation = world.invocation(9)
    planned = plan_rewind(world.session, model, invocation, at(4))
    assert planned is not None
    assert any("can no longer be read" in warning for warning in planned.warnings)
    rewind(world.session, planned, invocation)
    assert world.answers() == BEFORE[:2]
    with pytest.raises(TapestryError, match="can no longer be read"):
        world.run(model, 10)
    change(world, DAYS_30)
    world.run(model, 10)
    assert world.answers() == BEFORE
