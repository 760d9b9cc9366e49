"""The kinds of models, by the name of their materialization."""

from __future__ import annotations

from collections.abc import Mapping

from tapestry.runs.model.model import Model
from tapestry.runs.run.continuous import Continuous
from tapestry.runs.run.plan import Kind

KINDS: Mapping[str, Kind] = {"continuous": Continuous()}


def kind_of(model: Model) -> Kind:
    """How a model's runs are planned."""
    return KINDS[model.materialized]
