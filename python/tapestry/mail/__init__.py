"""Reads mailboxes and list archives as rows of a messages table, broken mail included."""
