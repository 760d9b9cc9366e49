"""Replaces dbt while a model's text is rendered: ref, source, var, config, target and others.

Nothing here reads the environment, a profile or a warehouse.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import yaml
from jinja2 import TemplateError
from sqlglot import exp

from tapestry.advise.stars import marked
from tapestry.advise.templates import AsksWarehouse, Macro, Unknown, give_back

REF, THIS = "ref", "this"
"""The schemas that models and the model's own table seem to lie in."""
_DAY = re.compile(r"date|day|time|start|begin|end|since|until", re.IGNORECASE)
_PARENTS = {"databricks": ("spark",), "redshift": ("postgres",), "athena": ("trino",)}
_NONE_GIVEN = object()
LONGEST_NAME = 200
"""Characters of a name, or of a value that stands for one, that are shown."""
SOME_DAY = "2020-01-01"
NO_VALUE = "has no value here, which --vars gives"
ASKS = "its Jinja asks the warehouse (execute): this is the text without an answer"


class Relation:
    """A table as a template writes it: its name in two parts."""

    def __init__(self, schema: str, name: str, dialect: str) -> None:
        self.schema, self.identifier, self.database = schema, name, "warehouse"
        self.name = self.table = name
        self.type, self.is_view, self.is_table = "table", False, True
        self._dialect = dialect

    def __str__(self) -> str:
        # The engines' own quotes only where a name needs them: it is shown in messages.
        parts = [exp.to_identifier(self.identifier), exp.to_identifier(self.schema)]
        return exp.Table(this=parts[0], db=parts[1]).sql(self._dialect)

    def include(self, **_: Any) -> Relation:
        """Return the same relation, as dbt's method with other parts written does."""
        return self

    def quote(self, **_: Any) -> Relation:
        """Return the same relation, as dbt's method with other parts quoted does."""
        return self

    def render(self) -> str:
        """Return the name as text, as dbt's method does."""
        return str(self)


class Config:
    """``config(…)``: renders to nothing and stores the configuration."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.given: dict[str, Any] = dict(given)

    def __call__(self, *args: Any, **kwargs: Any) -> str:
        for one in (*args, kwargs):
            if isinstance(one, dict):
                self.given.update(one)
        return ""

    def get(self, name: str, default: Any = None, **_: Any) -> Any:
        """Return a value of the model's configuration, as dbt's method does."""
        return self.given.get(name, default)

    require = get


class Adapter:
    """``adapter``: dispatches by the prefix of the dialect; all else would ask a warehouse."""

    def __init__(self, known: dict[str, Any], dialect: str) -> None:
        self._known, self._dialect = known, dialect

    def dispatch(self, name: str, *_: Any, **__: Any) -> Any:
        """The macro of this dialect, else the default one."""
        for prefix in (self._dialect, *_PARENTS.get(self._dialect, ()), "default"):
            found = self._known.get(f"{prefix}__{name}")
            if found is not None:
                return found
        return self._known.get(name) or Unknown(name=name)

    def quote(self, name: str) -> str:
        """A name in the dialect's quotes."""
        return exp.to_identifier(str(name), quoted=True).sql(self._dialect)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return warehouse(f"adapter.{name}")


class Execute:
    """``execute``: false, as when dbt parses; notes that it was read."""

    def __init__(self, notes: list[str]) -> None:
        self._notes = notes

    def __bool__(self) -> bool:
        self._notes.append(ASKS)
        return False


class Package:
    """The macros of a package that are known here, by name."""

    def __init__(self, name: str, macros: Mapping[str, Any]) -> None:
        self._name, self._macros = name, macros

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._macros.get(name) or Unknown(name=f"{self._name}.{name}")


class Unanswered:
    """The answer of a warehouse that is not asked: false; any other use raises AsksWarehouse."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __bool__(self) -> bool:
        return False

    def _asks(self, *_: Any, **__: Any) -> Any:
        raise AsksWarehouse(self._name)

    __str__ = __iter__ = __len__ = __getitem__ = __call__ = __add__ = __radd__ = _asks

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return Unanswered(self._name)


def warehouse(name: str) -> Any:
    """A function that only a warehouse could answer."""

    def asks(*_: Any, **__: Any) -> Any:
        return Unanswered(name)

    return asks


def statement(*_: Any, **__: Any) -> str:
    """Stand in for a query asked during rendering, whose answer is not used where it stands."""
    return ""


ASKING = (
    *("get_column_values", "get_query_results_as_dict", "get_single_value", "unpivot"),
    *("get_relations_by_pattern", "get_relations_by_prefix", "get_filtered_columns_in_relation"),
)
"""Macros of dbt_utils whose text is made of a warehouse's answers."""


