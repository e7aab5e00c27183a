"""Checkpoints: layout, writing, reading, keeping the last ones."""
