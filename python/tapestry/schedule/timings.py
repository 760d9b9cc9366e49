"""Reads how often a project's models run from their configuration."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from tapestry.errors import ConfigurationError
from tapestry.runs.engine.instants import parse_length
from tapestry.runs.kinds.registry import kind_named
from tapestry.runs.model.model import schedule_of
from tapestry.schedule.levels import lifted
from tapestry.schedule.ticks import Timing
from tapestry.schedule.warm import name_of


def timings(nodes: Iterable[Any], every: timedelta) -> list[Timing]:
    """Return the timing of each of dbt's nodes; ``every`` is the default.

    Any materialization has ``every`` and ``priority``, under ``config`` or ``meta``, an action
    ``deadline`` besides. Raises ConfigurationError for values that are none, with the model's file.
    """
    return [_timing(node, every) for node in nodes]


def by_graph(planned: Iterable[Timing], parents: Mapping[str, Iterable[str]]) -> list[Timing]:
    """Return the timings, each model with at least the priority of those that read it."""
    every = list(planned)
    found = lifted({one.name: one.priority for one in every}, parents)
    return [replace(one, priority=found[one.name]) for one in every]


def _timing(node: Any, every: timedelta) -> Timing:
    try:
        parsed = schedule_of(node.config.to_dict())
    except ConfigurationError as error:
        where = str(node.original_file_path)
        raise ConfigurationError(error.reason, where, error.hint) from error
    seconds = (parsed.every or every).total_seconds()
    name = name_of(str(node.unique_id))
    return Timing(name, seconds, parsed.priority, _deadline(node.config.to_dict()))


def _deadline(config: Mapping[str, Any]) -> float:
    """Return the deadline of an action in seconds; infinity for one that its run refuses."""
    value = {**(config.get("meta") or {}), **config}.get("deadline")
    if value is None or kind_named(str(config.get("materialized"))) != "action":
        return math.inf
    try:
        return parse_length(value, "deadline").total_seconds()
    except ConfigurationError:
        return math.inf
