"""Tables in memory (tests/runs/fake_delta.py) behave as Delta's: the same statements to both.

Each scenario is led twice, on Spark and without, and what a run reads there after every step must
be the same: the log's commits, the table's generation, the rows of the state, the kind of an error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from tests.runs.fake_delta import FakeDelta
from tests.runs.fake_session import FakeSession
from tests.runs.state_rows import ROW, other
from tests.spark import run_world

from tapestry.quoting import relation_name, timestamp
from tapestry.runs.engine import errors_of_delta
from tapestry.runs.engine.column_types import columns_of_table
from tapestry.runs.engine.own_tables import create_own, exists, widen_own
from tapestry.runs.kinds.registry import parse_config
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.commit import close, publish
from tapestry.runs.protocol.writing import (
    append_sql,
    closing_sql,
    create_sql,
    name_generation_sql,
    rewind_sql,
)
from tapestry.runs.sources.pins import Pin
from tapestry.runs.tables.state import claim, compact, mark_failed, read_states, runs_of
from tapestry.runs.tables.state_row import COLUMNS, StateRow
from tapestry.runs.tables.target import (
    Commit,
    Written,
    commits_after,
    generation_in,
    look,
    newest_commits,
)

pytestmark = pytest.mark.gate

KINDS = (
    errors_of_delta.not_found,
    errors_of_delta.is_view,
    errors_of_delta.files_gone,
    errors_of_delta.lost_race,
    errors_of_delta.already_exists,
    errors_of_delta.lacks_column,
    errors_of_delta.has_column,
    errors_of_delta.leftover,
)
"""What production tells of an error."""


def at(second: int) -> datetime:
    """An instant of the day on which the rows of the scenarios are."""
    return datetime(2026, 1, 1, 0, 0, second, tzinfo=timezone.utc)


def values(*seconds: int) -> str:
    """A query of rows that are answers from these seconds on."""
    rows = ", ".join(f"({second}, {timestamp(at(second))})" for second in seconds)
    return f"SELECT * FROM VALUES {rows} AS v(id, _matched_at)"


class Side:
    """One of the two engines, and what was seen of it."""

    def __init__(self, session: Any, schema: str, delta: FakeDelta | None = None) -> None:
        self.session, self.delta = session, delta
        self.target, self.state = f"{schema}.target", f"{schema}.tapestry_state"
        self.model = Model(
            "target", self.target, "q", parse_config("continuous", {"verify": "off"}), {}, "m.sql"
        )
        first = other(ROW, model=self.target, target=Pin("id", -1), failed=(), continues="")
        self.first = other(first, n=1, run_id="r1", tau=None, t=at(10))
        self.second = other(first, n=2, run_id="r2", tau=at(10), t=at(20), target=Pin("id", 0))
        self.watched = [self.target]
        self.seen: list[Any] = []
        self.ids: list[str] = []

    def does(self, act: Callable[[], object]) -> None:
        """Do something, and note what came of it and how the tables look after that."""
        try:
            done = act()
        except Exception as error:
            done = [kind.__name__ for kind in KINDS if kind(error)] or str(error)
        self.seen.append(("done", done))
        for name in self.watched:
            self.seen.append(self.look_at(name))

    def look_at(self, name: str) -> Any:
        """What a run reads of a table."""
        try:
            there = look(self.session, name)
            if there is None:
                return None
            if there.table_id not in self.ids:
                self.ids.append(there.table_id)
            known = self.ids.index(there.table_id)
            commits = newest_commits(self.session, name)
            return known, there.generation, [_as_read(one) for one in commits]
        except Exception as error:
            return [kind.__name__ for kind in KINDS if kind(error)] or str(error)

    def states(self) -> Any:
        """The state as runs read it; an instant of the clock is one."""
        found = read_states(self.session, self.state)
        return found and {name: _timeless(row) for name, row in found.items()}

    def sends(self, sql: str) -> None:
        """A statement, on its own."""
        self.does(lambda: self.session.run(sql))

    def creates(self, generation: str = "g", replaces: bool = False) -> None:
        """The first run."""
        self.sends(create_sql(self.model, generation, values(1, 2, 3), replaces, self.state))

    # What people do.

    def forget(self, name: str) -> None:
        if self.delta is None:
            run_world.forget(self.session, name)
        else:
            self.delta.forget(name)

    def delete_folder(self, name: str) -> None:
        if self.delta is None:
            run_world.delete_folder(self.session, name)
        else:
            self.delta.delete_folder(name)

    def clone(self, name: str, copy: str) -> None:
        if self.delta is None:
            self.session.run(f"create table {copy} shallow clone {name}")
        else:
            self.delta.clone(name, copy)

    def restore(self, name: str, version: int) -> None:
        if self.delta is None:
            self.session.run(f"restore table {name} to version as of {version}")
        else:
            self.delta.restore(name, version)

    def folder(self, name: str) -> str:
        ((_, _, _, _, location, *_),) = self.session.rows(f"DESCRIBE DETAIL {relation_name(name)}")
        return str(location).removeprefix("file:")

    def clean_up(self, name: str, keep: int) -> None:
        """The log tells of its last commits only."""
        if self.delta is not None:
            self.delta.clean_up(name, keep)
            return
        log = Path(self.folder(name)) / "_delta_log"
        for version in range(newest_commits(self.session, name)[0].version + 1 - keep):
            (log / f"{version:020d}.json").unlink()


def _as_read(one: Commit) -> Commit:
    """A commit without what no run asks of it: a rewind counts rows that stay in their files."""
    return replace(one, written=Written(None if one.successor else one.written.rows))


def _timeless(row: Any) -> Any:
    assert isinstance(row, StateRow), row
    return row if row.failed_at is None else replace(row, failed_at=at(0))


def runs_and_repetitions(side: Side) -> None:
    """Creation, append; a number that has landed, and a lower one, are skipped in silence."""
    side.sends(create_sql(side.model, "g", values(1, 2, 3), False, side.state))
    side.creates()  # there is such a table
    names = ["id", "_matched_at"]
    side.sends(append_sql(side.second, names, values(11, 12)))
    side.sends(append_sql(other(side.second, run_id="slow"), names, values(13)))
    third = other(side.second, n=3, run_id="r3", tau=at(20), t=at(30))
    side.sends(append_sql(third, names, f"{values(22)} WHERE false", attempt="a"))
    side.sends(append_sql(side.second, names, values(11, 12)))
    side.sends(append_sql(third, ["id", "lacking"], values(22)))
    asked = f"SELECT count(*) FROM {relation_name(side.target)} WHERE _matched_at > "
    side.seen.append(side.session.rows(asked + timestamp(at(11))))
    side.seen.append(columns_of_table(side.session, side.target))
    side.does(lambda: len(commits_after(side.session, side.target, 0)))


def a_closed_run(side: Side) -> None:
    """Its n is used up, its row is marked; what is closed lets nothing of it land."""
    side.does(lambda: claim(side.session, side.state, side.first))
    side.creates()
    side.does(lambda: claim(side.session, side.state, side.second))
    side.does(lambda: close(side.session, side.state, side.second, 2))
    side.seen.append(side.states())
    side.sends(append_sql(side.second, ["id", "_matched_at"], values(11)))


def a_refresh(side: Side) -> None:
    """The old generation is closed, the table replaced: its log goes on, transactions stay."""
    side.creates()
    side.sends(closing_sql(side.target, 2, "g", "r9"))
    side.sends(append_sql(side.second, ["id", "_matched_at"], values(11)))
    side.creates("h", replaces=True)
    side.sends(append_sql(side.second, ["id", "_matched_at"], values(11)))
    after = other(side.second, generation="h")
    side.sends(append_sql(after, ["id", "_matched_at"], values(11)))


def a_rewind(side: Side) -> None:
    """Answers after T are forgotten under the last number of the generation."""
    side.creates()
    back = other(side.first, generation="h", continues="g", run_id="r9", t=at(2))
    after = f"`_matched_at` > {timestamp(back.after.t)}"
    side.sends(rewind_sql(back, 2, after))
    side.sends(rewind_sql(other(back, generation="i"), 2, after))
    side.sends(append_sql(side.second, ["id", "_matched_at"], values(11)))
    side.sends(name_generation_sql(side.target, "h"))
    rows = f"SELECT id FROM {relation_name(side.target)} WHERE id > 0"
    side.seen.append(sorted(side.session.rows(rows)))


def claims(side: Side) -> None:
    """The state table is made by who comes first; of an n one row stands."""
    side.watched = [side.state]
    side.does(lambda: claim(side.session, side.state, side.first))
    side.does(lambda: claim(side.session, side.state, side.second))
    side.does(lambda: claim(side.session, side.state, other(side.second, run_id="slow")))
    side.does(lambda: claim(side.session, side.state, side.second))
    side.does(lambda: claim(side.session, side.state, other(side.second, generation="h")))
    side.seen.append(side.states())
    mark_failed(side.session, side.state, side.second)
    side.seen.append([_timeless(run) for run in runs_of(side.session, side.state, "g")])
    mark_failed(side.session, side.state, side.second, failed=False)
    side.seen.append(side.states())
    third = other(side.second, n=3, run_id="r3")
    claim(side.session, side.state, third)
    compact(side.session, side.state, third, keep=0)
    side.seen.append(runs_of(side.session, side.state, "g"))


def a_state_of_an_earlier_version(side: Side) -> None:
    """Columns that it lacks are added; those that are there by now are no error."""
    side.watched = [side.state]
    kept = dict(list(COLUMNS.items())[:14])
    side.does(lambda: create_own(side.session, side.state, kept, "old"))
    side.does(side.states)
    side.does(lambda: claim(side.session, side.state, side.first))
    side.sends(f"ALTER TABLE {relation_name(side.state)} ADD COLUMNS (seal string)")
    side.does(lambda: widen_own(side.session, side.state, COLUMNS))
    side.seen.append(side.states())


def tables_that_are_not_there(side: Side) -> None:
    """Nothing, a view, an entry without a folder, a folder without an entry."""
    side.seen.append(exists(side.session, side.target))
    side.does(side.states)
    side.does(lambda: claim(side.session, side.state, side.second))
    side.creates()
    side.seen.append(exists(side.session, side.target))
    folder = side.folder(side.target)
    side.does(lambda: generation_in(side.session, folder))
    side.does(lambda: generation_in(side.session, f"{folder}_nowhere"))
    side.does(lambda: side.forget(side.target))
    side.creates()  # what lies in the folder is told by name
    side.does(lambda: side.creates("h", replaces=True))
    side.does(lambda: side.delete_folder(side.target))
    side.sends(append_sql(side.second, ["id", "_matched_at"], values(11)))
    side.sends(f"DROP TABLE IF EXISTS {relation_name(side.target)}")


def a_first_run_killed_before_the_catalog_knew(side: Side) -> None:
    """Its files are nobody's, and are written over."""
    claim(side.session, side.state, side.first)
    side.creates()
    side.forget(side.target)
    again = other(side.first, generation="h")
    claim(side.session, side.state, again)
    sql = create_sql(side.model, "h", values(1, 2), False, side.state)
    side.does(lambda: publish(side.session, again, sql, side.state))


