#!/usr/bin/env python3
"""Runs a stdio server for an SDK, and records the lines in both directions.

    wiretap.py LOG_DIRECTORY COMMAND [ARGUMENT...]

Bytes are forwarded unchanged. LOG_DIRECTORY/<pid>.jsonl gets one record a line, each with a
time `t`: `{"dir": "c2s" | "s2c", "line": text}` for every line, `{"dir": "eof"}` when the
client closes stdin, and `{"dir": "exit", "status": n, "signals": [n...]}` when the server
ends (a negative status: killed by that signal; `signals`: signals from the client).
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time


def main() -> int:
    directory, command = sys.argv[1], sys.argv[2:]
    os.makedirs(directory, exist_ok=True)
    log = open(os.path.join(directory, f"{os.getpid()}.jsonl"), "w", encoding="utf-8")
    lock = threading.Lock()
    signals: list[int] = []

    def record(direction: str, **fields: object) -> None:
        with lock:
            log.write(json.dumps({"dir": direction, "t": time.time(), **fields}) + "\n")
            log.flush()

    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def forward_signal(number: int, _frame: object) -> None:
        signals.append(number)
        server.send_signal(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, forward_signal)

    def client_to_server() -> None:
        try:
            for line in sys.stdin.buffer:
                record("c2s", line=line.decode("utf-8", "surrogateescape"))
                server.stdin.write(line)
                server.stdin.flush()
            record("eof")
            server.stdin.close()
        except (ValueError, OSError) as error:
            record("broken", side="server", error=str(error))

    threading.Thread(target=client_to_server, daemon=True).start()
    try:
        for line in server.stdout:
            record("s2c", line=line.decode("utf-8", "surrogateescape"))
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
    except OSError as error:
        record("broken", side="client", error=str(error))
    status = server.wait()
    record("exit", status=status, signals=signals)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    code = main()
    # The reader thread may hold stdin's lock, and an orderly interpreter exit would wait for it.
    os._exit(code)
