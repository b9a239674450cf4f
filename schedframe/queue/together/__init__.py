"""Equal pods that wait as one entry of the queue; see README.md."""
