"""Mailboxes and list archives as rows of a messages table: nothing is lost, broken mail included."""
