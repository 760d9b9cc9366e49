"""An author's configuration of a model."""
