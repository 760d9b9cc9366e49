"""Mailboxes and list archives as rows of a messages table: broken mail is kept too."""
