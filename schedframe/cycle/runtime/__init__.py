"""Time and threads: clocks, the inbox, timers, executors. Knows nothing of pods."""
