"""Marks the jobs that a thread starts, so that another thread can stop them.

Spark marks the jobs of a session itself, and removes the mark when a query ends, even one that
another query has started: a statement of Delta executes several, so that most of its jobs bear no
mark, and `interruptAll` leaves them alone. The mark set here stays until it is removed.
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
    """Mark the jobs that this thread starts inside; yield a function that stops the running ones.

    The function stops other threads' jobs in the session, too, as far as Spark has marked them. A
    server of Spark Connect marks the jobs of each statement by itself.
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
