"""What conditions imply of single columns: ranges, and conditions carried over equalities."""
