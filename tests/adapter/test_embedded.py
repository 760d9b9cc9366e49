"""Why an embedded Spark did not start."""

from __future__ import annotations

from pathlib import Path

from dbt.adapters.tapestry import embedded


def test_a_user_without_a_name_is_told_so(tmp_path: Path) -> None:
    """As in a container that runs as a number; Hadoop's own words are a NullPointerException's."""
    log = tmp_path / "spark.log"
    log.write_text("java.lang.NullPointerException: invalid null input: name\n\tat x\n")
    assert "/etc/passwd" in embedded._cause(log)
    log.write_text("")
    assert embedded._cause(log) == "the JVM ended before it was up."
