"""The mail of a part of a batch. Whatever rows hold is text in it, on every version of Python.

The newer interface of Python's email package decodes encoded words in what it is given, and writes
some of them back undecoded: a value ``=?utf-8?q?x=0D=0ABcc:…?=`` becomes a header of its own on
some versions. So the headers are written with the older interface, each as ASCII of a known form:
control characters are made visible first, and a text that is more than plain words is encoded as a
whole. A reader then decodes exactly this text, and no part of it once more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from email.charset import QP, Charset
from email.header import Header
from email.message import Message
from email.mime.text import MIMEText
from email.policy import compat32
from email.utils import formatdate
from pathlib import Path

from tapestry.delivery.addresses import Address, parse_address, parse_addresses
from tapestry.delivery.batch import Delivery
from tapestry.delivery.declare import MailSink
from tapestry.delivery.retry import Refused
from tapestry.delivery.templates import BODY, SUBJECT, render
from tapestry.delivery.visible_text import many_lines, one_line
from tapestry.errors import ConfigurationError

SUBJECT_LENGTH, BODY_LENGTH = 500, 1_000_000
"""Characters; a longer text is cut, and says so."""
_SPACE = re.compile(r"[ \t\r\n]+")
_PLAIN = re.compile(r"(?!.*=\?)[!-~](?:[ -~]{0,64}[!-~])?")


def sender_of(sink: MailSink) -> Address:
    """Return the address of the mail's author."""
    return parse_address(sink.sender, "sender")


def recipients_of(sink: MailSink) -> list[str]:
    """Return the recipients for the server: the configuration's addresses, in ASCII."""
    return [one.at for one in parse_addresses(sink.recipients, "recipients")]


def message_of(sink: MailSink, delivery: Delivery, part: int, rows: Sequence[str]) -> Message:
    """The mail; its Message-ID is the same for every repetition.

    Raises Refused for a template that cannot be filled in.
    """
    subject, content = _texts(sink, delivery, rows)
    sender = sender_of(sink)
    utf8 = Charset("utf-8")
    utf8.body_encoding = QP
    message = MIMEText(content, "plain", utf8)  # type: ignore[arg-type]  # typeshed wants a str
    message["From"] = sender.header
    to = parse_addresses(sink.recipients, "recipients")
    message["To"] = ",\n ".join(address.header for address in to)
    message["Subject"] = _unstructured(subject)
    message["Date"] = formatdate()
    message["Message-ID"] = f"<{delivery.part_id(part)}@{sender.at.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"
    return message


def as_sent(message: Message) -> bytes:
    """The bytes for the server."""
    return message.as_bytes(policy=compat32.clone(linesep="\r\n"))


def _texts(sink: MailSink, delivery: Delivery, rows: Sequence[str]) -> tuple[str, str]:
    """Subject and body."""
    values = [json.loads(row) for row in rows]
    seen = {
        "model": delivery.name,
        "sink": sink.name,
        "count": len(values),
        "rows": values,
        "row": values[0] if values else {},
        "until": delivery.answers.until.isoformat(sep=" "),
    }
    try:
        body = sink.body or BODY
        if sink.body_file:
            body = (Path(delivery.root) / sink.body_file).read_text("utf-8")
        subject = _SPACE.sub(" ", render(sink.subject or SUBJECT, seen, one_line)).strip(" ")
        content = render(body, seen, many_lines)
    except ConfigurationError as error:
        raise Refused(f"{error.reason} ({error.hint})") from error
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        raise Refused(f"the template {sink.body_file} cannot be read: {why}") from error
    return _cut(one_line(subject), SUBJECT_LENGTH, "…"), _cut(
        many_lines(content), BODY_LENGTH, "\n… the rest is left out: this mail would be too long\n"
    )


def _cut(text: str, length: int, end: str) -> str:
    return text if len(text) <= length else text[:length] + end


def _unstructured(text: str) -> str:
    """Return a header's text: unchanged if short and plain, else as encoded words."""
    return text if _PLAIN.fullmatch(text) else Header(text, "utf-8", 70, "Subject").encode()
