"""Fetch Delta's jars into the local cache by starting Spark once; later starts need no network."""

from __future__ import annotations

import sys
from pathlib import Path

from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.tapestry.embedded import start
from tapestry.folders import temporary_folder


def main() -> int:
    """Write a small Delta table to prove that the jars are there; else say what is wrong.

    The log stays, in the folder in which this is run.
    """
    try:
        with temporary_folder() as folder:
            session = start(root=folder, log_path=str(Path("logs").absolute()), say=print)
            session.range(1).write.format("delta").save(f"{folder}/table")
            session.stop()
    except DbtRuntimeError as error:
        print(error.msg, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
