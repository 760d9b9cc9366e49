"""``deliver:`` of a model's configuration, read and checked before anything runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from datetime import timedelta
from difflib import get_close_matches
from typing import Any, ClassVar
from urllib.parse import urlsplit

from tapestry.delivery.addresses import parse_address, parse_addresses
from tapestry.delivery.http_parts import fault_of_header, is_address
from tapestry.delivery.templates import check_template
from tapestry.errors import ConfigurationError
from tapestry.runs.engine.instants import parse_length

SECRET_KEYS = ("password", "secret", "token", "api_key", "user", "headers_secret")
"""Common keys for secrets, which are refused: ours name an environment variable instead."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True)
class Sink:
    """The settings of every sink: a name, by which its cursor is known, and the patience of a run.

    patience
        So long one invocation goes on trying; what is not delivered by then stays for the next.
    """

    kind: ClassVar[str] = ""
    name: str
    patience: timedelta = timedelta(seconds=60)

    @property
    def part_rows(self) -> int | None:
        """The number of rows in each part; None: all of a batch."""
        return None


@dataclass(frozen=True)
class FileSink(Sink):
    """One file a batch, in a folder: ``<model>-<sink>-<number>.<format>``.

    spreadsheet_safe
        In CSV no cell is one that a spreadsheet takes for a formula. False is for machines, which
        then read every text as it is.
    """

    kind = "file"
    path: str = ""
    format: str = "jsonl"
    spreadsheet_safe: bool = True


@dataclass(frozen=True)
class TableSink(Sink):
    """Appended to another Delta table, with ``_matched_at``."""

    kind = "table"
    table: str = ""


@dataclass(frozen=True)
class MailSink(Sink):
    """Mail over SMTP: one digest a batch, or one mail a row."""

    kind = "mail"
    host: str = ""
    sender: str = ""
    recipients: tuple[str, ...] = ()
    port: int = 0
    tls: str = "starttls"
    user_env: str = ""
    password_env: str = ""
    ca_file: str = ""
    timeout: timedelta = timedelta(seconds=30)
    digest: bool = True
    subject: str = ""
    body: str = ""
    body_file: str = ""

    @property
    def part_rows(self) -> int | None:
        """One row in each mail, unless it is a digest."""
        return None if self.digest else 1


@dataclass(frozen=True)
class WebhookSink(Sink):
    """HTTP POST of JSON, signed where there is a secret."""

    kind = "webhook"
    url: str = ""
    url_env: str = ""
    secret_env: str = ""
    headers: Mapping[str, str] | None = None
    headers_env: Mapping[str, str] | None = None
    ca_file: str = ""
    timeout: timedelta = timedelta(seconds=10)
    attempts: int = 4
    rows_per_request: int = 100

    @property
    def part_rows(self) -> int | None:
        """The number of rows in each request."""
        return self.rows_per_request


KINDS: Mapping[str, type[Sink]] = {
    kind.kind: kind for kind in (FileSink, MailSink, WebhookSink, TableSink)
}
CHOICES = {"format": ("jsonl", "csv", "parquet"), "tls": ("starttls", "implicit", "none")}
REQUIRED = {
    "file": ("path",),
    "table": ("table",),
    "mail": ("host", "sender", "recipients"),
    "webhook": (),
}


def parse_sinks(declared: Sequence[Any], where: str = "") -> tuple[Sink, ...]:
    """The sinks of a model.

    Raises ConfigurationError for a key or value that is none, for two sinks of one name, and for a
    secret that stands in the configuration itself.
    """
    try:
        sinks = tuple(_sink(one) for one in declared)
        names = [sink.name for sink in sinks]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ConfigurationError(
                f"deliver: two sinks are called {twice}",
                hint="a sink's progress is kept under its name: give each its own",
            )
        return sinks
    except ConfigurationError as error:
        raise ConfigurationError(error.reason, error.where or where, error.hint) from error


def _sink(declared: Any) -> Sink:
    if not isinstance(declared, Mapping) or "to" not in declared:
        raise ConfigurationError(
            f"deliver: {declared!r} is not a sink",
            hint=f"write it like {{name: archive, to: file, path: out}}; to: {', '.join(KINDS)}",
        )
    kind = _one_of("to", str(declared["to"]), tuple(KINDS))
    cls = KINDS[kind]
    known = {field.name: field for field in fields(cls)}
    given = {str(key): value for key, value in declared.items() if key != "to"}
    for key in given:
        if key not in known:
            raise _unknown(key, kind, tuple(known))
    values = {key: _value(known[key], value) for key, value in given.items() if value is not None}
    for key in ("name", *REQUIRED[kind]):
        if not values.get(key):
            raise ConfigurationError(
                f"deliver: a sink to {kind} has no {key}",
                hint=f"it needs {', '.join(('name', *REQUIRED[kind]))}",
            )
    sink = cls(**values)
    _check(sink)
    return sink


