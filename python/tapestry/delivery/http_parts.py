"""Checks headers and addresses of requests, which must not end one and begin another."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\xa0-\xff]*")
_ADDRESS = re.compile(r"[^\s\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
_OURS = ("content-length", "transfer-encoding", "content-type", "user-agent")


def fault_of_header(name: str, value: str) -> str:
    """Return why a header is invalid, without its value, which may be secret; '' if it is valid."""
    if not _NAME.fullmatch(name):
        return f"{name[:50]!r} is not the name of a header"
    if name.lower() in _OURS or name.lower().startswith("webhook-"):
        return f"the header {name} is set by the delivery itself"
    if not _VALUE.fullmatch(value):
        return f"the header {name} has a value with a control character, or one outside of Latin-1"
    return ""


def is_address(url: str) -> bool:
    """Return whether a text is a valid URL of a webhook."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  # asks whether it is a number
    except ValueError:
        return False
    good = parts.scheme in ("http", "https") and bool(parts.hostname)
    return good and bool(_ADDRESS.fullmatch(url))
