"""The files of ejected models: a small dbt project that needs no adapter of ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import yaml
from sqlglot import exp
from sqlglot.optimizer.normalize_identifiers import normalize_identifiers

from dbt.adapters.tapestry.guarded_model import (
    HOW_TAU,
    Guarded,
    dbt_names,
    fill,
    guarded_model,
    scan_for,
    scans_for,
)
from tapestry.cli.eject_groups import groups_config, groups_model
from tapestry.cli.eject_macros import ZONES, group_tests, model_tests, test_macros, window_macros
from tapestry.cli.eject_maintained import MergedGroups
from tapestry.errors import ConfigurationError
from tapestry.names import MATCHED_AT
from tapestry.runs.kinds.continuous.config import ContinuousConfig
from tapestry.runs.model.model import Model
from tapestry.runs.query.relations import Relations, plain
from tapestry.sql import Rewriting, Scan, rewrite, static_answer
from tapestry.sql.passes.sequence import passes_with
from tapestry.sql.timing import mark

TESTED: Final = ("spark", "duckdb", "postgres")
"""Ejected models were run in these, and gave the tables that the adapter gives."""
ANSWER_AT: Final = mark("s")
APPEND: Final = ("incremental_strategy='append'",)
HOW_GROUPS: Final = (
    f"tau is max({MATCHED_AT}) of the table itself, the newest arrival in any group. A group that",
    "a row after tau belongs to is computed again, whole, and takes the place of its row. A run",
    "that is killed leaves rows and tau as they were.",
)
LOST: Final = (
    "A plain incremental model takes rows to come in time: one that becomes readable after a run",
    "whose window it belongs to is missed, or counted too late; keeping such rows needs the",
    "versions of the tables. Nor does it notice an updated or deleted row, or a changed query.",
)


@dataclass(frozen=True)
class Ejected:
    """One model to be ejected: as a run sees it, what it reads, and its dbt node.

    way
        How plain dbt keeps a model that is not continuous.
    """

    model: Model
    relations: Relations
    node: Mapping[str, Any]
    way: Rewriting | MergedGroups | None = None


@dataclass(frozen=True)
class _Texts:
    """A model's file and that of its tests, and what stands of it in the YAML."""

    model: str
    macros: str
    tests: tuple[str, ...]
    unique: str = ""
    """A column that no two rows share."""


def eject_files(
    models: Sequence[Ejected], graph: Mapping[str, Any], dialect: str, project: str
) -> dict[str, str]:
    """Path -> text of every file; the project's own where ``project`` is its name.

    Raises Refusal for a query that cannot be kept.
    """
    names = dbt_names(graph)
    files = {
        "macros/tapestry_window.sql": window_macros(dialect),
        "macros/tapestry_tests.sql": test_macros(dialect),
        "dbt_project.yml": _project_file(project),
    }
    read: set[str] = set()
    described = []
    for one in models:
        said = {name: names.get(name, name) for name in one.relations.tables}
        read |= set(said)
        texts = _texts(one, said, dialect)
        name = one.model.name
        files[f"models/{name}.sql"] = texts.model
        files[f"macros/{name}_tests.sql"] = texts.macros
        described.append(_described(one, texts))
    files["models/models.yml"] = _yaml({"version": 2, "models": described})
    sources = _sources(graph, read)
    if sources:
        files["models/sources.yml"] = _yaml({"version": 2, "sources": sources})
    return files


def _texts(one: Ejected, said: Mapping[str, str], dialect: str) -> _Texts:
    """The files of a model.

    Rewritten without `assume`: exact whether or not it holds, for nothing here checks it.
    """
    if isinstance(one.way, MergedGroups):
        return _of_groups(one, one.way, said, dialect)
    own = one.model.config.own
    config = own if isinstance(own, ContinuousConfig) else ContinuousConfig()
    model, catalog = one.model, one.relations.catalog
    _refuse_commits(one)
    passes = passes_with(config.infer == "on")
    rewriting = one.way or rewrite(model.sql, catalog, begin=config.begin, passes=passes)
    rewriting = rewriting.joining(config.join_order)
    scans = scans_for(rewriting, one.relations, dialect)
    lag = config.lag // timedelta(microseconds=1)
    text = guarded_model(
        Guarded(
            rewriting,
            said,
            scans,
            dialect,
            _config(one.node, dialect, catalog.time_zone, APPEND),
            _head(one, dialect, HOW_TAU),
            str(lag) if lag else "",
        )
    )
    bare = {name: Scan(scan.relation, scan.arrival, "1") for name, scan in scans.items()}
    begin = config.begin
    micros = None if begin is None else int(begin.timestamp()) * 10**6 + begin.microsecond
    names = list(rewriting.values)
    columns = [_stored(name, dialect).sql(dialect) for name in names]
    macros = model_tests(model.name, _answer(one, said, bare, dialect), columns, micros)
    alone = len(names) == 1 and any(arm.by_value for arm in rewriting.arms)
    tests = (f"{model.name}_enough", f"{model.name}_not_too_much")
    return _Texts(text, macros, tests, _stored(names[0], dialect).name if alone else "")


