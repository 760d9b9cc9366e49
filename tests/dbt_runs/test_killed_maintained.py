"""Maintained tables of real `dbt run` processes, killed by SIGKILL at every point, and racing."""

from __future__ import annotations

import pytest
from tests.dbt_runs.test_killed_processes import Project, rows

from tapestry.runs.protocol.crash import CHECKED_POINTS, POINTS

QUERY = """
select p.id, p.ts, count(m.id) as n, sum(m.id) as s, max(m.ts) as newest
from {messages} p left join {messages} m on m.parent = p.id
where p.ts < now() group by p.id, p.ts
"""
MODEL = (
    """
{{ config(materialized='maintained', refresh='incremental', verify='full',
          pre_hook=[var('create', 'select 1'), var('load', 'select 1')],
          expectations=[{'name': 'not_nine', 'expect': 'id <> 9', 'on_violation': 'drop'}]) }}
"""
    + QUERY.format(messages="{{ source('demo', 'messages') }}")
)  # fmt: skip
CHANGES = (
    rows((4, "1", 4), (5, "2", 5)),
    "update demo.messages set parent = 3 where id = 2",
    "delete from demo.messages where id = 4",
    rows((6, "3", 6), (7, "null", 7), (9, "null", 8)),
    "update demo.messages set id = 8 where id = 7",
    "delete from demo.messages where parent is null and id < 3",
    rows((10, "9", 9), (10, "9", 9)),
    "update demo.messages set parent = 3 where id = 10",
)
"""One for every point of a run; with what a killed one left undone, each changes the answer."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(tmp_path_factory.mktemp("killed_maintained"), MODEL)


def agrees(project: Project, second: int) -> None:
    """The table is the answer as of the second, as bags, but for what is rejected."""
    now = f"timestamp'2026-01-01 00:00:{second:02d}'"
    query = QUERY.format(messages="demo.messages").replace("now()", now)
    wanted = f"select * from ({query}) where id is null or id <> 9"
    apart = project.rows(
        f"(select * from demo.old except all {wanted})"
        f" union all ({wanted} except all select * from demo.old)"
    )
    assert apart == []


def test_killed_at_every_point(project: Project) -> None:
    """A killed run, then one to its end, at each point; each brings a change with it."""
    project.run(10, "claimed", rows((1, "null", 0), (2, "1", 1), (3, "1", 2)))
    project.run(10)
    agrees(project, 10)
    points = [*POINTS, *CHECKED_POINTS]
    assert len(points) == len(CHANGES)
    for second, (point, change) in enumerate(zip(points, CHANGES, strict=True), 11):
        project.run(second, point, change)
    project.run(30)
    agrees(project, 30)


def test_every_second_run_ends(project: Project) -> None:
    """After each point a run goes on from what the killed one has left."""
    for number, point in enumerate(POINTS):
        project.run(31 + number, point, rows((20 + number, "3", number)))
        project.run(31 + number)
    agrees(project, 30 + len(POINTS))


def test_two_processes_at_once(project: Project) -> None:
    """One wins; the other ends with ConcurrentRun or goes on after it."""
    project.run(41, load=rows((30, "3", 30), (31, "30", 31)))
    project.race(46, 47)
    project.run(50)
    agrees(project, 50)
