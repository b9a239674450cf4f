"""From answers to the best row: structures that know rows and scores, and no plugin, pod or class."""
