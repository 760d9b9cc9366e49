"""Send a batch to a sink that needs no SQL, part by part, with patience."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from tapestry.delivery.batch import Delivery
from tapestry.delivery.declare import FileSink, MailSink, Sink, WebhookSink
from tapestry.delivery.retry import PatienceOver, SinkError, retrying
from tapestry.delivery.secrets import known_secrets, scrub
from tapestry.delivery.send_file import send_file
from tapestry.delivery.send_mail import PartlyRefused, send_mail
from tapestry.delivery.send_webhook import send_webhook
from tapestry.delivery.visible_text import one_line
from tapestry.errors import TapestryError

MAIL_ATTEMPTS = 3


@dataclass(frozen=True)
class Sent:
    """The number of parts of a batch that the sink has, and why not all."""

    parts: int
    error: str = ""
    warnings: tuple[str, ...] = ()


def send(
    sink: Sink,
    delivery: Delivery,
    deadline: float,
    sleep: Callable[[float], None] = time.sleep,
) -> Sent:
    """Send the parts that the sink does not have yet; never raises, and tells no secret.

    ``deadline`` is of ``time.monotonic``: every attempt is over by then.
    """
    parts = delivery.parts(sink.part_rows)
    warnings: list[str] = []

    def ended(number: int, error: str = "") -> Sent:
        hidden = known_secrets(sink)
        error, *told = (one_line(scrub(text, hidden)) for text in (error, *warnings))
        return Sent(number, error, tuple(told))

    for number in range(delivery.batch.parts, len(parts)):
        if number > delivery.batch.parts and time.monotonic() > deadline:
            return ended(
                number, f"{number} of {len(parts)} parts were sent, then patience was over"
            )
        try:
            action = _action(sink, delivery, number, parts[number], deadline)
            retrying(action, _attempts(sink), deadline, sleep)
        except PartlyRefused as error:
            warnings.append(str(error))
        except SinkError as error:
            return ended(number, str(error))
        except TapestryError as error:
            return ended(number, f"{error.reason}; {error.hint}" if error.hint else error.reason)
        except Exception as error:
            return ended(number, f"{type(error).__name__}: {error}")
    return ended(len(parts))


def _action(
    sink: Sink, delivery: Delivery, number: int, rows: Sequence[str], deadline: float
) -> Callable[[], object]:
    if isinstance(sink, FileSink):
        return partial(send_file, sink, delivery, deadline)
    if isinstance(sink, MailSink):
        return lambda: send_mail(sink, delivery, number, rows, _left(sink.timeout, deadline))
    assert isinstance(sink, WebhookSink)
    return lambda: send_webhook(sink, delivery, number, rows, _left(sink.timeout, deadline))


def _left(timeout: timedelta, deadline: float) -> float:
    """Seconds for one attempt: no longer than patience lasts."""
    left = min(timeout.total_seconds(), deadline - time.monotonic())
    if left <= 0:
        raise PatienceOver("patience is over")
    return left


def _attempts(sink: Sink) -> int:
    if isinstance(sink, WebhookSink):
        return sink.attempts
    return MAIL_ATTEMPTS if isinstance(sink, MailSink) else 1
