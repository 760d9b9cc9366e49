"""Titled pairs a pass: a query, and what it is after that pass, each also executed.

``passes/<pass>.sql`` holds, for each title, the query and the pass's step as ``explain`` shows it
(or the refusal).  The step is run in DuckDB at many instants, those around each edge included: it
has the answers of the query by the definition; and the whole rewriting delivers what was ever one.

After a wanted change of a pass: TAPESTRY_WRITE_PAIRS=1 pytest tests/sql/test_passes.py, and read
the difference.
"""

from __future__ import annotations

import ast
import os
import re
from collections import Counter
from datetime import datetime, timedelta, timezone
from functools import cache
from inspect import getsourcefile
from pathlib import Path

import duckdb
import pytest
from sqlglot import exp
from tests.sql import test_pairs
from tests.sql.test_pairs import END, SCANS, START
from tests.sql.test_trace import INSTANTS, rows_at

from tapestry.errors import Refusal
from tapestry.sql import Catalog, Rewriting, View, Window, rewrite, static_answer
from tapestry.sql.look.trace import FORM, Passed, remarks, shown
from tapestry.sql.passes.sequence import PASSES, REFUSE
from tapestry.sql.query_state import QueryState
from tapestry.sql.read.read_query import READ
from tapestry.sql.rewriter import refusing_pass
from tapestry.sql.scan import KnownAnswers

database = test_pairs.database
FOLDER = Path(__file__).parent / "passes"
VIEWS = {
    "answered": "select id, author from messages where parent is not null",
    "answers": "with a as (select author from authors where level < 3)"
    " select m.id, m.author from answered m where m.author in (select author from a)",
}
CATALOG = Catalog(
    {**test_pairs.CATALOG.relations, **{name: View(name, sql) for name, sql in VIEWS.items()}}
)
ORDER = [*(one.name for one in (*READ, *REFUSE)), FORM, *(one.name for one in PASSES)]
SHORT = 12
"""Lines of a step that can still be read at a glance."""


def _read() -> list[tuple[str, str, str, str]]:
    pairs = []
    for name in ORDER:
        text = (FOLDER / f"{name}.sql").read_text()
        for block in re.split(r"^-- title: ", text, flags=re.MULTILINE)[1:]:
            title, rest = block.split("\n", 1)
            query, _, expected = rest.partition("-- becomes\n")
            pairs.append((name, title.strip(), query.strip(), expected.strip()))
    return pairs


PAIRS = _read()
IDS = [f"{name}: {title}" for name, title, _, _ in PAIRS]
ACCEPTED = [pair for pair in PAIRS if not pair[3].startswith("-- refused by ")]
each_pair = pytest.mark.parametrize("pair", PAIRS, ids=IDS)
each_accepted = pytest.mark.parametrize(
    "pair", ACCEPTED, ids=[f"{name}: {title}" for name, title, _, _ in ACCEPTED]
)


@cache
def rewriting_of(query: str) -> Rewriting:
    assume = tuple(re.findall(r"^-- assume: (.*)$", query, flags=re.MULTILINE))
    return rewrite(query, CATALOG, assume=assume, begin=_begin(query))


def _begin(query: str) -> datetime | None:
    found = re.search(r"^-- begin: (.*)$", query, flags=re.MULTILINE)
    return None if found is None else datetime.fromisoformat(found[1]).replace(tzinfo=timezone.utc)


def _after(query: str, name: str) -> Passed:
    (passed,) = [one for one in rewriting_of(query).passed if one.name == name]
    return passed


def _in_short(text: str) -> str:
    """The step's text with one line a clause, and one a condition."""
    lines: list[str] = []
    for line in text.splitlines():
        if re.match(r"(  (AND|OR) )?[^\s)]", line) or line.startswith("--"):
            lines.append(line)
        else:
            lines[-1] += f" {line.strip()}"
    return "\n".join(line.replace("( ", "(").replace(" )", ")") for line in lines)


def _step(name: str, query: str) -> str:
    """The step's own text; what else it found out, as comments."""
    try:
        passed = _after(query, name)
    except Refusal as refusal:
        return f"-- refused by {refusing_pass(refusal)}: {refusal.reason}\n-- in: {refusal.where}"
    known = ""
    if name == "read_assumptions":
        assert isinstance(passed.state, QueryState)
        for one in passed.state.assumptions:
            later, earlier = (".".join(side) for side in (one.later, one.earlier))
            known += f"-- {later} >= {earlier} + {one.offset} microseconds\n"
    return known + remarks(passed) + shown(passed)


