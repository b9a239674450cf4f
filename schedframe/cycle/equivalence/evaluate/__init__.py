"""Evaluators: dirty rows in, answers of the plugins out. They know plugins and no index."""
