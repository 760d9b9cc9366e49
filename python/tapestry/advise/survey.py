"""Surveys a folder: reads and orders all models, and judges each with the facts of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from tapestry.advise.context import REF
from tapestry.advise.judge import OPENED, Text, judge, outputs, unread
from tapestry.advise.owners import with_owners
from tapestry.advise.project import ProjectFolder, folder_config, read_project
from tapestry.advise.reader import SECONDS, Reader, ReadFile
from tapestry.advise.records import Advice, Survey
from tapestry.advise.tables import KnownTables
from tapestry.advise.templates import NOT_KNOWN
from tapestry.advise.uses import AskedColumns, asked_of
from tapestry.errors import ConfigurationError, Refusal
from tapestry.sql import relation_names
from tapestry.sql.work import keeping_trees, of_strangers
from tapestry.words import counted

Progress = Callable[[int, int], None]
"""Told how many of how many files are done."""


def survey(
    folder: Path,
    dialect: str = "spark",
    progress: Progress = lambda done, of: None,
    seconds: float = SECONDS,
    variables: str = "",
    macros: Sequence[Path] = (),
) -> Survey:
    """Return the advice for each model of a dbt project, or each query of a folder of SQL.

    ``seconds`` bounds what one file may take to be read.  ``variables`` is YAML, as dbt's
    ``--vars``; ``macros`` are folders with macros beside the project.  Nothing is written, no macro
    is run outside of a process of its own. Outside of these folders nothing is read but macros that
    lie beside the project in its repository (``beside``).

    Raises ConfigurationError for variables that are no mapping.
    """
    with of_strangers(), keeping_trees(), Reader(dialect, seconds) as reader:
        project = read_project(folder, reader, macros)
        project.variables |= _variables(reader, variables)
        if project.name:
            reader.begin(project)
        texts = _texts(project, reader, progress)
        return _survey(project, texts, dialect, progress)


def _survey(project: ProjectFolder, texts: list[Text], dialect: str, progress: Progress) -> Survey:
    tables = KnownTables(project, dialect)
    readable: dict[str, Text] = {text.relation: text for text in texts if text.sql}
    reads = {name: _reads(text.sql) for name, text in readable.items()}
    order, circles = in_order(reads)
    for name in order:
        text = readable[name]
        tables.materialized[name] = text.today
        if text.today in OPENED and name not in circles:
            tables.views[name] = text.sql
    _ask(tables, readable, order)
    said: dict[str, Advice] = {}
    read_by_others = {name for names in reads.values() for name in names}
    for done, name in enumerate(order, 1):
        text = readable[name]
        try:
            said[name] = _said(text, tables, circles, name in read_by_others)
        except Exception as error:  # one text must not cost the others their advice
            told = f"an error of ours: {type(error).__name__}: {str(error)[:200]}"
            said[name] = unread(replace(text, read=ReadFile(why=told)))
        progress(len(texts) + done, 2 * len(texts))
    models = tuple(said.get(text.relation) or unread(text) for text in texts)
    read_ones = sorted(read_by_others - set(tables.views))
    columns = {name: tables.columns(name) for name in read_ones}
    return Survey(
        str(project.root), project.name, dialect, models, _notes(project, models), columns
    )


def _variables(reader: Reader, text: str) -> dict[str, Any]:
    found = reader.variables(text) if text else {"said": {}}
    if not isinstance(found.get("said"), dict):
        why = str(found.get("why", "it is no mapping"))
        raise ConfigurationError(
            "--vars is no YAML mapping", why, "write it as --vars '{name: value}'"
        )
    return dict(found["said"])


def _texts(project: ProjectFolder, reader: Reader, progress: Progress) -> list[Text]:
    found: list[Text] = []
    names: set[str] = set()
    for done, path in enumerate(project.models.files, 1):
        file = str(path.relative_to(project.root))
        config = _config(project, path)
        read = reader.read(path.stem, path, config)
        found += _of_file(project, file, path, read, config, names)
        progress(done, 2 * len(project.models.files))
    return found


def _config(project: ProjectFolder, path: Path) -> dict[str, object]:
    """Return the config of a model in YAML files, which its own config() overrides."""
    if not project.name:
        return {}
    described = project.described.get(path.stem.lower())
    return folder_config(project, path) | (described.config if described else {})


def _of_file(
    project: ProjectFolder,
    file: str,
    path: Path,
    read: ReadFile,
    config: Mapping[str, object],
    names: set[str],
) -> list[Text]:
    if not project.name:
        several = len(read.statements) > 1
        return [
            Text(f"{file}#{n}" if several else file, file, sql, read, "")
            for n, sql in enumerate(read.statements or (("",) if read.why else ()), 1)
        ]
    name = path.stem.lower()
    disabled = _enabled(read, config) is False
    if disabled or name in names:
        told = "it is disabled" if disabled else "a file before it has the same name"
        read = ReadFile(why=told, config=read.config)
        name = file
    names.add(name)
    today = str(read.config.get("materialized") or config.get("materialized") or "view")
    sql = read.statements[0] if read.statements else ""
    if not sql.strip() and not read.why:
        sql = ""
        read = ReadFile(why="it holds no query", config=read.config)
    return [Text(name, file, sql, read, today)]


def _enabled(read: ReadFile, config: Mapping[str, object]) -> object:
    """``enabled``, by the model itself or by YAML."""
    return read.config.get("enabled", config.get("enabled"))


def _reads(sql: str) -> tuple[str, ...]:
    try:
        return relation_names(sql)
    except Refusal:
        return ()


def in_order(reads: Mapping[str, Iterable[str]]) -> tuple[list[str], set[str]]:
    """Return models after those they read; and the models that read themselves through others.

    >>> in_order({"a": ["b"], "b": ["s"], "c": ["d"], "d": ["c"]})[0]
    ['b', 'a', 'd', 'c']
    """
    order: list[str] = []
    state: dict[str, int] = {}
    circles: set[str] = set()
    for start in reads:
        path = [(start, iter(reads[start]))] if start not in state else []
        state.setdefault(start, 1)
        while path:
            name, left = path[-1]
            one = next((r for r in left if r in reads and state.get(r) != 2), None)
            if one is None:
                state[name] = 2
                order.append(name)
                path.pop()
            elif state.get(one) == 1:
                names = [other for other, _ in path]
                circles.update(names[names.index(one) :])
            else:
                state[one] = 1
                path.append((one, iter(reads[one])))
    return order, circles


def _ask(tables: KnownTables, readable: Mapping[str, Text], order: list[str]) -> None:
    """Collect the columns that queries use of their tables, readers of a model before the model."""
    for name in reversed(order):
        wanted = tables.asked.get(name, AskedColumns())
        with suppress(Exception):  # what is asked is a help: the model's own row says what is odd
            for relation, asked in asked_of(readable[name].sql, wanted).items():
                tables.asked.setdefault(relation, AskedColumns()).update(asked)


def _said(text: Text, tables: KnownTables, circles: set[str], read: bool) -> Advice:
    """Return the advice for one model; note in ``tables`` what its readers need to know."""
    text = replace(text, sql=with_owners(text.sql, tables))
    if text.relation in tables.views:
        tables.views[text.relation] = text.sql
    advice = _judged(text, tables, circles)
    if read:
        tables.outputs[text.relation] = outputs(text.sql, tables)
    return advice


def _judged(text: Text, tables: KnownTables, circles: set[str]) -> Advice:
    if text.relation in circles:
        around = ", ".join(sorted(one.removeprefix(f"{REF}.") for one in circles)[:10])
        why = f"it reads itself through other models, of which there are: {around}"
        return unread(Text(text.name, text.file, "", ReadFile(why=why), text.today))
    advice = judge(text, tables, tables.dialect)
    tables.kinds[text.relation] = advice.kind
    return advice


def _notes(project: ProjectFolder, models: Iterable[Advice]) -> tuple[str, ...]:
    """Return notes on files that were left out, and on options that would help."""
    found = project.models
    notes = [
        (found.links, "link is not followed", "links are not followed"),
        (found.special, "file is no regular one", "files are no regular ones"),
    ]
    told = [counted(count, one, many) for count, one, many in notes if count]
    if found.beyond:
        told.append("the folder has more files than are looked at: the first ones are judged")
    if any(one.reason.startswith(NOT_KNOWN) for one in models):
        told.append(
            "run `dbt deps` in the project first: macros of its packages are then known; --macros"
            " names folders that lie beside it"
        )
    if any(one.unset for one in models):
        told.append("variables without a value were met: --vars '{name: value}' gives them")
    if sum(one.code == "unreadable" for one in models) and project.name:
        told.append(
            "some models are not in Spark's grammar: say which dialect they are in, as in"
            " --dialect snowflake"
        )
    return (*project.notes, *told)