@dataclass
class Seen:
    """The findings of one rendering."""

    config: Config
    incremental: bool
    asked_incremental: bool = False
    notes: list[str] = field(default_factory=list)
    unset: list[str] = field(default_factory=list)
    """Variables that were asked for and have no value."""


@dataclass(frozen=True)
class Dbt:
    """dbt's own names for the models of one project."""

    variable: Callable[[str], Any]
    """A variable's value; raises KeyError where it has none."""
    dialect: str

    def names(self, known: dict[str, Any], model: str, seen: Seen) -> dict[str, Any]:
        """Return the names that a model's text can use besides macros."""

        def is_incremental() -> bool:
            seen.asked_incremental = True
            return seen.incremental

        this = Relation(THIS, model, self.dialect)
        return {
            "ref": self._ref,
            "source": self._source,
            "var": self._var(seen),
            "env_var": _env_var(seen),
            "config": seen.config,
            "this": this,
            "is_incremental": is_incremental,
            "should_full_refresh": lambda: False,
            "execute": Execute(seen.notes),
            "model": {"name": model, "alias": model, "config": seen.config.given, "tags": []},
            "adapter": Adapter(known, self.dialect),
            "builtins": {"ref": self._ref, "source": self._source, "var": self._var(seen)},
            **_CONSTANT,
            "target": {
                **{"name": "prod", "type": self.dialect, "schema": REF, "dataset": REF},
                **{"database": "warehouse", "project": "warehouse", "profile_name": "prod"},
                **{"threads": 1, "user": "user", "role": "role", "warehouse": "warehouse"},
            },
        }

    def _ref(self, *names: Any, **_: Any) -> Relation:
        return Relation(REF, str(names[-1]) if names else "", self.dialect)

    def _source(self, source: Any, table: Any) -> Relation:
        return Relation(str(source), str(table), self.dialect)

    def _var(self, seen: Seen) -> Any:
        def var(name: str, default: Any = _NONE_GIVEN) -> Any:
            with suppress(KeyError, TypeError):
                return self.variable(name)
            if default is not _NONE_GIVEN:
                return default
            name = str(name)[:LONGEST_NAME]
            value = SOME_DAY if _DAY.search(name) else name
            seen.unset.append(name)
            seen.notes.append(f"var('{name}') has no value here: '{value}' stands for it")
            return value

        def has_var(name: str) -> bool:
            with suppress(KeyError, TypeError):
                self.variable(name)
                return True
            return False

        found = Macro(var)
        found.has_var = has_var  # type: ignore[attr-defined]
        return found


def _env_var(seen: Seen) -> Any:
    def env_var(name: str, default: Any = None) -> str:
        value = str(name if default is None else default)[:LONGEST_NAME]
        seen.notes.append(f"env_var('{name}') is not read: '{value}' stands for it")
        return value

    return env_var


def _refuse(message: Any = "", *_: Any) -> Any:
    raise TemplateError(f"the project says: {message}")


def _nothing(*_: Any, **__: Any) -> str:
    return ""


def _zip(*lists: Any) -> list[Any]:
    return list(zip(*lists, strict=False))


_CONSTANT: Mapping[str, Any] = {
    "return": give_back,
    "run_query": warehouse("run_query"),
    "load_result": warehouse("load_result"),
    "statement": statement,
    "graph": Unanswered("graph"),
    "star_of": marked,
    "unknown_columns": warehouse("unknown_columns"),
    "log": _nothing,
    "print": _nothing,
    "set_sql_header": _nothing,
    "exceptions": {"raise_compiler_error": _refuse, "warn": _nothing},
    "flags": {"FULL_REFRESH": False, "WHICH": "run", "EMPTY": False},
    "modules": {
        "datetime": {name: getattr(datetime, name) for name in datetime.__all__},
        "re": {name: getattr(re, name) for name in ("sub", "match", "search", "findall", "split")},
    },
    "run_started_at": datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc),
    "invocation_id": "invocation",
    "dbt_version": "1.11.0",
    "project_name": "project",
    "none": None,
    "None": None,
    "True": True,
    "False": False,
    "tojson": lambda value, default=None, sort_keys=False: json.dumps(value, sort_keys=sort_keys),
    "fromjson": lambda text, default=None: json.loads(text),
    "fromyaml": lambda text, default=None: yaml.safe_load(text),
    "toyaml": lambda value, default=None: yaml.safe_dump(value),
    "zip": _zip,
    "zip_strict": _zip,
    "set": lambda value, default=None: list(dict.fromkeys(value)),
    "set_strict": lambda value: list(dict.fromkeys(value)),
    "local_md5": str,
    "store_result": _nothing,
}
