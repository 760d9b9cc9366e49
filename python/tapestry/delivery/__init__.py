"""Layer 2, above runs: delivers new answers to files, mail, webhooks and other tables.

``declare`` reads what a model's author wrote under ``deliver:``, ``cursors`` keeps how far each
sink got, ``rows`` reads what is new, the ``send_…`` modules bring it there, and ``deliver`` does
all that in order. Nothing here knows dbt or Spark: the session speaks SQL, as for a run.
"""
