"""What `tapestry advise` says of a dbt project, or of a folder of SQL, that it only reads.

``survey.survey`` is the one entry point.  Nothing here starts dbt, Spark or a warehouse.
"""
