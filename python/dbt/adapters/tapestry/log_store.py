"""Commits on a local disk that one of two processes wins, and that start no programs.

Delta has a LogStore create a commit's file only where none exists. On a local disk Hadoop's checks
first and then renames over whatever is there, so that of two processes that commit the same version
within some microseconds one could lose its commit without an error; and without its native
library it starts a dozen programs for each commit, a third of the time that a small one takes.
``LinkLogStore.java`` uses a hard link instead. Spark brings the compiler for it, Janino; the
class is kept, as a jar, beside the list of jars. The processes of a cluster get it too: they read
the commits of a table.
"""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from dbt.adapters.events.logging import AdapterLogger

from dbt.adapters.tapestry.cache_folders import cache_or_new
from tapestry.folders import open_own, write_own

if TYPE_CHECKING:
    from pyspark import SparkContext

SETTING = "spark.delta.logStore.file.impl"
CLASS = "org.dbt.tapestry.LinkLogStore"
_SOURCE = Path(__file__).with_name("LinkLogStore.java")

logger = AdapterLogger("Tapestry")


def use_links(context: SparkContext) -> bool:
    """Let a Spark that has just started commit by links; return False where it does not.

    That is so where its settings name a LogStore for files, and where the class cannot be compiled,
    which the debug log explains. No Delta table may have been opened before.
    """
    jvm = context._jvm
    assert jvm is not None
    if context.getConf().contains(SETTING):
        return False
    try:
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        jar = _jar(jvm, loader)
        loader.addURL(jvm.java.io.File(str(jar)).toURI().toURL())
        loader.loadClass(CLASS)
        if not context._jsc.sc().isLocal():
            context._jsc.addJar(jar.as_uri())
        context._jsc.sc().conf().set(SETTING, CLASS)
        return True
    except Exception as error:
        logger.debug(f"commits on local disks stay Hadoop's: {str(error).splitlines()[0]}")
        return False


def _jar(jvm: object, loader: object) -> Path:
    """Return the jar of the class, compiled by the first process that has this source."""
    source = _SOURCE.read_text()
    digest = hashlib.sha256(source.encode()).hexdigest()[:16]
    jar = cache_or_new() / f"link-log-store-{digest}.jar"
    with suppress(FileNotFoundError):
        os.close(open_own(jar))
        return jar
    compiler = jvm.org.codehaus.janino.SimpleCompiler()  # type: ignore[attr-defined]
    compiler.setParentClassLoader(loader)
    compiler.cook(source)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(f"{CLASS.replace('.', '/')}.class", bytes(compiler.getBytecodes()[CLASS]))
    write_own(jar, content.getvalue())
    return jar
