"""Staging, checking and rejecting of new rows."""
