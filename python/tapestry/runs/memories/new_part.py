"""What a source got since its memory: read once an invocation, by all of its models and the flush.

Where it is not kept in memory each statement reads it from the source, as the text of the memory's
relation has it. Sound: both are the same rows of pinned versions.
"""

from __future__ import annotations

from dataclasses import replace

from tapestry.runs.memories.ask import Asking, Untimely, ask_memories
from tapestry.runs.memories.look import AnyWish
from tapestry.runs.query.holding import SMALL


def read_memories(asking: Asking, untimely: Untimely) -> tuple[AnyWish, ...]:
    """``ask_memories`` for a run that is to be executed: what came in since may stand in views."""
    return tuple(_shared(asking, wish) for wish in ask_memories(asking, untimely))


def _shared(asking: Asking, wish: AnyWish) -> AnyWish:
    wanted, found = wish.wanted, wish.found
    if wanted is None or not found.new or found.new_bytes(wanted.read_at) > SMALL:
        return wish
    listed, shared = wanted.copied, asking.invocation.shared
    key = ("new part", wanted.signature, found.since, wanted.read_at)
    # sql: conditions that sqlglot wrote
    view = shared.shared_view(asking.session, key, f"SELECT {listed} FROM ({found.new})")
    if not view:
        return wish
    relation = f"({found.main} UNION ALL SELECT {listed} FROM {view})"
    return wish.reading(replace(found, relation=relation, view=view))
