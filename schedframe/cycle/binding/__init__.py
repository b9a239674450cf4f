"""From a chosen node to a bound pod, or back to the queue."""
