"""Jobs that a thread starts are marked, so that another thread can stop them.

Spark marks the jobs of a session itself, and takes the mark off when a query ends, also one that
another query has begun: a statement of Delta executes several, so that most of its jobs bear none,
and `interruptAll` leaves them alone. A mark of ours stays until it is taken off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

INTERRUPTS = "spark.job.interruptOnCancel"
"""Spark's name, in what it keeps for a thread, of whether tasks are interrupted, too."""


@contextmanager
def marked_jobs(session: Any) -> Iterator[Callable[[], None]]:
    """Mark the jobs that this thread starts inside; what is given stops those that run now.

    It stops what other threads do in the session, too, as far as Spark knows of it. A server of
    Spark Connect marks the jobs of each statement by itself.
    """
    if not hasattr(session, "_jsparkSession"):
        yield session.interruptAll
        return
    context, tag = session.sparkContext, f"tapestry-{uuid4().hex}"
    before = context.getLocalProperty(INTERRUPTS)

    def stop() -> None:
        context.cancelJobsWithTag(tag)
        session.interruptAll()

    context.addJobTag(tag)
    context.setLocalProperty(INTERRUPTS, "true")
    try:
        yield stop
    finally:
        context.removeJobTag(tag)
        context.setLocalProperty(INTERRUPTS, before)
