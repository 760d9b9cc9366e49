"""What steers Spark, and changes no answer: hints, and what other conditions imply already."""
