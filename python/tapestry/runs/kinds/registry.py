"""The kinds of models, by the name of their materialization; each is imported on first use.

A kind is a folder here, a line in ``KINDS`` and a materialization of a few lines in ``macros``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timezone, tzinfo
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tapestry.runs.context.invocation import Invocation
    from tapestry.runs.engine.session import Session
    from tapestry.runs.model.keys import ConfigKey
    from tapestry.runs.model.model import Model, ModelConfig
    from tapestry.runs.protocol.kind import Kind
    from tapestry.runs.protocol.outcome import Outcome
    from tapestry.runs.protocol.plan import Decided

KINDS: dict[str, str] = {
    "continuous": "tapestry.runs.kinds.continuous.kind:Continuous",
    "maintained": "tapestry.runs.kinds.maintained.kind:Maintained",
    "rule": "tapestry.runs.kinds.rule.kind:Rule",
    "action": "tapestry.runs.kinds.action.kind:Action",
    "derived": "tapestry.runs.kinds.derived.kind:Derived",
}
"""Name -> module and class, as entry points are written."""
OTHER_NAMES: Mapping[str, str] = {"materialized_view": "maintained"}
"""Another adapter's materialization -> the kind of ours that means the same."""


def kind_named(materialized: object) -> str | None:
    """Return the name of the kind for a materialization; None: none of ours."""
    name = OTHER_NAMES.get(str(materialized), str(materialized))
    return name if name in KINDS else None


def kind_called(name: str) -> Kind:
    """Return the kind of this name; raise KeyError for an unknown one."""
    return _made(KINDS[name])


@cache
def _made(place: str) -> Kind:
    module, _, name = place.partition(":")
    kind: Kind = getattr(import_module(module), name)()
    return kind


def kind_of(model: Model) -> Kind:
    """Return the kind of a model, which plans its runs."""
    return kind_called(model.materialized)


def parse_config(
    kind: str, config: Mapping[str, Any], known: Collection[str] = (), zone: tzinfo = timezone.utc
) -> ModelConfig:
    """Read a dbt model's configuration by the keys of its kind (``ModelConfig.parse``)."""
    from tapestry.runs.model.model import ModelConfig

    return ModelConfig.parse(config, kind_called(kind).keys, known, zone)


def kinds_with(key: str) -> tuple[str, ...]:
    """Return the kinds on which a key of ours has an effect."""
    return tuple(kind for kind in KINDS if key in kind_called(kind).keys.rows)


def kinds_of_answers() -> tuple[str, ...]:
    """Return the kinds whose table is the answer of a query: its rows can have expectations."""
    return kinds_with("expectations")


def all_keys() -> dict[str, ConfigKey]:
    """Return the keys of all kinds; a key of several has the row of the first of them."""
    return {
        name: row for kind in reversed(KINDS) for name, row in kind_called(kind).keys.rows.items()
    }


def prepare(
    session: Session, model: Model, invocation: Invocation, full_refresh: bool = False
) -> Decided:
    """Plan this invocation's run of a model by its kind (``run.prepare``)."""
    from tapestry.runs.protocol import run

    return run.prepare(session, kind_of(model), model, invocation, full_refresh)


def execute(session: Session, planned: Decided, invocation: Invocation) -> Outcome:
    """Carry a plan out (``run.execute``)."""
    from tapestry.runs.protocol import run

    return run.execute(session, kind_of(planned.model), planned, invocation)


def plan_empty(session: Session, model: Model) -> bool:
    """Make an empty table for a command that limits its inputs; return whether one was made."""
    from tapestry.runs.protocol import plan_empty

    return plan_empty.plan_empty(session, kind_of(model), model)
