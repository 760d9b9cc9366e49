"""``tapestry_queries`` on Delta: names and reasons come back, of many writers none is lost."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from typing import Any

from tests.odd_texts import TEXTS

from tapestry.runs.context.recall import Recall
from tapestry.runs.context.switches import Switches
from tapestry.runs.tables.queries import (
    QueryRow,
    mark_all_on,
    read_queries,
    switch,
    write_queries,
)

SINCE = datetime(2026, 1, 1, 2, 3, 4, 5, timezone.utc)


def test_any_name_and_reason_comes_back(session: Any, schema: str) -> None:
    table = f"{schema}.tapestry_queries"
    rows = [
        QueryRow(f"{schema}.{text or 'x'}", text, -(2**40), SINCE, number % 2 == 0, text[:2000])
        for number, text in enumerate(TEXTS.values())
    ]
    write_queries(session, table, rows)
    assert read_queries(session, table) == {row.model: row for row in rows}
    odd = rows[3]
    session.run(f"INSERT INTO {table} SELECT * FROM {table} WHERE priority = -{2**40}")
    session.run(f"UPDATE {table} SET active = NULL, since = NULL WHERE id = ''")
    found = read_queries(session, table)
    assert sum(not isinstance(row, QueryRow) for row in found.values()) == 1
    switch(session, table, odd)
    assert read_queries(session, table)[odd.model] == odd


def test_of_many_writers_none_is_lost(session: Any, schema: str) -> None:
    """Runs that come first all at once, while the operator switches off what they write."""
    table = f"{schema}.tapestry_queries"
    models = [f"{schema}.m{number}" for number in range(6)]

    def run(priority: int) -> Callable[[], None]:
        def write() -> None:
            switches = Switches(table, SINCE, Recall())
            for model in models:
                switches.off(session, model)
                switches.plans(model, f"model.{model}", priority)
            if switches.due(wrote=True):
                switches.write(session)

        return write

    def off(model: str) -> Callable[[], None]:
        return lambda: switch(session, table, QueryRow(model, "", 9, SINCE, False, f"no {model}"))

    tasks = [run(1), off(models[0]), run(1), off(models[1])]
    with ThreadPoolExecutor(len(tasks)) as pool:
        for future in [pool.submit(task) for task in tasks]:
            future.result()
    run(2)()
    found = read_queries(session, table)
    assert set(found) == set(models)
    assert session.rows(f"SELECT count(*) FROM {table}") == [(len(models),)]
    for model, row in found.items():
        assert isinstance(row, QueryRow)
        assert (row.priority, row.id) == (2, f"model.{model}")
        assert row.active is (model not in models[:2])
    asked = Switches(table, SINCE, Recall())
    assert asked.off(session, models[0]) == found[models[0]]
    assert asked.off(session, models[5]) is None


def test_what_a_process_has_seen_it_does_not_read_again(session: Any, schema: str) -> None:
    table, recall = f"{schema}.tapestry_queries", Recall()
    row = QueryRow(f"{schema}.a", "model.a", 0, SINCE)
    write_queries(session, table, [row])

    def reads() -> tuple[bool, bool]:
        """Is the model off, and was the table read?"""
        before = len(session.texts)
        off = Switches(table, SINCE, recall).off(session, row.model)
        return off is not None, len(session.texts) > before

    assert reads() == (False, True)
    mark_all_on(session, table)
    assert reads() == (False, False), "it says that nothing is switched off"
    session.run(f"UPDATE {table} SET active = false, why = 'by hand'")
    assert reads() == (True, True), "it is not as it was when it said so"
    mark_all_on(session, table)
    assert reads() == (True, False)
    session.run(f"UPDATE {table} SET active = true")
    mark_all_on(session, table)
    assert reads() == (False, False)
    switch(session, table, QueryRow(row.model, row.id, 0, SINCE, False, "why"))
    assert reads() == (True, True)
    assert reads() == (True, False)
    switch(session, table, row)
    assert reads() == (False, True)
