"""A small archive for tests: each message once, so that equal values mean the same derivation."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import jinja2
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tapestry.demo import generator
from tapestry.demo.archive import Archive, even_steps

ROOT = Path(__file__).parents[2]
MODELS = sorted(path.stem for path in (ROOT / "models/bboard").glob("*.sql"))
VARIABLES = {
    "one_list": "comp.databases",
    "list_pattern": "comp.sys.%",
    "somebody": "joe@parc.example",
    "jones": "jones@parc.example",
    "voter": "jones@parc.example",
    "keyword": "base",
}
DAYS = 60


def small_archive(folder: Path, rows: int = 80, steps: int = 7) -> Archive:
    """Some of the rows are late, far later than those of the generator."""
    messages = generator.messages(rows, seed=5, days=DAYS)
    messages = messages.take(pc.index_in(pc.unique(messages["msgid"]), messages["msgid"]))
    number = range(len(messages))
    messages = _with(messages, "subject", ["base" if n % 5 == 0 else f"a{n} base" for n in number])
    messages = _with(messages, "archive_seq", [n + 15 * (n % 6 == 0) for n in number])
    authors = messages["author"].to_pylist()
    nobody = [None if n % 7 == 0 else author for n, author in enumerate(authors)]
    messages = _with(messages, "author", nobody)
    tables = {
        "messages": messages,
        "votes": generator.votes(60, messages, seed=5),
        "reminders": generator.reminders(30, seed=5, days=DAYS),
    }
    paths = {name: folder / f"{name}.parquet" for name in tables}
    for name, table in tables.items():
        pq.write_table(table, paths[name])
    answered = Counter(parent for parent in messages["inreplyto"].to_pylist() if parent)
    variables = VARIABLES | {"one_message": answered.most_common(1)[0][0]}
    return Archive(paths, even_steps(generator.START, DAYS + 40, steps), variables)


def model_sql(model: str, variables: dict[str, str], source: str) -> str:
    """A model's text, its Jinja rendered; ``source`` is a pattern for what a source becomes."""
    text = (ROOT / f"models/bboard/{model}.sql").read_text("utf-8")
    return jinja2.Template(text, undefined=jinja2.StrictUndefined).render(
        source=lambda _, name: source.format(name=name), var=variables.__getitem__
    )


def _with(table: pa.Table, name: str, values: list[object]) -> pa.Table:
    place = table.schema.get_field_index(name)
    return table.set_column(place, name, pa.array(values, table.schema.field(name).type))
