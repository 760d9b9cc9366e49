"""What DuckDB is told to expect of each model is Q_M, by brute force: Q(s) at every event s."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path

import duckdb
import jinja2
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tapestry.demo import generator
from tapestry.demo.archive import EXPECTED, TABLES, Archive, even_steps

ROOT = Path(__file__).parents[2]
MODELS = sorted(path.stem for path in (ROOT / "models/bboard").glob("*.sql"))
VARIABLES = {
    "one_list": "comp.databases",
    "list_pattern": "comp.sys.%",
    "somebody": "joe@parc.example",
    "jones": "jones@parc.example",
    "keyword": "base",
}
DAYS = 60


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    """Few rows, each message once: so that equal values mean the same derivation."""
    folder = tmp_path_factory.mktemp("archive")
    messages = generator.messages(80, seed=5, days=DAYS)
    first = pc.index_in(pc.unique(messages["msgid"]), messages["msgid"])
    messages = messages.take(first)
    subjects = ["base" if n % 5 == 0 else f"a{n} base" for n in range(len(messages))]
    place = messages.schema.get_field_index("subject")
    messages = messages.set_column(place, "subject", pa.array(subjects))
    late = [n + 15 * (n % 6 == 0) for n in range(len(messages))]  # far later than generated
    place = messages.schema.get_field_index("archive_seq")
    messages = messages.set_column(place, "archive_seq", pa.array(late))
    tables = {
        "messages": messages,
        "votes": generator.votes(60, messages, seed=5),
        "reminders": generator.reminders(30, seed=5, days=DAYS),
    }
    paths = {name: folder / f"{name}.parquet" for name in tables}
    for name, table in tables.items():
        pq.write_table(table, paths[name])
    variables = VARIABLES | {"one_message": Counter(_answered(messages)).most_common(1)[0][0]}
    return Archive(paths, even_steps(generator.START, DAYS + 40, 7), variables)


def _answered(messages: pa.Table) -> list[str]:
    return [parent for parent in messages["inreplyto"].to_pylist() if parent]


def _static_answer(model: str, variables: dict[str, str]) -> str:
    """The model's own text as of an instant `i.s`, over the rows visible then."""
    text = (ROOT / f"models/bboard/{model}.sql").read_text("utf-8")
    sql = jinja2.Template(text).render(
        source=lambda _, name: f"(select * from due.{name} x where x.arr <= i.s)",
        var=variables.__getitem__,
    )
    return sql.replace("now()", "i.s")


def _make_instants(database: duckdb.DuckDBPyConnection, end: str) -> None:
    """Every instant at which an answer can begin: arrivals and the models' bounds."""
    events = [f"select arr as s from due.{name}" for name in TABLES]
    events.append("select when_to_remind from due.reminders")
    for days in (0, 14, 21, 28, 30):
        events += [f"select {at} + interval {days} days from due.messages" for at in ("ts", "date")]
    database.execute(
        "create or replace table due.instants as select distinct s from ("
        "  select s + interval (step) microsecond as s"
        f"  from ({' union all '.join(events)}), (values (0), (1)) steps(step)"
        f") where s <= timestamptz '{end}'"
    )


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("at_once", [False, True], ids=["late rows", "at once"])
def test_expected_is_the_union_of_the_static_answers(
    archive: Archive, model: str, at_once: bool
) -> None:
    expected = archive.expect(model, at_once=at_once)
    _make_instants(archive.database, archive.steps[-1].isoformat())
    answer = _static_answer(model, archive.variables)
    brute = (
        "select * exclude (s), min(s) as _matched_at from ("
        f"select i.s, q.* from due.instants i, lateral ({answer}) q"
        ") group by all"
    )
    database = archive.database
    wanted = database.execute(f"from ({brute}) order by all").fetchall()
    assert database.execute(f"from {expected} order by all").fetchall() == wanted
    assert wanted, "a model without an answer proves nothing"


def test_each_model_has_an_expectation() -> None:
    assert {path.stem for path in EXPECTED.glob("*.sql")} == set(MODELS)


def test_some_rows_are_late(archive: Archive) -> None:
    late = sum(archive.late_rows(step) for step in range(1, len(archive.steps) + 1))
    assert late > 0
    arrived = archive.database.execute(
        "select min(arr - ts), max(arr - ts) from main.messages where arr <> ts"
    ).fetchone()
    assert arrived is not None
    assert timedelta(0) < arrived[0] <= arrived[1]
