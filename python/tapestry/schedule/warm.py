"""Runs `dbt run` repeatedly in one process, with the project parsed once.

dbt takes a parsed manifest again (``dbtRunner(manifest=...)``), but leaves traces of compiling in
it: the second time an ephemeral model's text would not be put into those that use it, and a foreign
key's ``ref()`` would be read as a name. ``_freshen`` takes the traces out.
"""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tapestry.errors import TapestryError
from tapestry.names import SWITCHED_OFF
from tapestry.runs.context.clock import ENVIRONMENT

OK, FAILED, SKIPPED = "ok", "failed", "skipped"
_GOOD = ("success", "pass", "warn")
COLLECT_EVERY = 10
"""After so many invocations Python looks for what refers to itself only.

What stands for an object of Java does once a method of it was called, and Spark keeps a session
for as long as something here stands for it: left alone, Python looks once in eighty sessions.
"""


class RunFailed(TapestryError):
    """A `dbt run` that failed."""


@dataclass(frozen=True)
class Ran:
    """The result of one invocation for one model: status, new rows, seconds, dbt's message."""

    model: str
    status: str
    rows: int = 0
    seconds: float = 0.0
    message: str = ""


class Warm:
    """One process's dbt; invocations in one process come one after the other.

    arguments
        dbt's own, the same for every invocation: folders, target, vars.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        parsed: Any = None,
        callbacks: Sequence[Callable[[Any], None]] = (),
    ) -> None:
        """Take ``parsed``, a manifest that was parsed before with nothing compiled since."""
        self._arguments = list(arguments)
        self._callbacks = list(callbacks)
        self._manifest: Any = parsed
        self._references = None if parsed is None else _references(parsed)
        self._runs = 0

    @property
    def manifest(self) -> Any:
        """The parsed project; RunFailed, or dbt's own error, where it cannot be parsed."""
        if self._manifest is None:
            self._manifest = self._invoke(["parse"], None).result
            self._references = _references(self._manifest)
        return self._manifest

    def run(
        self,
        models: Sequence[str] = (),
        as_of: datetime | None = None,
        options: Sequence[str] = (),
    ) -> list[Ran]:
        """Execute one `dbt run`; return the result of each model, failed ones included.

        ``models`` are names as `name_of` gives them, none: all. ``as_of`` is the end of the window,
        for this invocation only. Raises dbt's own error where there is no result at all.
        """
        manifest = self.manifest
        _freshen(manifest, self._references or {})
        chosen = ["--select", *self._selectors(models)] * bool(models)
        with _as_of(as_of):
            outcome = self._invoke(["run", *chosen, *options], manifest)
        self._runs += 1
        if self._runs % COLLECT_EVERY == 0:
            gc.collect()
        ran = [(result.node, _ran(result)) for result in outcome.result.results]
        # hooks of the project stand among the results: of interest where they fail
        return [one for node, one in ran if node.resource_type == "model" or one.status == FAILED]

    def seed(self, names: Sequence[str]) -> None:
        """One `dbt seed` of some tables; RunFailed where one of them fails."""
        outcome = self._invoke(["seed", "--select", *names], self.manifest)
        failed = first_failure([_ran(result) for result in outcome.result.results])
        if failed is not None:
            raise RunFailed(f"dbt seed: {failed.model}: {failed.message}", hint="see logs/dbt.log")

    def selected(self, options: Sequence[str] = ()) -> list[Any]:
        """The nodes of the models that `dbt run` with these options (--select ...) would run."""
        arguments = ["ls", *options, "--resource-type", "model", "--output", "json"]
        arguments += ["--output-keys", "unique_id"]
        manifest = self.manifest
        ids = [json.loads(line)["unique_id"] for line in self._invoke(arguments, manifest).result]
        nodes = [manifest.nodes[unique_id] for unique_id in ids]
        return [node for node in nodes if node.config.materialized != "ephemeral"]

    def _selectors(self, models: Sequence[str]) -> list[str]:
        """Return selectors of just these models: a bare name could also be a folder's."""
        found = {
            name_of(unique_id): "fqn:" + ".".join(node.fqn)
            for unique_id, node in self.manifest.nodes.items()
            if node.resource_type == "model"
        }
        return [found.get(name, name) for name in models]

    def _invoke(self, arguments: list[str], manifest: Any) -> Any:
        from dbt.cli.main import dbtRunner

        runner = dbtRunner(manifest=manifest, callbacks=list(self._callbacks))
        outcome = runner.invoke([*arguments, *self._arguments])
        if outcome.exception is not None:
            raise outcome.exception
        if outcome.result is None:
            raise RunFailed(f"dbt {arguments[0]} gave no result", hint="see logs/dbt.log")
        return outcome


def name_of(unique_id: str) -> str:
    """Return the name of a model, with its version if it has one.

    >>> name_of("model.shop.orders"), name_of("model.shop.orders.v2")
    ('orders', 'orders.v2')
    """
    return unique_id.split(".", 2)[-1]


def first_failure(ran: Sequence[Ran]) -> Ran | None:
    """Return the first model that failed, or None."""
    return next((one for one in ran if one.status == FAILED), None)


def new_rows(ran: Sequence[Ran]) -> dict[str, int]:
    """New rows of each model that ran."""
    return {one.model: one.rows for one in ran if one.status == OK}


@contextmanager
def _as_of(instant: datetime | None) -> Iterator[None]:
    """Set the instant of invocations by the environment, which costs no new parse."""
    before = os.environ.get(ENVIRONMENT)
    if instant is not None:
        os.environ[ENVIRONMENT] = instant.isoformat()
    try:
        yield
    finally:
        if instant is not None:
            os.environ.pop(ENVIRONMENT, None)
            if before is not None:
                os.environ[ENVIRONMENT] = before


def _references(manifest: Any) -> dict[str, list[str | None]]:
    """Return what the constraints of each node refer to, as written."""
    return {
        unique_id: [constraint.to for constraint in node.all_constraints]
        for unique_id, node in manifest.nodes.items()
        if hasattr(node, "all_constraints")
    }


def _freshen(manifest: Any, references: Mapping[str, list[str | None]]) -> None:
    """Restore the nodes as they were parsed."""
    for unique_id, node in manifest.nodes.items():
        if getattr(node, "compiled", False):
            node.compiled = node.extra_ctes_injected = False
            node.compiled_code = node._pre_injected_sql = None
            node.extra_ctes = []
        for constraint, to in zip(
            getattr(node, "all_constraints", ()), references.get(unique_id, ()), strict=True
        ):
            constraint.to = to


def _ran(result: Any) -> Ran:
    status = str(getattr(result.status, "value", result.status))
    return ran_of(
        name_of(str(result.node.unique_id)),
        status,
        result.adapter_response or {},
        float(result.execution_time or 0),
        str(result.message or ""),
    )


def ran_of(
    model: str, status: str, response: Mapping[str, Any], seconds: float, message: str
) -> Ran:
    """Return a result of dbt as a `Ran`."""
    off = response.get("code") == SWITCHED_OFF
    kind = SKIPPED if off or status == "skipped" else OK if status in _GOOD else FAILED
    try:
        rows = max(0, int(response.get("rows_affected") or 0))
    except (TypeError, ValueError):
        rows = 0
    return Ran(model, kind, rows, seconds, message)
