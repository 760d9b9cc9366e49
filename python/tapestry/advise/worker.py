"""A process that renders templates to SQL; it takes requests and answers as lines of JSON.

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
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jinja2 import TemplateError

from tapestry.advise.context import ASKING, ASKS, NO_VALUE, Config, Dbt, Package, Seen, warehouse
from tapestry.advise.described import described
from tapestry.advise.files import Unreadable, read_text
from tapestry.advise.plain import load
from tapestry.advise.templates import AsksWarehouse, add_macros, new_environment, render, why_not
from tapestry.advise.translate import in_spark

MEMORY = 2 * 2**30
"""Bytes of address space."""
LONGEST = 500_000
"""Characters of a rendered text."""
NOTES = 5
LONGEST_NOTE = 500
LONGEST_VALUE = 200
"""Characters of a value of a model's configuration."""
_DBT_UTILS = "dbt_utils"


class TemplateWorker:
    """The macros of one project, and the rendering of its models, one at a time."""

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect
        self.plain = True
        self.environment = new_environment()
        self.known: dict[str, Any] = dict(self.environment.globals)
        self.packages: dict[str, dict[str, Any]] = {}
        self.variables: dict[str, Any] = {}
        self.dbt = Dbt(self._variable, dialect)
        self._add_given()

    def answer(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a request, whose kind is ``do``."""
        try:
            return _ASKED[asked["do"]](self, asked)
        except Unreadable as error:
            return {"why": str(error)}

    def values(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The YAML of a file."""
        return {"said": load(read_text(Path(asked["path"])))}

    def text(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The YAML of a text."""
        return {"said": load(asked["text"])}

    def tables(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return the tables that a YAML file describes."""
        said = load(read_text(Path(asked["path"])))
        return {"tables": list(described(said, self.dialect))}

    def macros(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Load the macros of a file; '' is the project's own package.

        Macros that do not ``count`` are known where no other one has their name.
        """
        found = self._macros_of(Path(asked["path"]))
        if asked["package"]:
            self.packages.setdefault(asked["package"], {}).update(found)
        for name, macro in found.items():
            if asked["counts"] or name not in self.known:
                self.known[name] = macro
        return {}

    def begin(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Begin a dbt project, after its macros are loaded."""
        self.plain = False
        self.variables = dict(asked["variables"])
        self._add_packages(asked["name"], self.packages)
        return {}

    def _add_given(self) -> None:
        """Add dbt's own macros; stand-ins replace those that need a connection."""
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

    def _variable(self, name: str) -> Any:
        """Return a variable's value, with Jinja rendered; raise KeyError if it has none."""
        value = self.variables[name]
        if isinstance(value, str) and "{{" in value:
            known = {**self.known, **self.dbt.names(self.known, name, Seen(Config({}), False))}
            value = self.variables[name] = render(self.environment, value, known)
        return value

    def _macros_of(self, path: Path) -> dict[str, Any]:
        try:
            return dict(add_macros(self.environment, read_text(path), self.known))
        except (TemplateError, Unreadable, RecursionError, SyntaxError):
            return {}  # whoever calls one of them is told that it is not known

    def read(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return a file's text as Spark SQL, without and with the is_incremental() part."""
        text = read_text(Path(asked["path"]))
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
        elif seen.unset and "why" in read:
            read["why"] = f"var('{seen.unset[0]}') {NO_VALUE}: {read['why']}"
        read["config"] = _plain(seen.config.given)
        read["notes"] = list(dict.fromkeys([*seen.notes, *read.get("notes", [])]))[:NOTES]
        read["notes"] = [note[:LONGEST_NOTE] for note in read["notes"]]
        read["unset"] = list(dict.fromkeys(seen.unset))[:NOTES]
        read["guard"] = seen.asked_incremental
        if seen.asked_incremental and "statements" in read:
            read["guarded"] = self._guarded(text, asked)
        return read

    def _config(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return the configuration of YAML, with Jinja rendered."""
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
        """Return the text of a later run of the incremental model; '' if it is unknown."""
        try:
            sql = self._rendered(text, asked["name"], Seen(Config(self._config(asked)), True))
        except Exception:  # the guard is only looked at for what it compares
            return ""
        statements = self._in_spark(sql).get("statements", [])
        return str(statements[0]) if statements else ""

    def _in_spark(self, sql: str) -> dict[str, Any]:
        return in_spark(sql, self.dialect, self.plain)


def _plain(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the needed keys of a model's configuration, as plain values."""
    wanted = ("materialized", "unique_key", "incremental_strategy", "enabled", "arrival")
    found: dict[str, str | bool] = {}
    for name in wanted:
        value = config.get(name)
        if isinstance(value, bool):
            found[name] = value
        elif isinstance(value, str) and value not in ("", "None", "none"):
            found[name] = value[:LONGEST_VALUE]
        elif isinstance(value, list | tuple):
            named = [one for one in value if isinstance(one, str)]
            found[name] = ", ".join(named)[:LONGEST_VALUE]
    return found


_ASKED: Mapping[str, Callable[[TemplateWorker, Mapping[str, Any]], dict[str, Any]]] = {
    "values": TemplateWorker.values,
    "text": TemplateWorker.text,
    "tables": TemplateWorker.tables,
    "macros": TemplateWorker.macros,
    "begin": TemplateWorker.begin,
    "read": TemplateWorker.read,
}


def main() -> None:
    """Answer each line of the standard input with a line of the standard output."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # what anybody prints is no answer
    worker = TemplateWorker(json.loads(sys.stdin.readline())["dialect"])
    answers.write("{}\n")
    answers.flush()
    for line in sys.stdin:
        try:
            answer = worker.answer(json.loads(line))
        except (RecursionError, MemoryError) as error:
            answer = {"why": f"it takes too much to be read: {type(error).__name__}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
