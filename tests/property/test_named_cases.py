"""Queries that once fell over, with the answers that the definition gives them."""

from __future__ import annotations

from pathlib import Path

import pytest
from judge.oracle import connect
from judge.verdict import compare, duck_runs
from judge.written import read_case

CASES = sorted((Path(__file__).parent / "cases").glob("*.json"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_named_case(path: Path, request: pytest.FixtureRequest) -> None:
    """The runs give the answers written down, each in the window of its first instant."""
    case = read_case(path)
    if case.gap:
        request.applymarker(pytest.mark.xfail(reason=case.gap, strict=True))
    verdict = compare(case, case.expected, duck_runs(case.data, connect()), "duckdb")
    assert verdict.kind == "equal", f"{case.why}\n{case.sql}\n{verdict.text}"
