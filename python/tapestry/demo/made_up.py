"""The archives that the demonstration plays: made-up rows, or a file of messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tapestry.demo import generator
from tapestry.demo.archive import Archive, even_steps, monthly_steps
from tapestry.demo.columns import JONES
from tapestry.demo.tables import SEEDS
from tapestry.demo.transfers import TransferPlan, first_midnight, transfers
from tapestry.quoting import standard_string

FOLDER = Path(__file__).parents[3] / "seeds"
SEED, DAYS = 1, 120


def made_up_messages(rows: int, steps: int, folder: Path) -> Archive:
    """Made-up messages, votes on them, and reminders."""
    messages = generator.messages(rows, seed=SEED, days=DAYS, late=0.06)
    tables = {
        "messages": messages,
        "votes": generator.votes(rows // 8, messages, seed=SEED),
        "reminders": generator.reminders(max(rows // 20, 1), seed=SEED, days=DAYS),
    }
    paths = _written(tables, folder)
    variables = choose_variables(paths["messages"]) | {
        "one_list": "comp.databases",
        "list_pattern": "comp.sys.%",
        "keyword": "database",
    }
    # one message in two weeks arrives after its run's end: play a little longer than they come
    return Archive(paths, even_steps(generator.START, DAYS + 30, steps), variables)


def real_messages(data: Path, folder: Path) -> Archive:
    """A file of messages; votes and reminders are made up to go with it."""
    steps: Sequence[datetime] = monthly_steps(data)
    days = (steps[-1] - steps[0]).days
    messages = pq.read_table(data, columns=["msgid", "ts"])
    made_up = {
        "votes": generator.votes(len(messages) // 8, messages, seed=SEED),
        "reminders": generator.reminders(1_000, seed=SEED, start=steps[0], days=days),
    }
    paths = {"messages": data.resolve(), **_written(made_up, folder)}
    return Archive(paths, steps, choose_variables(data))


def made_up_transfers(rows: int, steps: int, folder: Path) -> Archive:
    """Transfers of three days; one in fifty is read up to half a day after it arrived."""
    per_day = max(rows // 3, 100)
    plan = TransferPlan(per_day=per_day, accounts=2_000, chains=per_day // 20)
    made = transfers(plan)
    rng = np.random.default_rng(SEED)
    delay = rng.integers(0, per_day // 2, len(made)) * (rng.random(len(made)) < 0.02)
    made = made.take(pa.array(np.argsort(np.arange(len(made)) + delay, kind="stable")))
    path = folder / "all_transaction.parquet"
    pq.write_table(made, path)
    archive = Archive({"transaction": path}, even_steps(first_midnight(plan), plan.days, steps), {})
    load_seed(archive.database, "banks")
    return archive


def load_seed(database: duckdb.DuckDBPyConnection, name: str) -> None:
    """A table of ``seeds/``, as `dbt seed` reads it: an empty field is NULL."""
    # sql: names and types of our own
    columns = ", ".join(f"'{column}': '{kind}'" for column, kind in SEEDS[name].items())
    path = standard_string(str(FOLDER / f"{name}.csv"))
    database.execute(
        f"create table {name} as from read_csv({path}, header = true, columns = {{{columns}}})"
    )


def _written(tables: Mapping[str, pa.Table], folder: Path) -> dict[str, Path]:
    paths = {name: folder / f"all_{name}.parquet" for name in tables}
    for name, table in tables.items():
        pq.write_table(table, paths[name])
    return paths


def choose_variables(path: Path) -> dict[str, str]:
    """The busiest list, its family, busy authors, a common word, a much answered message."""
    database = duckdb.connect()
    database.execute(f"create view messages as from read_parquet({standard_string(str(path))})")

    def top(expression: str, place: int = 0) -> str:
        found = database.execute(
            f"select x from (select {expression} as x from messages) where x is not null "
            "group by x order by count(*) desc, x"
        ).fetchmany(place + 1)
        return str(found[place][0]) if len(found) > place else ""

    one_list = top("newsgroup")
    return {
        "one_list": one_list,
        "list_pattern": _family(one_list),
        "somebody": top("author"),
        "jones": top("author", 1),
        "voter": JONES,
        "keyword": top(r"regexp_extract(subject, '([a-z]{6,})$', 1)", 1),
        "one_message": top("inreplyto"),
    }


def _family(one_list: str) -> str:
    """A LIKE pattern for the lists that begin alike.

    >>> _family("comp.sys.mac"), _family("linux-block"), _family("selinux")
    ('comp.sys.%', 'linux-%', 'selinux%')
    """
    for mark in (".", "-"):
        start, found, _ = one_list.rpartition(mark)
        if found:
            return f"{start}{mark}%"
    return f"{one_list}%"
