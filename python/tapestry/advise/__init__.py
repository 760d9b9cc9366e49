"""Implements `tapestry advise`, which judges a dbt project or a folder of SQL that it only reads.

``survey.survey`` is the one entry point.  Nothing here starts dbt, Spark or a warehouse.
"""
