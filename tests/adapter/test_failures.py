"""Spark's errors, cut to what matters."""

from __future__ import annotations

from dbt.adapters.tapestry.failures import short_message


class _Java:
    """A Java exception, as far as messages go."""

    def __init__(self, message: str | None, cause: _Java | None = None) -> None:
        self.message, self.cause = message, cause

    def getMessage(self) -> str | None:
        return self.message

    def getCause(self) -> _Java | None:
        return self.cause

    def getClass(self) -> _Java:
        return self

    def getSimpleName(self) -> str:
        return "NullPointerException"


def test_messages_are_cut_to_what_matters() -> None:
    parse = "\n[PARSE_SYNTAX_ERROR] Syntax error at or near 'fro'. (line 1, pos 9)\n\n== SQL ==\n"
    text = parse + "select a fro t\n---------^^^\n"
    assert short_message(ValueError(text)).splitlines() == [
        "[PARSE_SYNTAX_ERROR] Syntax error at or near 'fro'. (line 1, pos 9)",
        "select a fro t",
        "---------^^^",
    ]
    plan = "[UNRESOLVED_COLUMN] no `a`; line 1 pos 7;\n'Project ['a]\n+- OneRowRelation\n"
    assert short_message(ValueError(plan)) == "[UNRESOLVED_COLUMN] no `a`; line 1 pos 7"
    tree = "[BAD] first line\nsecond line. SQLSTATE: 42K05;\nAddColumns [a]\n+- Table t\n"
    assert short_message(ValueError(tree)) == "[BAD] first line\nsecond line. SQLSTATE: 42K05"


def test_the_cause_with_an_error_class_is_told() -> None:
    error = ValueError("outer")
    cause = _Java("[DIVIDE_BY_ZERO] Division by zero.\n\tat org.apache.X(Y.scala:1)")
    error.java_exception = _Java("Job aborted due to stage failure", cause)  # type: ignore[attr-defined]
    assert short_message(error) == "[DIVIDE_BY_ZERO] Division by zero."
    error.java_exception = _Java(None)  # type: ignore[attr-defined]
    assert short_message(error) == "NullPointerException"


def test_a_version_that_is_too_old_is_explained() -> None:
    said = (
        "[DELTA_UNSUPPORTED_TIME_TRAVEL_BEYOND_DELETED_FILE_RETENTION_DURATION] Cannot time travel"
        " beyond delta.deletedFileRetentionDuration (168 HOURS) set on the table."
    )
    first, second = short_message(ValueError(said)).splitlines()
    assert first == said
    assert "Run again" in second
    assert "interval 30 days" in second


def test_rows_of_another_time_than_their_batch_are_explained() -> None:
    parted = "[DELTA_REPLACE_WHERE_MISMATCH] Written data does not conform to partial overwrite"
    plain = (
        "[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] CHECK constraint EXPRESSION(('at < 2026-02-01))"
        " (at < TIMESTAMP '2026-02-01 00:00:00') violated by row with values:\n - at : 17"
    )
    for said in (parted, plain):
        assert "event_time is not within the batch" in short_message(ValueError(said))
    named = plain.replace("EXPRESSION(('at < 2026-02-01))", "positive")
    assert short_message(ValueError(named)) == named
