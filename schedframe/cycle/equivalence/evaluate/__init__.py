"""From dirty rows to answers: evaluators call plugins, return what they say, and know no index."""
