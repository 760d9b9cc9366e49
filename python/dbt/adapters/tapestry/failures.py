"""Spark's errors as one short message: the reason and the place, without plan and stack."""

from __future__ import annotations

import re

from tapestry.words import STACK

_MARK = re.compile(r"\[[A-Z][A-Z0-9_.]+\]")
_REPEATED = re.compile(r"(\[[A-Z][A-Z0-9_.]+\]) [\w.$]+(?:Exception|Error): \1")
"""The form of a Thrift server's message: the error class, Java's class, and the message itself."""
_PLAN = re.compile(r";\n(?='|[+:]-|[^\n]+\n\s*[+:]-)")
_MAX_LINES = 8
_TOO_OLD = "TIME_TRAVEL_BEYOND_DELETED_FILE_RETENTION"
_READ_NO_MORE = (
    "What is read was the newest version of its table, or is what an earlier run read, and somebody"
    " has committed to the table since. Run again; a longer delta.deletedFileRetentionDuration of"
    " the table (interval 30 days) lets Delta read it for longer"
)
_OF_ANOTHER_TIME = ("DELTA_REPLACE_WHERE_MISMATCH", "CHECK constraint EXPRESSION(")
"""Errors for rows outside a batch: by partition columns, and by others (an unnamed constraint)."""
_OF_ITS_BATCH = (
    "A batch of a microbatch model gave rows whose event_time is not within the batch, or NULL. Set"
    " event_time on what the model reads, and let the model's event_time name the column that"
    " keeps the time of its rows, not a part of it"
)


def short_message(error: BaseException) -> str:
    """Return the reason of an error, at most eight lines.

    In a chain of Java causes, the innermost counts that carries one of Spark's error classes
    (`[TASK_WRITE_FAILED]` has `[DIVIDE_BY_ZERO]` within); without any, the innermost of all.
    """
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    texts = _java_messages(java) if java is not None else []
    if not texts:
        texts = [_REPEATED.sub(r"\1", _said(error))]
    marked = [text for text in texts if _MARK.match(text.strip())]
    message = _trim(marked[-1] if marked else _inner_mark(texts) or texts[-1])
    for marks, told in (((_TOO_OLD,), _READ_NO_MORE), (_OF_ANOTHER_TIME, _OF_ITS_BATCH)):
        if any(mark in message for mark in marks):
            return f"{message}\n{told}"
    return message


def has_stack(error: BaseException) -> bool:
    """Return whether an error's message shows Java's stack."""
    return STACK.search(_said(error)) is not None


def _said(error: BaseException) -> str:
    """Return an exception's message; a Thrift server's answer is its first argument."""
    status = getattr(error.args[0], "status", None) if error.args else None
    return str(getattr(status, "errorMessage", None) or error)


def _java_messages(java: object) -> list[str]:
    """Return the messages of an exception and its causes, from the outside in."""
    messages: list[str] = []
    while java is not None and len(messages) < 20:
        try:
            text = java.getMessage()  # type: ignore[attr-defined]
            name = java.getClass().getSimpleName()  # type: ignore[attr-defined]
            java = java.getCause()  # type: ignore[attr-defined]
        except Exception:  # the JVM is gone: what was read so far has to do
            break
        messages.append(str(text) if text else str(name))
    return messages


def _inner_mark(texts: list[str]) -> str | None:
    """Return a text from the error class inside it on, as in `…: SparkException: [CLASS] …`."""
    for text in texts:
        match = _MARK.search(text)
        if match:
            return text[match.start() :]
    return None


def _trim(text: str) -> str:
    """Cut the plan, the stack and the whole SQL off; keep the line that points into it."""
    stack = STACK.search(text)
    if stack:
        text = text[: stack.start()]
    text = text.split("\nJVM stacktrace:")[0].split("\nDriver stacktrace:")[0]
    head, _, quoted = text.partition("\n== SQL")
    lines = [line.rstrip() for line in _PLAN.split(head)[0].splitlines()]
    lines = [line for line in lines if line.strip()]
    pointed = quoted.splitlines()[1:]
    for number, line in enumerate(pointed):
        if re.fullmatch(r"-*\^+-*", line.strip()) and number:
            lines += [pointed[number - 1][:200], line[:200]]
            break
    return "\n".join(lines[:_MAX_LINES])
