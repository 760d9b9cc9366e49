"""Why an embedded Spark did not start."""

from __future__ import annotations

from dbt.adapters.tapestry import embedded


def test_a_user_without_a_name_is_told_so() -> None:
    """As in a container that runs as a number; Hadoop's own words are a NullPointerException's."""
    text = "java.lang.NullPointerException: invalid null input: name\n\tat x\n"
    assert "/etc/passwd" in embedded._cause(text)
    assert embedded._cause("") == "the JVM ended before it was up."


def test_a_cause_that_nobody_knows_is_told_in_the_jvm_s_words() -> None:
    text = 'WARN x\nException in thread "main" java.io.IOException: disk is full\n\tat a.b(c)\n'
    assert embedded._cause(text).endswith(
        ': Exception in thread "main" java.io.IOException: disk is full'
    )
