"""Rewrites queries: takes a query's text and a catalog, gives a rewritten query or a refusal.

Knows sqlglot; knows nothing of Spark's sessions, dbt or Jinja.
"""

from tapestry.sql.catalog import Catalog, Column, Source, View
from tapestry.sql.look.static_answer import set_clock, static_answer
from tapestry.sql.look.trace import Step
from tapestry.sql.read.parse import relation_names
from tapestry.sql.rewriter import rewrite
from tapestry.sql.rewriting import Rewriting
from tapestry.sql.scan import JoinScan, Scan, Window

__all__ = [
    "Catalog",
    "Column",
    "JoinScan",
    "Rewriting",
    "Scan",
    "Source",
    "Step",
    "View",
    "Window",
    "relation_names",
    "rewrite",
    "set_clock",
    "static_answer",
]
