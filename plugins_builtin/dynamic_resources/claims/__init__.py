"""Claims of pods: which ones a pod has, the newest known version of each, and how they are changed."""
