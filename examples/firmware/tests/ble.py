"""Tests the thermometer over Bluetooth LE: the emulated board, and ble-bridge as the computer's end.

    ble.py IMAGE BRIDGE

There is no radio: bluez.py stands for that of the computer, and for its system.
"""

import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from links import MODERN, SECONDS, Line, lengths, many_at_once, requests_of_2026_07_28, sessions

BUS = """<busconfig>
  <listen>unix:path={0}/bus</listen>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/> <allow eavesdrop="true"/> <allow own="*"/>
  </policy>
</busconfig>
"""


class Bus:
    def __enter__(self):
        self.directory = tempfile.TemporaryDirectory()
        config = Path(self.directory.name) / "bus.conf"
        config.write_text(BUS.format(self.directory.name))
        self.process = subprocess.Popen(["dbus-daemon", f"--config-file={config}", "--nofork", "--print-address"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        os.environ["DBUS_SYSTEM_BUS_ADDRESS"] = self.process.stdout.readline().decode().strip()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.directory.cleanup()


class Air:
    """A board, and a computer with Bluetooth."""

    def __init__(self, image, *mtu):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        serial = f"tcp:127.0.0.1:{port},server=on,wait=on"
        machine = ["qemu-system-riscv32", "-M", "virt", "-bios", "none", "-display", "none", "-monitor", "none"]
        self.board = subprocess.Popen([*machine, "-serial", serial, "-kernel", image], stderr=subprocess.DEVNULL)
        time.sleep(0.5)
        words = [sys.executable, str(Path(__file__).parent / "bluez.py"), str(port), *mtu]
        self.computer = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.computer.stdout.readline() == b"ready\n"

    def order(self, word):
        self.computer.stdin.write(f"{word}\n".encode())
        self.computer.stdin.flush()
        time.sleep(0.2)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.computer.kill()
        self.board.kill()


class Bridge(Line):
    def __init__(self, program, *words):
        super().__init__([program, *words], stderr=subprocess.PIPE)
        self.said = b""
        self.listener = threading.Thread(target=self.listen, daemon=True)
        self.listener.start()

    def listen(self):
        for line in self.process.stderr:
            self.said += line
            print(f"    {line.decode().rstrip()}", file=sys.stderr, flush=True)

    def fails(self, pattern, seconds=SECONDS):
        assert self.process.wait(seconds) == 1, self.said
        self.listener.join()
        assert re.search(pattern, self.said.decode()), self.said
        assert self.said.count(b"\n") == 1, self.said

    def is_silent(self, seconds=2):
        time.sleep(seconds)
        return self.lines.empty()


def usable(line):
    assert line.call("usable", "ping") == {}


# The answer to this is of many notifications, of which one is lost.
def lost_notification(line, air):
    air.order("lose")
    line.send(1, "tools/call", name="measure", arguments={}, _meta=MODERN)
    assert line.is_silent()
    assert b"came with faults" in line.said, line.said
    usable(line)


# Of several writes, the first: the rest would be no message, or another one.
def lost_write(line, air):
    air.order("lose-write")
    line.write(f'{{"jsonrpc":"2.0","id":1,{" " * 400}"method":"ping"}}\n')
    assert line.next()["error"]["code"] == -32700
    usable(line)


def line_that_is_too_long(line, _air):
    line.write(f'{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":"{"x" * 5000}"}}}}\n')
    error = line.next()
    assert (error["id"], error["error"]["code"]) == (1, -32600), error
    usable(line)


CASES = [sessions, requests_of_2026_07_28, lengths, many_at_once, lost_notification, lost_write, line_that_is_too_long]


def main(image, program):
    def case(run, *words):
        began = time.monotonic()
        run(*words)
        print(f"PASS {run.__name__} ({time.monotonic() - began:.1f} s)", flush=True)

    def bridge(*words):
        return Bridge(program, *words, "thermometer")

    def no_bluetooth():
        bridge().fails("there is no Bluetooth: .*BlueZ")

    def session(air):
        line = bridge()
        for run in CASES:
            case(run, line) if run.__code__.co_argcount == 1 else case(run, line, air)
        line.close()
        assert line.process.returncode == 0

    with Bus():
        case(no_bluetooth)
        with Air(image) as air:
            case(session, air)


main(*sys.argv[1:])
