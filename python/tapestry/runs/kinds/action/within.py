"""A task with a deadline: what it does in Spark is stopped, what it does in Python is left alone.

Nothing ends a thread of Python from outside. One that is past its deadline is abandoned: it may
still tell a service something, with the idempotency key that each later attempt has as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from contextvars import copy_context
from datetime import timedelta
from threading import Event, Thread, Timer
from typing import TypeVar

from tapestry.errors import ActionFailed, ActionTimedOut
from tapestry.runs.engine.session import Session

T = TypeVar("T")


def within(limit: timedelta, task: Callable[[], T], stop: Callable[[], object]) -> T:
    """Do a task in a thread of its own, which does not keep the process alive; what it gives.

    A limit of 0 is none. Raises what the task raises, and ActionTimedOut where it is not done in
    time; ``stop`` is called then.
    """
    future: Future[T] = Future()
    context = copy_context()

    def work() -> None:
        try:
            future.set_result(context.run(task))
        except Exception as error:
            future.set_exception(error)
        except BaseException as error:  # as by sys.exit: it would end the run
            ended = ActionFailed(f"the function was ended by {error!r}", hint="let it return")
            future.set_exception(ended)

    Thread(target=work, name="tapestry-action", daemon=True).start()
    wait([future], limit.total_seconds() or None)
    if not future.done():
        stop()
        raise _timed_out(limit)
    return future.result()


@contextmanager
def stopped_after(limit: timedelta, own: Session) -> Iterator[None]:
    """Let Spark stop what a session of its own executes inside, once a limit is over; 0 is none.

    A connection that takes SQL only cannot be told to. Raises ActionTimedOut in place of the error
    with which a statement ends that was stopped.
    """
    frame, over = own.can.frame, Event()
    if frame is None or not limit:
        yield
        return
    spark = frame("SELECT 1").sparkSession

    def stop() -> None:
        over.set()
        spark.interruptAll()

    timer = Timer(limit.total_seconds(), stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    except Exception as error:
        if over.is_set():
            raise _timed_out(limit) from error
        raise
    finally:
        timer.cancel()


def _timed_out(limit: timedelta) -> ActionTimedOut:
    return ActionTimedOut(
        f"it was not done within {limit}",
        hint="give it a longer timeout:, and what it asks of others a shorter one",
    )
