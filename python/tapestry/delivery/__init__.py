"""Layer 4: new answers brought to where people look: files, mail, webhooks, other tables.

``declare`` reads what a model's author wrote under ``deliver:``, ``cursors`` keeps how far each
sink got, ``rows`` reads what is new, the ``send_…`` modules bring it there, and ``deliver`` does
all that in order. Nothing here knows dbt or Spark: the session speaks SQL, as for a run.
"""
