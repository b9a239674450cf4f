"""Foundations of every package: decorators of values, checks of arguments, short reprs, tables, texts."""
