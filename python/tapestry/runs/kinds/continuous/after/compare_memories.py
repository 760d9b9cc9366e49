"""Compares the memories of a model with their sources: ``tapestry verify --memories``."""

from __future__ import annotations

from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.config import ContinuousConfig
from tapestry.runs.kinds.continuous.query import read_query
from tapestry.runs.memories.ask import Asking, Untimely, ask_memories
from tapestry.runs.memories.compare import ComparedMemory, compare
from tapestry.runs.model.model import Model
from tapestry.sql import Window


def compare_memories(
    session: Session, model: Model, invocation: Invocation
) -> tuple[ComparedMemory, ...]:
    """Compare the memories that a model's next run would read with the sources as they are now.

    Nothing is written. Raises what reading the model's query raises.
    """
    config: ContinuousConfig = model.config.own
    query = read_query(session, model, invocation, model.sql, config.begin)
    window = Window(None, invocation.clock.instant)
    asking = Asking(session, model, invocation, query, window)
    return compare(session, ask_memories(asking, Untimely()))
