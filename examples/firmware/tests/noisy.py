"""noisy.py COMMAND...: an unreliable serial line between a client and a board.

Puts log lines, garbage, halves of lines and lines that are too long between the lines of the client, and a log line of the board's between those of the board.
"""

from __future__ import annotations

import subprocess
import sys
import threading

NOISE = (
    b"I (312) cpu_start: Starting scheduler\n",
    b"\xff\x00\xfe\x7f\x80\n",
    b'{"jsonrpc":"2.0","id":1,"method":"tools/ca\n',
    b"y" * 3_000 + b"\n",
    b'ethod":"tools/list","params":{}}\r\n',
    b"\n\r\n  \n",
    b'{"rssi": -70}\n',
)


def main() -> None:
    board = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)

    def to_board() -> None:
        for number, line in enumerate(sys.stdin.buffer):
            board.stdin.write(NOISE[number % len(NOISE)] + line)
        board.stdin.close()

    threading.Thread(target=to_board, daemon=True).start()
    for line in board.stdout:
        sys.stdout.buffer.write(b"[board] \xe2\x9c\x93 something was read\n" + line)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
