"""The configuration of sinks."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tapestry.delivery import declare
from tapestry.delivery.declare import parse_sinks
from tapestry.errors import ConfigurationError
from tapestry.runs.kinds.registry import parse_config

FILE = {"name": "a", "to": "file", "path": "out"}

HOOK = {"name": "a", "to": "webhook", "url": "https://example.org/x"}

MAIL = {"name": "a", "to": "mail", "host": "h", "sender": "s@x", "recipients": "r@x"}

WRONG: list[tuple[Any, str, str]] = [
    ("out", "'out' is not a sink", "file, mail, webhook, table"),
    ({"name": "a", "to": "fiel", "path": "x"}, "fiel is not a value", "did you mean file?"),
    ({**FILE, "fromat": "csv"}, "fromat is not a key", "did you mean format?"),
    ({**FILE, "format": "cvs"}, "cvs is not a value", "did you mean csv?"),
    ({"name": "a", "to": "file"}, "has no path", "it needs name, path"),
    ({**FILE, "name": "../a"}, "is not a name", "letters"),
    ({**FILE, "patience": "soon"}, "not a length of time", "30 seconds"),
    ({**HOOK, "attempts": "3"}, "attempts: '3' does not fit", "int"),
    ({**HOOK, "attempts": 0}, "attempts: 0 does not fit", "int"),
    ({**HOOK, "headers": {"a": 1}}, "does not fit", ""),
    ({**HOOK, "url_env": "X"}, "either url or url_env", ""),
    ({**HOOK, "url": "example.org"}, "not an address", "https://"),
    ({**HOOK, "url": "https://me:pw@example.org"}, "password may not stand", "url_env"),
    ({**HOOK, "secret": "x"}, "secret may not stand in", "secret_env"),
    ({**MAIL, "password": "x"}, "password may not stand in", "password_env"),
    ({**MAIL, "password_env": "X", "user_env": "Y", "tls": "none"}, "clear text", "starttls"),
    ({**MAIL, "password_env": "X"}, "belong together", ""),
    ({**MAIL, "subject": "[[ x"}, "template cannot be read", "[["),
    ({**MAIL, "digest": "yes"}, "digest: 'yes' does not fit", "bool"),
]


@pytest.mark.parametrize(("declared", "reason", "hint"), WRONG)
def test_what_is_no_sink(declared: Any, reason: str, hint: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        parse_sinks([declared], "models/x.sql")
    assert reason in raised.value.reason
    assert hint in raised.value.hint
    assert raised.value.where == "models/x.sql"
    assert "pw@" not in str(raised.value)
    assert len(str(raised.value).splitlines()) <= 5


def test_sinks() -> None:
    declared = [FILE, {**MAIL, "name": "b", "digest": False}, {**HOOK, "name": "c"}]
    file, mail, hook = parse_sinks(declared)
    assert (file.part_rows, mail.part_rows, hook.part_rows) == (None, 1, 100)
    assert file.patience == timedelta(seconds=60)
    with pytest.raises(ConfigurationError, match="two sinks are called a"):
        parse_sinks([FILE, HOOK])
    assert {kind.kind for kind in declare.KINDS.values()} == set(declare.REQUIRED)


def test_deliver_is_a_key_of_a_model() -> None:
    assert parse_config("continuous", {"deliver": FILE}).deliver == (FILE,)
    assert parse_config("continuous", {"meta": {"deliver": [FILE]}}).deliver == (FILE,)
    with pytest.raises(ConfigurationError, match="delivers is not a configuration key"):
        parse_config("continuous", {"delivers": [FILE]})
