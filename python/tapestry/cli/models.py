"""The models of a dbt project, parsed and compiled by dbt itself through its programmatic API."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tapestry.cli.options import DbtOptions
from tapestry.cli.project import (
    dbt_arguments,
    given_instant,
    open_project,
    project_root,
    runtime_config,
)
from tapestry.errors import ConfigurationError, TapestryError
from tapestry.runs.kinds.registry import KINDS, kind_named, kinds_of_answers
from tapestry.words import with_article

if TYPE_CHECKING:
    from tapestry.runs.context.invocation import Invocation
    from tapestry.runs.model.model import Model

CONTINUOUS = "continuous"
NO_ANSWER: Mapping[str, str] = {
    "rule": "its rows are those that commits have fired, and no answer of a query. --full-refresh"
    " begins it anew",
    "action": "it writes tables of others. `tapestry rules` lists its batches",
    "derived": "its actions keep its table. --full-refresh builds it anew",
}
"""Kinds of ours whose table is not the answer of a query: what to do instead of what needs one."""
UNVERIFIED: Mapping[str, str] = {kind: NO_ANSWER[kind] for kind in ("rule", "action")}
"""Kinds of ours whose table is not compared with a query, though some are made from one."""
VERIFIED = tuple(kind for kind in KINDS if kind not in UNVERIFIED)


class BrokenProject(TapestryError):
    """dbt could not parse or compile the project."""


@dataclass(frozen=True)
class Manifest:
    """The project as dbt parsed it: ``graph`` as its macros see it (nodes, sources, ...).

    ``arguments`` are those of every dbt command over it, ``given`` is what they were made of.
    """

    root: Path
    graph: Mapping[str, Any]
    arguments: tuple[str, ...]
    parsed: Any
    given: DbtOptions = field(default_factory=DbtOptions)

    @property
    def models(self) -> dict[str, Mapping[str, Any]]:
        """The models by name."""
        nodes = self.graph["nodes"].values()
        return {node["name"]: node for node in nodes if node["resource_type"] == "model"}

    def continuous(self) -> list[str]:
        """Names of the continuous models, in alphabetical order."""
        return self.of_kinds({CONTINUOUS})

    def of_answers(self) -> list[str]:
        """Names of the models whose table is the answer of its query, in alphabetical order."""
        return self.of_kinds(kinds_of_answers())

    def kind(self, name: str) -> str:
        """The kind of a model of ours."""
        return kind_named(self.models[name]["config"].get("materialized")) or ""

    def of_kinds(self, kinds: Collection[str] = KINDS) -> list[str]:
        """Names of the models of some kinds of ours, or of all, in alphabetical order."""
        found = self.models.items()
        return sorted(
            n for n, node in found if kind_named(node["config"].get("materialized")) in kinds
        )

    def model(self, name: str) -> Mapping[str, Any]:
        """The model of this name; ConfigurationError, with near names, where there is none."""
        found = self.models.get(name.removesuffix(".sql"))
        if found is not None:
            return found
        near = get_close_matches(name, self.models, 1)
        some = ", ".join(sorted(self.models)[:10]) or "the project has no models yet"
        raise ConfigurationError(
            f"there is no model {name}",
            str(self.root),
            f"did you mean {near[0]}?" if near else f"models: {some}",
        )


@dataclass(frozen=True)
class Opened:
    """A connection, and continuous models as runs see them, by name, in the order asked for.

    ``nodes`` are the same models as dbt compiled them.
    """

    session: Any
    invocation: Invocation
    models: Mapping[str, Model]
    nodes: Mapping[str, Mapping[str, Any]]


def refuse_kinds(node: Mapping[str, Any], instead: Mapping[str, str]) -> None:
    """Raise click.UsageError for a model of a kind that a command does not work on."""
    said = str(node["config"].get("materialized"))
    kind = kind_named(said)
    if kind is not None and kind in instead:
        under = "" if said == kind else f" ({said})"
        raise click.UsageError(
            f"{node['name']} is {with_article(kind)} model{under}: {instead[kind]}"
        )


def names_of_kinds(
    manifest: Manifest,
    wanted: Sequence[str],
    kinds: Collection[str],
    why: str,
    instead: Mapping[str, str] = NO_ANSWER,
) -> list[str]:
    """Return the requested names of models of some kinds of ours.

    Raises ConfigurationError for a model that is not there, click.UsageError, with ``why`` that
    matters, for one of no such kind; ``instead`` says for other kinds of ours what to do.
    """
    for name in wanted:
        refuse_kinds(manifest.model(name), instead)
    names = [str(manifest.model(name)["name"]) for name in wanted]
    there = manifest.of_kinds(kinds)
    others = [name for name in names if name not in there]
    if others:
        raise click.UsageError(f"{others[0]} is not a {' or '.join(kinds)} model: {why}")
    return names


@contextmanager
def open_models(
    manifest: Manifest,
    names: Sequence[str],
    as_of: str | None = None,
) -> Iterator[Opened]:
    """Compile continuous models and connect, in an invocation that ends at ``as_of`` (or now)."""
    from dbt.adapters.tapestry.invocations import current_invocation
    from dbt.adapters.tapestry.nodes import model_of

    nodes = compile_models(manifest, names)
    with open_project(manifest.given) as project:
        invocation = current_invocation(
            project.config, project.session, as_of or given_instant(project.config)
        )
        zone, graph = invocation.time_zone, manifest.graph
        models = {
            name: model_of(nodes[name], graph, nodes[name]["compiled_code"], "", zone)
            for name in names
        }
        yield Opened(project.session, invocation, models, nodes)


def read_manifest(given: DbtOptions) -> Manifest:
    """Parse the project, without a connection.

    Raises BrokenProject with dbt's own message, ConfigurationError where there is no project.
    """
    # Read here first: of what is wrong with it dbt would print its own account.
    runtime_config(given)
    arguments = dbt_arguments(given)
    parsed = _invoke(["parse", *arguments], None)
    parsed.build_flat_graph()
    return Manifest(project_root(given), parsed.flat_graph, tuple(arguments), parsed, given)


def compile_models(manifest: Manifest, names: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """The compiled nodes of some models by name; raises BrokenProject."""
    if not names:
        return {}
    results = _compile(manifest, ["--select", *names])
    nodes = [result.node.to_dict(omit_none=False) for result in results]
    return {node["name"]: node for node in nodes if node["resource_type"] == "model"}


def compile_sql(manifest: Manifest, sql: str) -> Mapping[str, Any]:
    """The compiled node of a query that is no model; raises BrokenProject."""
    (result,) = _compile(manifest, ["--inline", sql])
    # dbt would say that it comes "from remote system.sql"
    return {**result.node.to_dict(omit_none=False), "original_file_path": "given with --sql"}


def _compile(manifest: Manifest, arguments: Sequence[str]) -> list[Any]:
    # run_results.json stays that of the last run: `dbt retry` and the report go by it
    options = [*manifest.arguments, "--no-populate-cache", "--no-write-json", *arguments]
    outcome = _invoke(["compile", *options], manifest.parsed)
    for result in outcome.results:
        if str(result.status) not in ("success", "pass"):
            raise BrokenProject(str(result.message), str(result.node.original_file_path))
    return list(outcome.results)


def _invoke(arguments: list[str], manifest: Any) -> Any:
    from dbt.cli.main import dbtRunner

    outcome = dbtRunner(manifest=manifest).invoke(arguments)
    if outcome.exception is not None:
        raise outcome.exception
    if outcome.result is None:
        raise BrokenProject(f"dbt {arguments[0]} gave no result", hint="see logs/dbt.log")
    return outcome.result
