"""Addresses of mail: ``name@host`` or ``Display name <name@host>``, nothing else.

They come from the configuration only, never from rows. The grammar is narrow on purpose: what a
lenient parser would read as another or a second address is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from email.header import Header

from tapestry.delivery.visible_text import one_line
from tapestry.errors import ConfigurationError

_ADDRESS = r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[^\s@<>()\[\],;:\\\"]{1,255}"
_BARE = re.compile(_ADDRESS)
_NAMED = re.compile(
    rf'(?:"(?P<quoted>[^"\\<>]*)"|(?P<plain>[^"\\<>,;:@]*?))\s*<(?P<at>{_ADDRESS})>'
)
_PARTS = re.compile(r'(?:"[^"]*"|[^,"])+')
_WORDS = re.compile(r"[A-Za-z0-9 _-]*")


@dataclass(frozen=True)
class Address:
    """A mailbox: ``at`` is what the server is told, in ASCII; ``name`` is shown to readers."""

    at: str
    name: str = ""

    @property
    def header(self) -> str:
        """Return the address for a header; the name is text, even one like an encoded word."""
        if not self.name:
            return self.at
        if _WORDS.fullmatch(self.name) and len(self.name) < 60:
            return f"{self.name} <{self.at}>"
        return f"{Header(self.name, 'utf-8', maxlinelen=70).encode()} <{self.at}>"


def parse_address(text: str, key: str) -> Address:
    """One address; ConfigurationError for anything else."""
    plain = text.strip()
    if found := _NAMED.fullmatch(plain):
        name, at = found["quoted"] or found["plain"] or "", found["at"]
    else:
        name, at = "", plain
    user, _, host = at.rpartition("@")
    try:
        host = host.encode("idna").decode("ascii")
    except UnicodeError:
        host = ""
    if not _BARE.fullmatch(at) or not host or one_line(name) != name:
        raise ConfigurationError(
            f"deliver: {key}: {one_line(text)!r} is not an address",
            hint="write it like ann@example.org or 'Ann <ann@example.org>', in ASCII before the @",
        )
    return Address(f"{user}@{host}", " ".join(name.split()))


def parse_addresses(texts: Iterable[str], key: str) -> tuple[Address, ...]:
    """All addresses of a list; one text may hold several, with commas between them."""
    found = (part for text in texts for part in _PARTS.findall(text) if part.strip())
    return tuple(parse_address(part, key) for part in found)
