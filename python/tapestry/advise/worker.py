"""A process that makes SQL of templates, asked and answering in lines of JSON.

A template can loop without an end, double a text forty times, or be nested until a parser that is
machine code ends the process.  So it is rendered, and read in a dialect whose parser nothing else
bounds, in a process that may take so much memory, and that whoever asked it ends after a while
(``reader``).  What comes back is text and numbers.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jinja2 import TemplateError
from sqlglot import ErrorLevel, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError, UnsupportedError

from tapestry.advise.context import ASKING, ASKS, Config, Dbt, Package, Seen, warehouse
from tapestry.advise.files import Unreadable, read_text
from tapestry.advise.templates import AsksWarehouse, add_macros, new_environment, render, why_not

MEMORY = 2 * 2**30
"""Bytes of address space."""
LONGEST = 500_000
"""Characters of a rendered text."""
STATEMENTS = 100
"""So many statements of one file are looked at."""
NOTES = 5
_MOVED = (
    *(exp.DateAdd, exp.DatetimeAdd, exp.TimestampAdd),
    *(exp.DateSub, exp.DatetimeSub, exp.TimestampSub),
)
_DBT_UTILS = "dbt_utils"


class TemplateWorker:
    """One project's macros, and a model rendered with them at a time."""

    def __init__(self, project: Mapping[str, Any]) -> None:
        self.dialect = str(project["dialect"])
        self.plain = not project["name"]
        self.environment = new_environment()
        self.known: dict[str, Any] = dict(self.environment.globals)
        self.dbt = Dbt(project["variables"], self.dialect)
        self._add_given()
        packages: dict[str, dict[str, Any]] = {}
        for package, path in project["macros"]:
            found = self._macros_of(Path(path))
            if package:
                packages.setdefault(package, {}).update(found)
            self.known |= found
        self._add_packages(str(project["name"]), packages)
        self.dbt = Dbt(self._variables(project["variables"]), self.dialect)

    def _add_given(self) -> None:
        """dbt's own macros, of which the stand-ins replace those that need a connection."""
        for package in ("dbt.include.global_project", "dbt.include.spark"):
            found = find_spec(package)  # found and not imported: it would take seconds
            folder = Path(str(found.origin if found else "")).with_name("macros") / "utils"
            for path in sorted(folder.glob("*.sql")):
                self.known |= self._macros_of(path)
        self.known |= self._macros_of(Path(__file__).with_name("stand_ins.jinja"))

    def _add_packages(self, name: str, packages: Mapping[str, Mapping[str, Any]]) -> None:
        prefix = f"{_DBT_UTILS}__"
        given = {
            one.removeprefix(prefix): macro
            for one, macro in self.known.items()
            if one.startswith(prefix)
        }
        given |= {one: warehouse(f"{prefix[:-2]}.{one}") for one in ASKING}
        own = dict(self.known)
        of_utils = {**own, **packages.get(_DBT_UTILS, {}), **given}
        spaces = {**{one: {**macros} for one, macros in packages.items()}, _DBT_UTILS: of_utils}
        spaces |= {"dbt": own, name or "project": own}
        for space, macros in spaces.items():
            self.known.setdefault(space, Package(space, macros))

    def _variables(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The project's variables, those that are Jinja rendered."""
        found = dict(given)
        for name, value in given.items():
            if isinstance(value, str) and "{{" in value:
                try:
                    found[name] = self._rendered(value, name, Seen(Config({}), False))
                except Exception:  # whatever a template makes of Python's objects
                    del found[name]
        return found

    def _macros_of(self, path: Path) -> dict[str, Any]:
        try:
            return dict(add_macros(self.environment, read_text(path), self.known))
        except (TemplateError, Unreadable, RecursionError, SyntaxError):
            return {}  # whoever calls one of them is told that it is not known

    def read(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """A file's text as Spark SQL, without and with what stands behind is_incremental()."""
        try:
            text = read_text(Path(asked["path"]))
        except Unreadable as error:
            return {"why": str(error)}
        seen = Seen(Config({}), incremental=False)
        try:
            seen.config.given.update(self._config(asked))
            sql = text if self.plain else self._rendered(text, asked["name"], seen)
        except Exception as error:  # whatever a template makes of Python's objects
            return {"why": why_not(error), "config": _plain(seen.config.given)}
        read = self._in_spark(sql)
        empty = not "".join(read.get("statements", [])).strip()
        if empty and ASKS in seen.notes:
            told = read.get("why") or "without an answer there is no query"
            read["why"] = why_not(AsksWarehouse(told))
        read["config"] = _plain(seen.config.given)
        read["notes"] = list(dict.fromkeys([*seen.notes, *read.get("notes", [])]))[:NOTES]
        read["guard"] = seen.asked_incremental
        if seen.asked_incremental and "statements" in read:
            read["guarded"] = self._guarded(text, asked)
        return read

    def _config(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration of YAML, what is Jinja in it rendered."""
        config = dict(asked["config"])
        for key, value in config.items():
            if isinstance(value, str) and "{{" in value:
                text = self._rendered(value, asked["name"], Seen(Config({}), False)).strip()
                config[key] = {"true": True, "false": False}.get(text.lower(), text)
        return config

    def _rendered(self, text: str, name: str, seen: Seen) -> str:
        known = self.known
        known.update(self.dbt.names(known, name, seen))
        sql = render(self.environment, text, known)
        if len(sql) > LONGEST:
            raise TemplateError(f"the text it makes is longer than {LONGEST:,} characters")
        return sql

    def _guarded(self, text: str, asked: Mapping[str, Any]) -> str:
        """The text of a later run of the incremental model; '' where it cannot be told."""
        try:
            sql = self._rendered(text, asked["name"], Seen(Config(self._config(asked)), True))
        except Exception:  # the guard is only looked at for what it compares
            return ""
        statements = self._in_spark(sql).get("statements", [])
        return str(statements[0]) if statements else ""

    def _in_spark(self, sql: str) -> dict[str, Any]:
        """The statements of a text in Spark's dialect."""
        if self.dialect == "spark" and not self.plain:
            return {"statements": [sql]}
        notes: list[str] = []
        dialect = Dialect.get_or_raise(self.dialect)
        try:
            parsed = [one for one in dialect.parse(sql) if one is not None]
            queries = [one for one in map(_query, parsed) if one is not None][:STATEMENTS]
            alone = len(parsed) == 1 and isinstance(parsed[0], exp.Query)
            if self.dialect == "spark" and alone:
                return {"statements": [sql]}
            return {"statements": [self._written(one, notes) for one in queries], "notes": notes}
        except SqlglotError as error:
            if self.dialect == "spark":
                return {"statements": [sql]}  # the rewriter says what it cannot read
            said = str(error).splitlines()[0]
            return {"why": f"it could not be read as {self.dialect}: {said[:300]}"}
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            return {"why": f"it could not be read as {self.dialect}: {type(error).__name__}"}

    def _written(self, tree: exp.Expr, notes: list[str]) -> str:
        _write_in(tree)
        if _leave_out_databases(tree):
            notes.append("names of three parts are read without the first: name schema.table")
        try:
            return str(tree.sql("spark", comments=False, unsupported_level=ErrorLevel.RAISE))
        except UnsupportedError as error:
            said = " ".join(str(error).split())
            notes.append(f"Spark has no equal of all of it: {said[:200]}")
            return str(tree.sql("spark", comments=False, unsupported_level=ErrorLevel.IGNORE))


def _leave_out_databases(tree: exp.Expr) -> bool:
    """A warehouse's database before its schema: Spark's catalog has none. Was there one?"""
    named = [table for table in tree.find_all(exp.Table) if table.args.get("catalog")]
    for table in named:
        table.set("catalog", None)
    return bool(named)


def _write_in(tree: exp.Expr) -> None:
    """Two things as Spark has them, of which sqlglot makes others.

    ``x <> ALL (SELECT …)``, which it makes of some dialects' NOT IN, is NOT IN again, and the 1 of
    ``interval 1 day`` a number.
    """
    for moved in tree.find_all(*_MOVED):
        by = moved.expression
        if isinstance(by, exp.Literal) and by.is_string and by.name.lstrip("-").isdigit():
            moved.set("expression", exp.Literal.number(int(by.name)))
    for around in list(tree.find_all(exp.NEQ, exp.EQ)):
        right = around.expression
        wanted = exp.All if isinstance(around, exp.NEQ) else exp.Any
        if not isinstance(right, wanted) or right.find(exp.Query) is None:
            continue
        query = (
            right.this if isinstance(right.this, exp.Subquery) else exp.Subquery(this=right.this)
        )
        isin: exp.Expr = exp.In(this=around.this.copy(), query=query.copy())
        around.replace(exp.Not(this=isin) if isinstance(around, exp.NEQ) else isin)


def _query(statement: exp.Expr) -> exp.Expr | None:
    """The query that a statement asks or stores; None for others."""
    if isinstance(statement, exp.Create | exp.Insert):
        statement = statement.expression
    return statement if isinstance(statement, exp.Query) else None


def _plain(config: Mapping[str, Any]) -> dict[str, Any]:
    """What is needed of a model's configuration, as plain values."""
    wanted = ("materialized", "unique_key", "incremental_strategy", "enabled", "arrival")
    found = {}
    for name in wanted:
        value = config.get(name)
        if isinstance(value, str | bool):
            found[name] = value
        elif isinstance(value, list | tuple):
            found[name] = ", ".join(map(str, value))
    return found


def main() -> None:
    """Answer each line of the standard input with a line of the standard output."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # what anybody prints is no answer
    worker = TemplateWorker(json.loads(sys.stdin.readline()))
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = worker.read(asked)
        except (RecursionError, MemoryError) as error:
            answer = {"why": f"it takes too much to be read: {type(error).__name__}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
