"""The report: the results of the runs of a project's models, as one page read in one minute.

Rows of ``tapestry_runs`` and ``tapestry_checks`` and dbt's artifacts go in (`read`, `artifacts`),
become plain values (`record`), are judged (`judge`), and come out as HTML (`page`) or as JSON
(`summary`). Nothing here writes to a table, and nothing of a run depends on it.
"""
