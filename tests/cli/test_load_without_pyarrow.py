"""`tapestry load` says which extra it needs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.command import tapestry

from tapestry.errors import ConfigurationError


def test_without_pyarrow_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mailbox = tmp_path / "one.mbox"
    mailbox.write_bytes(b"")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    result = tapestry("load", str(mailbox), "--project-dir", str(tmp_path))
    assert isinstance(result.exception, ConfigurationError)
    assert result.exception.hint == "pip install 'dbt-tapestry[mail]'"