@each_pair
def test_the_step_reads_so(pair: tuple[str, str, str, str]) -> None:
    name, title, query, expected = pair
    step = _in_short(_step(name, query))
    if os.environ.get("TAPESTRY_WRITE_PAIRS"):
        _write(name, title, query, step)
        return
    assert step == expected
    assert pair in ACCEPTED or step.startswith(f"-- refused by {name}: ")
    assert len(step.splitlines()) <= SHORT


@each_accepted
def test_it_has_the_answers_of_the_query(
    database: duckdb.DuckDBPyConnection, pair: tuple[str, str, str, str]
) -> None:
    name, _, query, _ = pair
    state, begin = _after(query, name).state, _begin(query)
    found = set()
    for s in INSTANTS:
        if begin is not None and s < begin:
            continue
        definition = static_answer(query, CATALOG, s, SCANS, dialect="duckdb")
        wanted = set(database.execute(definition).fetchall())
        found |= wanted
        if isinstance(state, exp.Query):
            text = state.sql("spark")
            step = static_answer(text, CATALOG, s, SCANS, dialect="duckdb")
            assert set(database.execute(step).fetchall()) == wanted
        else:
            assert rows_at(database, name, _step(name, query), s) == wanted
    assert found, "a pair without any answer shows nothing"


@each_accepted
def test_the_whole_rewriting_delivers_what_was_ever_an_answer(
    database: duckdb.DuckDBPyConnection, pair: tuple[str, str, str, str]
) -> None:
    query = pair[2]
    first: dict[tuple[object, ...], datetime] = {}
    earliest = _begin(query) or START + timedelta(hours=6)
    hours = (START + timedelta(hours=6 * n) for n in range(25))
    ticks = {hour + timedelta(microseconds=us) for hour in hours for us in (-1, 0, 1)}
    for s in sorted(tick for tick in ticks | {earliest} if earliest <= tick <= END):
        text = static_answer(query, CATALOG, s, SCANS, dialect="duckdb")
        for row in database.execute(text).fetchall():
            first.setdefault(row, s)
    got: Counter[tuple[object, ...]] = Counter()
    for tau, t in ((None, START + timedelta(days=2)), (START + timedelta(days=2), END)):
        known = None if tau is None else KnownAnswers("answers_so_far")
        text = rewriting_of(query).incremental(Window(tau, t), SCANS, dialect="duckdb", known=known)
        if tau is None:
            database.execute(f"CREATE OR REPLACE TEMP TABLE answers_so_far AS {text}")
            text = "FROM answers_so_far"
        got.update(database.execute(text).fetchall())
    assert got == Counter((*row, at) for row, at in first.items())


def test_a_pass_is_a_file_and_a_function_of_one_name_and_calls_no_other() -> None:
    files = {}
    for one in (*READ, *REFUSE, *PASSES):
        path = Path(str(getsourcefile(one.function)))
        assert path.stem == one.function.__name__
        assert one.why.endswith("."), one.name
        files[path] = one.name
    folder = next(reversed(files)).parents[1]
    inside = {path for path in folder.glob("*/*.py") if path.name != "__init__.py"}
    assert inside == set(files) - {path for path in files if path.parent.name == "read"}
    for path in inside:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert not str(node.module).startswith("tapestry.sql.passes"), path
            elif isinstance(node, ast.Import):
                assert not any("sql.passes" in name.name for name in node.names), path


def test_every_pass_has_its_pairs() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.sql")) == sorted(ORDER)
    assert set(ORDER) == {name for name, _, _, _ in PAIRS}


def _write(name: str, title: str, query: str, step: str) -> None:
    path = FOLDER / f"{name}.sql"
    text = path.read_text()
    pattern = rf"(-- title: {re.escape(title)}\n).*?(?=^-- title: |\Z)"
    block = f"-- title: {title}\n{query}\n-- becomes\n{step}\n\n"
    written = re.sub(pattern, lambda _: block, text, flags=re.DOTALL | re.MULTILINE)
    path.write_text(written.rstrip() + "\n")