def _unknown(key: str, kind: str, known: tuple[str, ...]) -> ConfigurationError:
    if key in SECRET_KEYS:
        own = [name for name in known if name.endswith("_env")]
        return ConfigurationError(
            f"deliver: {key} may not stand in the configuration: it would be in dbt's files",
            hint="name the environment variable that holds it"
            + (f": {', '.join(own)}" if own else ""),
        )
    near = get_close_matches(key, known, 1)
    return ConfigurationError(
        f"deliver: {key} is not a key of a sink to {kind}",
        hint=(f"did you mean {near[0]}? " if near else "") + f"Valid are: {', '.join(known)}",
    )


def _one_of(key: str, value: str, valid: tuple[str, ...]) -> str:
    if value in valid:
        return value
    near = get_close_matches(value, valid, 1)
    raise ConfigurationError(
        f"deliver: {key}: {value} is not a value of this key",
        hint=(f"did you mean {near[0]}? " if near else "") + f"Valid are: {', '.join(valid)}",
    )


def _value(field: Field[Any], value: Any) -> Any:
    """A value of the field's kind, which its default tells."""
    key, default = field.name, field.default
    if key in CHOICES:
        return _one_of(key, "none" if value is False else str(value), CHOICES[key])
    if isinstance(default, timedelta):
        return parse_length(value, f"deliver: {key}")
    fits = True
    if isinstance(default, bool):
        fits = isinstance(value, bool)
    elif isinstance(default, int):
        fits = isinstance(value, int) and not isinstance(value, bool) and value > 0
    elif isinstance(default, tuple):
        value = (value,) if isinstance(value, str) else value
        fits = isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value)
        value = tuple(value) if fits else value
    elif default is None:
        fits = isinstance(value, Mapping) and all(isinstance(one, str) for one in value.values())
    elif default is MISSING or isinstance(default, str):
        fits = isinstance(value, str)
    if not fits:
        raise ConfigurationError(
            f"deliver: {key}: {value!r} does not fit",
            hint=f"it is a {field.type}" if isinstance(field.type, str) else "",
        )
    return value


def _check(sink: Sink) -> None:
    """Raise ConfigurationError for values that do not fit each other, or a bad name."""
    if not _NAME.fullmatch(sink.name):
        raise ConfigurationError(
            f"deliver: name: {sink.name!r} is not a name",
            hint="letters, digits, and . _ - in between: it is a part of file names",
        )
    if isinstance(sink, WebhookSink):
        _check_webhook(sink)
    if isinstance(sink, MailSink):
        if sink.tls == "none" and sink.password_env:
            raise ConfigurationError(
                "deliver: tls: none would send the password in clear text",
                hint="use tls: starttls or implicit, or leave password_env out",
            )
        if bool(sink.user_env) != bool(sink.password_env):
            raise ConfigurationError(
                "deliver: user_env and password_env belong together", hint="give both, or none"
            )
        for text in (sink.subject, sink.body):
            check_template(text)
        parse_address(sink.sender, "sender")
        if not parse_addresses(sink.recipients, "recipients"):
            raise ConfigurationError(
                "deliver: recipients: there is no address", hint="write it like [ann@example.org]"
            )


def _check_webhook(sink: WebhookSink) -> None:
    if bool(sink.url) == bool(sink.url_env):
        raise ConfigurationError(
            "deliver: a webhook has either url or url_env",
            hint="url_env names the environment variable that holds a secret URL",
        )
    names = dict.fromkeys(sink.headers_env or {}, "")
    for key, value in {**names, **(sink.headers or {})}.items():
        if fault := fault_of_header(key, value):
            raise ConfigurationError(
                f"deliver: headers: {fault}", hint="write them like {x-team: us}"
            )
    if not sink.url:
        return
    if not is_address(sink.url):
        raise ConfigurationError(
            "deliver: url: this is not an address", hint="write it like https://example.org/hook"
        )
    if "@" in urlsplit(sink.url).netloc:
        raise ConfigurationError(
            "deliver: url: a password may not stand in the configuration",
            hint="put the whole URL into an environment variable and name it: url_env",
        )
