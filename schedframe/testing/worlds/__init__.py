"""Small clusters that plugins are tried in: vocabulary, strategies, changes, smaller counterexamples."""
