"""Signatures of webhooks, and how long a server asks to wait."""

from __future__ import annotations

import json

import pytest

from tapestry.delivery import send_webhook


def test_the_signature_of_the_standard() -> None:
    """The example of the specification is in the docstring; others differ by key and content."""
    body = json.dumps({"a": 1}).encode()
    one = send_webhook.signature("plain", "id", 1, body)
    assert one != send_webhook.signature("plain", "id", 2, body)
    assert one != send_webhook.signature("other", "id", 1, body)


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        (None, None),
        ("", None),
        ("7", 7.0),
        ("-7", 0.0),
        ("nan", None),
        ("inf", float("inf")),
        ("9" * 5000, float("inf")),
        ("soon", None),
        (",", None),
        ("Mon, 01 Jan 1990 00:00:00 GMT", 0.0),
        ("Mon, 01 Jan 99999999999999999999 00:00:00 GMT", None),
        ("Mon, 01 Jan 0001 00:00:00 +9999", None),
        ("Mon, 99 Jan 2026 99:99:99 GMT", None),
    ],
)
def test_how_long_a_server_asks_to_wait(said: str | None, seconds: float | None) -> None:
    assert send_webhook._seconds(said) == seconds
