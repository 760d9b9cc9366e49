"""Mail over SMTP: TLS unless said otherwise, certificates always checked.

The whole conversation has one deadline, and what the server says in it one bound.
"""

from __future__ import annotations

import smtplib
import socket
import ssl
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any, BinaryIO

from tapestry.delivery.batch import Delivery
from tapestry.delivery.declare import MailSink
from tapestry.delivery.exchange import Exchange, within
from tapestry.delivery.message import as_sent, message_of, recipients_of, sender_of
from tapestry.delivery.retry import Refused, Unavailable
from tapestry.delivery.secrets import from_environment

PORTS = {"starttls": 587, "implicit": 465, "none": 25}
HEARD = 1_000_000
"""Bytes that a server may say in one conversation."""


def send_mail(
    sink: MailSink, delivery: Delivery, part: int, rows: Sequence[str], seconds: float
) -> None:
    """Send one mail with these rows, within ``seconds`` from the lookup of the name to the answer.

    Unavailable where trying again may help, Refused where not; PartlyRefused where some have it.
    """
    content = as_sent(message_of(sink, delivery, part, rows))
    where = f"{sink.host}:{sink.port or PORTS[sink.tls]}"
    try:
        left_out = within(seconds, where, partial(_talk, sink, content, seconds))
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
        raise Unavailable(f"{where} did not answer within {seconds:.3g} s") from error
    except smtplib.SMTPServerDisconnected as error:
        # smtplib says so of a server that does not answer in time, too.
        what = "closed the connection"
        if "timed out" in str(error):
            what = f"did not answer within {seconds:.3g} s"
        raise Unavailable(f"{where} {what}") from error
    except (OSError, smtplib.SMTPException) as error:
        raise Unavailable(f"{where} cannot be reached ({type(error).__name__})") from error
    if left_out:
        # Some took it: sending to all again would be worse than saying whom it did not reach.
        raise PartlyRefused(f"{where} took no mail for {', '.join(left_out)}")


class PartlyRefused(Exception):
    """A mail that some recipients have and others never will: worth a warning."""


def _talk(sink: MailSink, content: bytes, seconds: float, exchange: Exchange) -> list[str]:
    """Hold the conversation; return the recipients that the server refused."""
    server = _connected(sink, seconds, exchange)
    try:
        if sink.password_env:
            server.login(from_environment(sink.user_env), from_environment(sink.password_env))
        left_out = server.sendmail(sender_of(sink).at, recipients_of(sink), content)
        # The mail is accepted: an error at QUIT makes no difference.
        with suppress(OSError, smtplib.SMTPException):
            server.putcmd("quit")
        return list(left_out)
    finally:
        server.close()


class _Bounded:
    """A server's output, limited in total: smtplib limits a line, not the number of lines."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._left = file, HEARD

    def readline(self, size: int) -> bytes:
        line = self._file.readline(size)
        self._left -= len(line)
        if self._left < 0:
            raise Refused(f"the server says more than {HEARD} bytes: this is no mail server")
        return line

    def close(self) -> None:
        self._file.close()


class _Smtp(smtplib.SMTP):
    """The client of smtplib, with its connection and answers bounded."""

    file: Any

    def __init__(self, exchange: Exchange, host: str, port: int, seconds: float) -> None:
        self.exchange = exchange
        try:
            super().__init__(host, port, timeout=seconds)
        except BaseException:
            self.close()
            raise

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        # smtplib asks here for each connection, before TLS, and has no public way for it.
        return self.exchange.watch(socket.create_connection((host, port), timeout))

    def getreply(self) -> tuple[int, bytes]:
        if self.file is None and self.sock is not None:
            self.file = _Bounded(self.sock.makefile("rb"))
        return super().getreply()


class _SmtpOverTls(smtplib.SMTP_SSL, _Smtp):
    """The bounded client with TLS from the first byte on, over the connection of ``_Smtp``."""

    def __init__(
        self, exchange: Exchange, host: str, port: int, seconds: float, context: ssl.SSLContext
    ) -> None:
        self.exchange = exchange
        try:
            smtplib.SMTP_SSL.__init__(self, host, port, timeout=seconds, context=context)
        except BaseException:
            self.close()
            raise


def _connected(sink: MailSink, seconds: float, exchange: Exchange) -> smtplib.SMTP:
    """A connection with TLS as the sink says; the server's certificate is checked."""
    port = sink.port or PORTS[sink.tls]
    if sink.tls == "implicit":
        return _SmtpOverTls(exchange, sink.host, port, seconds, _context(sink))
    server = _Smtp(exchange, sink.host, port, seconds)
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
