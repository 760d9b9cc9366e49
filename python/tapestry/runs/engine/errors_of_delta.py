"""Classifies an engine's errors by their text, which is all that thrift and connect give."""

from __future__ import annotations

import logging
import re

_NOT_FOUND = (
    "TABLE_OR_VIEW_NOT_FOUND",
    "SCHEMA_NOT_FOUND",
    "DELTA_TABLE_NOT_FOUND",
    "DELTA_MISSING_DELTA_TABLE",
)
_VIEW = ("EXPECT_TABLE_NOT_VIEW",)
_LOST_RACE = (
    "DELTA_CONCURRENT_",
    "DELTA_METADATA_CHANGED",
    "DELTA_PROTOCOL_CHANGED",
    "CONCURRENTTRANSACTIONEXCEPTION",
    "CONCURRENTWRITEEXCEPTION",
    "CONCURRENTAPPENDEXCEPTION",
    "METADATACHANGEDEXCEPTION",
    "PROTOCOLCHANGEDEXCEPTION",
    "DELTA_VERSION_ALREADY_EXISTS",
)
_EXISTS = ("TABLE_OR_VIEW_ALREADY_EXISTS", "DELTA_TABLE_ALREADY_EXISTS")
_LACKS_COLUMN = (
    "UNRESOLVED_COLUMN",
    "UNRESOLVED_INSERT_COLUMN",
    "DELTA_MISSING_COLUMN",
    "DELTA_COLUMN_NOT_FOUND",
    "COLUMN_NOT_FOUND",
)
_HAS_COLUMN = ("FIELD_ALREADY_EXISTS", "COLUMN_ALREADY_EXISTS", "DUPLICATE_COLUMNS")
_ODD_NAMES = ("DELTA_INVALID_CHARACTERS_IN_COLUMN_NAME",)
_FILES_GONE = ("DELTA_PATH_DOES_NOT_EXIST",)
_LOG_GONE = ("PATH_NOT_FOUND",)
_TOO_OLD = ("TIME_TRAVEL_BEYOND_DELETED_FILE_RETENTION",)
_HISTORY_GONE = (
    *_TOO_OLD,
    "FILE_NOT_EXIST",
    "DELTA_FILE_NOT_FOUND",
    "DELTA_VERSION_NOT_FOUND",
    "DELTA_NO_RECREATABLE_HISTORY_FOUND",
    "DELTA_TRUNCATED_TRANSACTION_LOG",
    "DELTA_LOG_FILE_NOT_FOUND",
    "DELTA_VERSIONS_NOT_CONTIGUOUS",
)
_FOLDER = re.compile(r"location \(?'([^']+)'")
_LEFTOVER = ("DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION", "LOCATION_ALREADY_EXISTS")


def not_found(error: BaseException) -> bool:
    """Return whether the error says that there is no such table."""
    return _says(error, _NOT_FOUND)


def is_view(error: BaseException) -> bool:
    """Return whether the error says that a view has that name."""
    return _says(error, _VIEW)


def files_gone(error: BaseException) -> bool:
    """Return whether the catalog knows the table, but somebody deleted its folder."""
    return _says(error, _FILES_GONE)


def log_gone(error: BaseException) -> bool:
    """Return whether none of the files that were named exists any more."""
    return _says(error, _LOG_GONE)


def history_gone(error: BaseException) -> bool:
    """Return whether an earlier version cannot be read any more: of its log, or of its files."""
    return _says(error, _HISTORY_GONE)


def too_old(error: BaseException | None) -> bool:
    """Return whether a version is refused for its age alone: its files may still exist."""
    return error is not None and _says(error, _TOO_OLD)


def lost_race(error: BaseException) -> bool:
    """Return whether another writer committed first, and this commit did not happen."""
    return _says(error, _LOST_RACE)


def loudness_of_tidying(error: BaseException) -> int:
    """Return the log level for files that were not merged.

    The first process merges a table for all models, which is as good for the others.
    """
    return logging.DEBUG if lost_race(error) else logging.WARNING


def already_exists(error: BaseException) -> bool:
    """Return whether the table exists by now."""
    return _says(error, _EXISTS)


def lacks_column(error: BaseException) -> bool:
    """Return whether the table lacks a column, as an older version of ours made it."""
    return _says(error, _LACKS_COLUMN)


def has_column(error: BaseException) -> bool:
    """Return whether the table has the column by now."""
    return _says(error, _HAS_COLUMN)


def odd_names(error: BaseException) -> bool:
    """Return whether a column's name has characters that need column mapping."""
    return _says(error, _ODD_NAMES)


def leftover(error: BaseException) -> bool:
    """Return whether the new table's folder is not empty: its creation was killed earlier."""
    return _says(error, _LEFTOVER)


def folder_in(error: BaseException) -> str:
    """Return the folder that such an error is about; '' where it names none."""
    found = _FOLDER.search(str(error))
    return found[1] if found else ""


def _says(error: BaseException, marks: tuple[str, ...]) -> bool:
    text = f"{type(error).__name__} {error}".upper()
    return any(mark in text for mark in marks)
