"""Turns of a scheduler, written down and decided again by another one."""
