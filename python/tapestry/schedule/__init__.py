"""Runs a project again and again: over past data in steps (replay), or for as long as wanted.

`ticks` and `steps` say when (pure), `warm` runs dbt without parsing again, `pool` holds worker
processes, `watcher` joins them; `stop` is how a signal ends it.
"""
