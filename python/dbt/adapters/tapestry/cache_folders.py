"""Folders for files that are kept between starts, or else for those of this process alone.

A home can be missing or read-only, or belong to somebody else (root in a container whose `HOME` is
the host's), or be open to a group. None of this needs to keep Spark from starting: the files are
then made again, in a new folder in the temporary directory that is removed with the process.
"""

from __future__ import annotations

import atexit
import shutil
from functools import cache
from pathlib import Path

from dbt.adapters.events.logging import AdapterLogger

from tapestry.errors import ConfigurationError
from tapestry.folders import cache_folder, held_temporary, ivy_folder, own_folder

logger = AdapterLogger("Tapestry")


def cache_or_new(*parts: str) -> Path:
    """Return `folders.cache_folder`, or a new folder that this process removes at its end.

    Raises ConfigurationError where the temporary directory is not safe either.
    """
    try:
        return cache_folder(*parts)
    except (ConfigurationError, OSError) as error:
        _warn(_reason(error))
        return _new("cache", *parts)


def cache_is_kept() -> bool:
    """Return whether a later process will find what this one puts into the cache."""
    try:
        cache_folder()
    except (ConfigurationError, OSError):
        return False
    return True


def ivy_or_new() -> Path:
    """Return `folders.ivy_folder`, or a folder in the cache if that one is not to be used."""
    try:
        return ivy_folder()
    except (ConfigurationError, OSError) as error:
        return new_ivy(_reason(error))


def new_ivy(reason: str) -> Path:
    """Return a folder for fetched jars that this user's other programs do not use."""
    folder = cache_or_new("ivy")
    logger.info(f"Spark's jars are fetched to {folder}: {reason}")
    return folder


def _reason(error: ConfigurationError | OSError) -> str:
    if isinstance(error, ConfigurationError):
        return f"{error.reason}; {error.hint}"
    return f"{error.filename} cannot be written ({error.strerror}); set XDG_CACHE_HOME"


@cache
def _warn(reason: str) -> None:
    """Warn of the reason, once."""
    logger.warning(
        "No cache is kept between starts: each takes longer and may fetch Spark's jars anew, and"
        f" no Spark is shared. {reason}"
    )


def _new(*parts: str) -> Path:
    folder = _of_this_process()
    for part in parts:
        folder = own_folder(folder / part)
    return folder


@cache
def _of_this_process() -> Path:
    folder = held_temporary()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