def _of_groups(one: Ejected, groups: MergedGroups, said: Mapping[str, str], dialect: str) -> _Texts:
    """Return the files of a model whose groups replace each other."""
    relations, name = one.relations, one.model.name
    common = _config(one.node, dialect, relations.catalog.time_zone, groups_config(groups, dialect))
    head = _head(one, dialect, HOW_GROUPS)
    text = groups_model(groups, relations, said, dialect, common, head)
    bare = {groups.source: scan_for(groups.source, relations, dialect, numbered=False)}
    columns = [_stored(column, dialect).sql(dialect) for column in groups.compared]
    macros = group_tests(name, _answer(one, said, bare, dialect), columns, dialect)
    key = _stored(groups.keys[0], dialect).name if len(groups.keys) == 1 else ""
    return _Texts(text, macros, (f"{name}_is_the_answer",), key)


def _answer(one: Ejected, said: Mapping[str, str], scans: Mapping[str, Scan], dialect: str) -> str:
    """Q(s), for a macro whose argument is s."""
    q = static_answer(one.model.sql, one.relations.catalog, ANSWER_AT, scans, dialect)
    return fill(q, said, {ANSWER_AT: "{{ s }}"})


def _stored(name: str, dialect: str) -> exp.Identifier:
    """Return a column as the dialect stores it if the model's text makes it: to be quoted.

    Without quotes `order` is a keyword and `user` a function. The text quotes what is no plain
    name; of others the dialect folds the case.
    """
    written = exp.to_identifier(name)
    folded = normalize_identifiers(written, dialect)
    return exp.to_identifier(folded.name, quoted=True)


def _refuse_commits(one: Ejected) -> None:
    """Raise ConfigurationError where a source's rows arrive with commits: Delta alone knows."""
    for name, pinned in one.relations.tables.items():
        if pinned.table.commits is not None:
            raise ConfigurationError(
                f"{one.model.name} reads {name}, whose rows arrive with their commits: a plain"
                " model cannot ask for that",
                where=one.model.file,
                hint="give the source a column with the time of loading, and name it as arrival",
            )


def _config(node: Mapping[str, Any], dialect: str, zone: str, strategy: Sequence[str]) -> list[str]:
    """Return the arguments of the ejected model's config(), without those of the adapter alone."""
    config = ["materialized='incremental'", *strategy]
    if dialect in ("spark", "databricks"):
        config.append("file_format='delta'")
    if dialect in ZONES:
        config.append(f'pre_hook="{ZONES[dialect].format(zone=zone)}"')
    given = node["config"]
    config += [f"{key}={given[key]!r}" for key in ("alias", "schema", "tags") if given.get(key)]
    return config


def _head(one: Ejected, dialect: str, how: Sequence[str]) -> list[str]:
    model = one.model
    assume = getattr(model.config.own, "assume", ())
    kind = "continuous" if one.way is None else "maintained"
    tested = "run and compared" if dialect in TESTED else "UNTESTED"
    head = [
        f"{model.name}, ejected from the {kind} model {model.file} for {dialect} ({tested}).",
        "",
        *(f"  {line}" for line in model.sql.strip().splitlines()),
        "",
        *how,
        *LOST,
        "tapestry_t and tapestry_tau are in macros/tapestry_window.sql.",
    ]
    if assume:
        head.append(f"assume: {', '.join(assume)} is not made use of here.")
    for expectation in model.config.expectations:
        rule = expectation.on_violation
        head.append(
            f"The expectation {expectation.name} ({rule}) stays behind: a data test can say"
        )
        head.append("it; rows that it drops are in this table." if rule == "drop" else "it.")
    # A comment of Jinja's ends at the first #}.
    return [line.replace("#}", "# }").replace("{#", "{ #").rstrip() for line in head]


def _described(one: Ejected, texts: _Texts) -> dict[str, Any]:
    listed: list[dict[str, Any]] = [{"name": MATCHED_AT, "data_tests": ["not_null"]}]
    if texts.unique:
        listed.append({"name": texts.unique, "quote": True, "data_tests": ["unique"]})
    described = {"name": one.model.name, "data_tests": [*texts.tests], "columns": listed}
    text = one.node.get("description")
    return {**described, "description": text} if text else described


def _sources(graph: Mapping[str, Any], read: Iterable[str]) -> list[dict[str, Any]]:
    """The sources that the models read, as their YAML."""
    wanted = set(read)
    found: dict[str, dict[str, Any]] = {}
    for node in graph["sources"].values():
        if plain(node["relation_name"]) not in wanted:
            continue
        schema = node.get("unrendered_schema") or node["schema"]
        source = found.setdefault(
            node["source_name"], {"name": node["source_name"], "schema": schema, "tables": []}
        )
        table = {"name": node["name"]}
        if node["identifier"] != node["name"]:
            table["identifier"] = node["identifier"]
        source["tables"].append(table)
    return list(found.values())


def _project_file(name: str) -> str:
    flags = {"send_anonymous_usage_stats": False, "require_generic_test_arguments_property": True}
    project = {"name": name, "version": "1.0", "config-version": 2, "profile": name}
    return _yaml({**project, "require-dbt-version": ">=1.10.5", "flags": flags})


def _yaml(content: Mapping[str, Any]) -> str:
    text: str = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)
    return text
