"""Send a batch to a sink that needs no SQL, part by part, with patience."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path

from tapestry.delivery.batch import Delivery
from tapestry.delivery.csv_text import as_csv
from tapestry.delivery.declare import FileSink, MailSink, Sink, WebhookSink
from tapestry.delivery.parquet import as_parquet
from tapestry.delivery.retry import PatienceOver, Refused, SinkError, retrying
from tapestry.delivery.secrets import known_secrets, scrub
from tapestry.delivery.send_mail import PartlyRefused, send_mail
from tapestry.delivery.send_webhook import send_webhook
from tapestry.delivery.visible_text import file_name, one_line
from tapestry.errors import TapestryError
from tapestry.whole_file import write_whole

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


def send_file(sink: FileSink, delivery: Delivery, deadline: float = math.inf) -> Path:
    """Write the file and return its path; Refused where the folder does not take it.

    Its name depends on the batch alone, and it appears when it is complete, so a batch that is sent
    twice is there once. Nothing appears after ``deadline`` (of ``time.monotonic``): whoever waited
    has given up.
    """
    folder = delivery.root / sink.path
    batch = delivery.batch
    name = f"{file_name(delivery.name)}-{sink.name}-{batch.life[:8]}-{batch.m:08d}.{sink.format}"
    path = folder / name
    content = _content(sink, delivery)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, content, lambda: _in_time(path, deadline))
    except OSError as error:
        raise Refused(f"{path} was not written: {error.strerror or error}") from error
    return path


def _content(sink: FileSink, delivery: Delivery) -> bytes:
    if sink.format == "jsonl":
        return "".join(f"{row}\n" for row in delivery.rows).encode("utf-8", "replace")
    if sink.format == "csv":
        names = [name for name, _ in delivery.answers.columns]
        text = as_csv(delivery.rows, names, spreadsheet_safe=sink.spreadsheet_safe)
        return text.encode("utf-8", "replace")
    return as_parquet(delivery.rows, delivery.answers.columns)


def _in_time(path: Path, deadline: float) -> None:
    if time.monotonic() > deadline:
        raise Refused(f"{path} was not written in time")
