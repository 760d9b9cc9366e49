"""Mail over SMTP: TLS unless said otherwise, certificates always checked."""

from __future__ import annotations

import json
import smtplib
import ssl
from collections.abc import Sequence
from email.message import EmailMessage
from email.utils import formatdate, parseaddr
from pathlib import Path

from tapestry.delivery.batch import Delivery
from tapestry.delivery.declare import MailSink
from tapestry.delivery.retry import Refused, Unavailable
from tapestry.delivery.secrets import from_environment
from tapestry.delivery.templates import BODY, SUBJECT, render
from tapestry.errors import ConfigurationError

PORTS = {"starttls": 587, "implicit": 465, "none": 25}


def send_mail(sink: MailSink, delivery: Delivery, part: int, rows: Sequence[str]) -> None:
    """Send one mail with these rows; Unavailable where trying again may help, Refused where not."""
    message = message_of(sink, delivery, part, rows)
    seconds = sink.timeout.total_seconds()
    where = f"{sink.host}:{sink.port or PORTS[sink.tls]}"
    try:
        with _connected(sink, seconds) as server:
            if sink.password_env:
                server.login(from_environment(sink.user_env), from_environment(sink.password_env))
            left_out = server.send_message(message)
    except ssl.SSLCertVerificationError as error:
        raise Refused(f"the certificate of {where} is not one to trust") from error
    except smtplib.SMTPNotSupportedError as error:
        raise Refused(f"{where} does not offer what is needed: {error}") from error
    except smtplib.SMTPRecipientsRefused as error:
        raise Refused(f"{where} takes no mail for {', '.join(error.recipients)}") from error
    except smtplib.SMTPResponseException as error:
        text = error.smtp_error
        said = text.decode(errors="replace") if isinstance(text, bytes) else str(text)
        kind = Unavailable if 400 <= error.smtp_code < 500 else Refused
        raise kind(f"{where} answered {error.smtp_code} {said[:200]}") from error
    except TimeoutError as error:
        raise Unavailable(f"{where} did not answer within {seconds:g} s") from error
    except smtplib.SMTPServerDisconnected as error:
        # smtplib says so of a server that does not answer in time, too.
        what = "closed the connection"
        if "timed out" in str(error):
            what = f"did not answer within {seconds:g} s"
        raise Unavailable(f"{where} {what}") from error
    except (OSError, smtplib.SMTPException) as error:
        raise Unavailable(f"{where} cannot be reached ({type(error).__name__})") from error
    if left_out:
        # Some took it: sending to all again would be worse than saying whom it did not reach.
        raise PartlyRefused(f"{where} took no mail for {', '.join(left_out)}")


class PartlyRefused(Exception):
    """Some of the recipients have it, the others never will: worth a warning."""


def message_of(sink: MailSink, delivery: Delivery, part: int, rows: Sequence[str]) -> EmailMessage:
    """The mail; its Message-ID is the same for every repetition.

    Raises Refused for a template that cannot be filled in.
    """
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
            body = (Path(delivery.root) / sink.body_file).read_text()
        subject = " ".join(render(sink.subject or SUBJECT, seen).split())
        content = render(body, seen)
    except ConfigurationError as error:
        raise Refused(f"{error.reason} ({error.hint})") from error
    except OSError as error:
        raise Refused(f"the template {sink.body_file} cannot be read: {error.strerror}") from error
    domain = parseaddr(sink.sender)[1].rpartition("@")[2] or "localhost"
    message = EmailMessage()
    message["From"] = sink.sender
    message["To"] = ", ".join(sink.recipients)
    message["Subject"] = subject[:500]
    message["Date"] = formatdate()
    message["Message-ID"] = f"<{delivery.part_id(part)}@{domain}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(content)
    return message


def _connected(sink: MailSink, seconds: float) -> smtplib.SMTP:
    """A connection with TLS as the sink says; the server's certificate is checked."""
    port = sink.port or PORTS[sink.tls]
    if sink.tls == "implicit":
        return smtplib.SMTP_SSL(sink.host, port, timeout=seconds, context=_context(sink))
    server = smtplib.SMTP(sink.host, port, timeout=seconds)
    if sink.tls == "starttls":
        try:
            server.starttls(context=_context(sink))
        except BaseException:
            server.close()
            raise
    return server


def _context(sink: MailSink) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=sink.ca_file or None)
    except OSError as error:
        raise Refused(f"{sink.ca_file} holds no certificates") from error
