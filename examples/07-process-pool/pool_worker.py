"""A worker process: runs commands from lines of JSON on stdin, reports their results on stdout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading


def main() -> None:
    """Until stdin ends; then waits for what still runs."""
    writing = threading.Lock()
    threads = []

    def run(order: dict[str, str]) -> None:
        # The shell gives up its own address space beyond the budget, and so does all that it starts.
        command = f"ulimit -v {order['kibibytes']}; {order['command']}"
        environment = {**os.environ, "ATTEMPT": order["attempt"], "WORKER": order["worker"]}
        done = subprocess.run(
            command,
            shell=True,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )
        end = {"key": order["key"], "code": done.returncode, "output": (done.stdout + done.stderr)[-200:]}
        with writing:
            print(json.dumps(end), flush=True)

    for line in sys.stdin:
        threads.append(threading.Thread(target=run, args=(json.loads(line),)))
        threads[-1].start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
