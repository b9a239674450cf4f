"""Selectors over labels and nodes, compiled once and matched often."""
