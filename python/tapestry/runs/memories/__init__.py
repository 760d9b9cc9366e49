"""Memories: the rows of one source that some query can need, kept apart (network, section 2).

A memory holds every row of one version of a source for which some conditions hold, with its id. It
knows no time, no window and no model, so that nothing about them can make it wrong: a run reads the
memory and the rows that its source got since. It is read in the place of the source, and dropped at
the first doubt.
"""
