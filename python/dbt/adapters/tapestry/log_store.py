"""Commits on a local disk that one of two processes wins, and that start no programs.

Delta leaves it to a LogStore to put a commit's file where none is. On a local disk Hadoop's looks
first and then renames over whatever is there, so that of two processes that commit the same version
within some microseconds one could lose its commit without being told; and without its native
library it starts a dozen programs for each commit, a third of the time that a small one takes.
``LinkLogStore.java`` does it by a hard link instead. Spark brings the compiler for it, Janino; the
class is kept beside the list of jars.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from dbt.adapters.events.logging import AdapterLogger

from dbt.adapters.tapestry.jars import cache_folder

if TYPE_CHECKING:
    from pyspark import SparkContext

SETTING = "spark.delta.logStore.file.impl"
CLASS = "org.dbt.tapestry.LinkLogStore"
_SOURCE = Path(__file__).with_name("LinkLogStore.java")

logger = AdapterLogger("Tapestry")


def use_links(context: SparkContext) -> bool:
    """Let a Spark that has just started commit by links; False where it goes on as it would.

    That is so where its settings name a LogStore for files, and where the class cannot be had,
    which the debug log explains. No Delta table may have been opened before.
    """
    jvm = context._jvm
    assert jvm is not None
    if context.getConf().contains(SETTING):
        return False
    try:
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        loader.addURL(jvm.java.io.File(str(_classes(jvm, loader))).toURI().toURL())
        loader.loadClass(CLASS)
        context._jsc.sc().conf().set(SETTING, CLASS)
        return True
    except Exception as error:
        logger.debug(f"commits on local disks stay Hadoop's: {str(error).splitlines()[0]}")
        return False


def _classes(jvm: object, loader: object) -> Path:
    """The folder of the compiled class; compiled by the first process of this source."""
    source = _SOURCE.read_text()
    folder = cache_folder() / f"classes-{hashlib.sha256(source.encode()).hexdigest()[:16]}"
    place = folder / f"{CLASS.replace('.', '/')}.class"
    if place.exists():
        return folder
    compiler = jvm.org.codehaus.janino.SimpleCompiler()  # type: ignore[attr-defined]
    compiler.setParentClassLoader(loader)
    compiler.cook(source)
    place.parent.mkdir(parents=True, exist_ok=True)
    partial = place.with_suffix(f".{os.getpid()}")
    partial.write_bytes(bytes(compiler.getBytecodes()[CLASS]))
    partial.replace(place)
    return folder
