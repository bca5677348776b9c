"""`holdfast doctor`: diagnoses problems and suggests fixes."""
