"""Methods by which dbt's own materializations (table, incremental, view) check expectations."""

from __future__ import annotations

from threading import Lock
from time import monotonic
from typing import Any

from dbt.adapters.base import available
from dbt.adapters.base.meta import AdapterMeta
from dbt_common.invocation import get_invocation_id

from dbt.adapters.tapestry.dbt_errors import dbt_errors
from dbt.adapters.tapestry.invocations import note_entry
from dbt.adapters.tapestry.nodes import expectations_of, expected_model
from dbt.adapters.tapestry.response import CheckedResponse, response_of_checked
from dbt.adapters.tapestry.session import DbtSession
from tapestry.errors import ConfigurationError
from tapestry.quoting import authored
from tapestry.runs.checks.checks import sentences
from tapestry.runs.checks.dbt_models import (
    CheckedModel,
    check_query,
    check_table,
    only_blocking,
    stage_result,
)
from tapestry.runs.checks.staging import drop
from tapestry.runs.kinds.registry import kind_named
from tapestry.runs.protocol.log import Entry

_checked: dict[tuple[str, str], CheckedModel] = {}
_lock = Lock()


class ExpectationDoors(metaclass=AdapterMeta):
    """A mixin of the adapter: what the macros of table, incremental and view call."""

    config: Any

    @available.parse(lambda *_, **__: False)
    def has_expectations(self, node: dict[str, Any]) -> bool:
        """Return whether a model of dbt's own materializations has expectations."""
        if node.get("resource_type") != "model" or kind_named(node["config"]["materialized"]):
            return False
        with dbt_errors():
            return bool(expectations_of(node))

    @available
    def staged_query(self, node: dict[str, Any], sql: str, batch: bool, language: str) -> str:
        """Return the query of the rows to publish: staged and checked, or ``sql`` as it is."""
        with dbt_errors():
            model = expected_model(node, sql)
            if language != "sql":
                _refuse_drop(node)
                return sql
            if batch:
                model = only_blocking(model)
            if not model.config.expectations:
                return sql
            began = monotonic()
            session = DbtSession(self)  # type: ignore[arg-type]
            checked = stage_result(session, model, authored(sql), str(get_invocation_id()), batch)
            _note(self.config, node, checked, monotonic() - began)
            return checked.select

    @available
    def check_view(self, node: dict[str, Any], sql: str) -> None:
        """Check a view's query before it is made."""
        with dbt_errors():
            began = monotonic()
            session = DbtSession(self)  # type: ignore[arg-type]
            model = expected_model(node, sql)
            checked = check_query(session, model, authored(sql), str(get_invocation_id()))
            _note(self.config, node, checked, monotonic() - began)

    @available
    def finish_expectations(self, node: dict[str, Any], message: str) -> dict[str, Any]:
        """Return the response and the warnings of a model that is built.

        The whole table is checked if its rows were not checked before.
        """
        with dbt_errors():
            began, session = monotonic(), DbtSession(self)  # type: ignore[arg-type]
            run_id = str(get_invocation_id())
            with _lock:
                checked = _checked.pop((run_id, node["unique_id"]), None)
            model = expected_model(node, "")
            if checked is not None and checked.staged is not None:
                drop(session, checked.staged)
            if checked is None or not checked.rows.creates:
                checked = check_table(session, model, run_id, checked)
                _log(self.config, checked, monotonic() - began)
            response: CheckedResponse = response_of_checked(checked, message)
            return {"response": response, "warnings": sentences(checked.results)}


def _refuse_drop(node: dict[str, Any]) -> None:
    for one in expectations_of(node):
        if one.on_violation == "drop":
            raise ConfigurationError(
                f"{one.name}: on_violation: drop works on SQL models",
                where=str(node.get("original_file_path") or ""),
                hint="drop the rows in the Python model itself, or use warn or fail",
            )


def _note(config: Any, node: dict[str, Any], checked: CheckedModel, seconds: float) -> None:
    """Keep the results of the checks; raise the error that keeps the model from being published."""
    if checked.error is not None or checked.rows.creates:
        _log(config, checked, seconds)
    with _lock:
        _checked[(str(get_invocation_id()), node["unique_id"])] = checked


def _log(config: Any, checked: CheckedModel, seconds: float) -> None:
    reason = str(checked.error or "")
    note_entry(config, Entry(checked.rows.identity, checked, seconds, reason=reason))
    if checked.error is not None:
        raise checked.error