def the_folder_of_the_state_deleted(side: Side) -> None:
    """Its entry has no columns; a first run makes it anew."""
    side.watched = [side.state]
    claim(side.session, side.state, side.first)
    side.does(lambda: side.delete_folder(side.state))
    side.does(side.states)
    side.does(lambda: claim(side.session, side.state, side.second))
    side.does(lambda: claim(side.session, side.state, other(side.first, generation="h")))
    side.seen.append(side.states())


def copies_and_the_way_back(side: Side) -> None:
    """A clone has the properties and a log of its own; a restored table keeps its log."""
    side.creates()
    side.sends(append_sql(side.second, ["id", "_matched_at"], values(11, 12)))
    side.does(lambda: side.restore(side.target, 0))
    side.does(lambda: side.clone(side.target, f"{side.target}_copy"))
    side.sends(f"DROP TABLE IF EXISTS {relation_name(side.target)}")
    side.does(lambda: side.clone(f"{side.target}_copy", side.target))


SCENARIOS = (
    runs_and_repetitions,
    a_closed_run,
    a_refresh,
    a_rewind,
    claims,
    a_state_of_an_earlier_version,
    tables_that_are_not_there,
    a_first_run_killed_before_the_catalog_knew,
    the_folder_of_the_state_deleted,
    copies_and_the_way_back,
)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_delta_and_the_tables_in_memory(
    session: Any, schema: str, scenario: Callable[[Side], None]
) -> None:
    delta = FakeDelta()
    here, there = Side(session, schema), Side(FakeSession(delta), schema, delta)
    for side in (here, there):
        scenario(side)
    assert there.seen == here.seen


def test_a_log_that_was_cleaned_up(session: Any, schema: str) -> None:
    """A checkpoint of each commit, so that the log can be cut anywhere."""
    delta = FakeDelta()
    here, there = Side(session, schema), Side(FakeSession(delta), schema, delta)
    for side in (here, there):
        side.creates()
        for setting in ("'delta.checkpointInterval' = '1'", "'n' = '2'", "'n' = '3'"):
            side.sends(f"ALTER TABLE {relation_name(side.target)} SET TBLPROPERTIES ({setting})")
        side.clean_up(side.target, 1)
        side.does(lambda side=side: len(newest_commits(side.session, side.target)))
    assert there.seen == here.seen
