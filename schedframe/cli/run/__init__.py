"""``schedframe run``: the scheduler of a real cluster as a process: flags, server, lease, logs."""
