"""A task with a deadline: its statements in Spark are stopped, its Python code is left alone.

Nothing ends a thread of Python from outside. One that is past its deadline is abandoned: it may
still call a service, with the idempotency key that each later attempt has as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import copy_context
from datetime import timedelta
from threading import Thread
from typing import TypeVar

from tapestry.errors import ActionFailed, ActionTimedOut
from tapestry.runs.engine.session import Session
from tapestry.runs.engine.stop_after import Stopped

T = TypeVar("T")


def within(limit: timedelta, task: Callable[[], T], own: Session) -> T:
    """Return the result of a task in a thread of its own, which does not keep the process alive.

    A limit of 0 is none. Raises what the task raises, and ActionTimedOut where it is not done in
    time: the engine then stops that thread's statements, for as long as it executes any.
    """
    future: Future[T] = Future()
    context, stopped = copy_context(), stopped_after(limit, own)

    def work() -> None:
        try:
            with stopped:
                future.set_result(context.run(task))
        except Exception as error:
            future.set_exception(error)
        except BaseException as error:  # as by sys.exit: it would end the run
            ended = ActionFailed(f"the function was ended by {error!r}", hint="let it return")
            future.set_exception(ended)

    Thread(target=work, name="tapestry-action", daemon=True).start()
    wait([future], limit.total_seconds() or None)
    if not future.done():
        raise _timed_out(limit)
    return future.result()


def stopped_after(limit: timedelta, own: Session) -> AbstractContextManager[None]:
    """Let the engine stop the statements of a session of its own inside, after a limit.

    A limit of 0 is none. Inside, ActionTimedOut is raised in place of the error of a stopped
    statement.
    """
    if not limit:
        return nullcontext()
    # Asked here: a session knows its connection by the thread.
    return _stopped(limit, own.can.stop_after(limit.total_seconds()))


@contextmanager
def _stopped(limit: timedelta, watched: AbstractContextManager[Stopped]) -> Iterator[None]:
    with watched as stopped:
        try:
            yield
        except Exception as error:
            if not stopped.told:
                raise
            raise _timed_out(limit) from error


def _timed_out(limit: timedelta) -> ActionTimedOut:
    return ActionTimedOut(
        f"it was not done within {limit}",
        hint="give it a longer timeout:, and what it asks of others a shorter one",
    )
