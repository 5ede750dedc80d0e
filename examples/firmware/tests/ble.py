"""Tests the thermometer over Bluetooth LE: the emulated board, and ble-bridge as its other end.

    ble.py IMAGE BRIDGE

There is no radio: bluez.py stands for that of the computer, and for its system.
"""

import contextlib
import os
import queue
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from emulated import MACHINES
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
        command = ["dbus-daemon", f"--config-file={config}", "--nofork", "--print-address"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        os.environ["DBUS_SYSTEM_BUS_ADDRESS"] = self.process.stdout.readline().decode().strip()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.directory.cleanup()


class Air:
    """A board, and a computer with Bluetooth."""

    def __init__(self, image, *more):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        serial = f"tcp:127.0.0.1:{port},server=on,wait=on"
        command = [*MACHINES["virt"], "-display", "none", "-monitor", "none"]
        command += ["-serial", serial, "-kernel", image]
        self.board = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        words = [sys.executable, str(Path(__file__).parent / "bluez.py"), str(port), *more]
        self.computer = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.computer.stdout.readline() == b"ready\n"

    def order(self, word):
        self.computer.stdin.write(f"{word}\n".encode())
        self.computer.stdin.flush()
        assert self.computer.stdout.readline() == b"done\n"

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


def usable(line):
    assert line.call("usable", "ping") == {}


# The answer to this is of many notifications, of which one is lost.
def lost_notification(line, air):
    air.order("lose")
    line.send(1, "tools/call", name="measure", arguments={}, _meta=MODERN)
    end = time.monotonic() + SECONDS
    while b"came with faults" not in line.said:
        assert time.monotonic() < end, "no fault is seen"
        time.sleep(0.1)
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


# Nothing holds the client back, so the board has no room for some of it. That has no answer, or an
# error, and so has the next line, if the end of one was lost.
def writes_that_nobody_answers(line):
    for id in range(40):
        line.send(id, "tools/call", name="measure", arguments={}, _meta=MODERN)
    results, answer = 0, {}
    for id in range(100, 100 + SECONDS):
        line.send(id, "ping")
        with contextlib.suppress(queue.Empty):
            while answer.get("id") != id:
                answer = line.next(3)
                results += "structuredContent" in answer.get("result", {})
                assert "result" in answer or answer["error"]["code"] == -32700, answer
            break
    assert 0 < results < 40, results
    usable(line)


# The next client gets nothing of the half of a line, nor the rest of an answer.
def clients_that_leave_in_the_middle(bridge):
    for number in range(8):
        line = bridge()
        usable(line)
        line.send(1, "tools/call", name="measure", arguments={}, _meta=MODERN)
        line.write('{"jsonrpc":"2.0","id":2,"method":')
        time.sleep(number / 50)
        if number % 4 == 3:
            # The system keeps the connection of the one that could not end it.
            line.process.kill()
        else:
            line.process.terminate()
            assert line.process.wait(SECONDS) == 0, line.said
    line = bridge()
    usable(line)
    line.close()


def another_name(bridge):
    line = bridge("--wait", "1", name="kettle")
    line.fails("no device with the name kettle within 1 s.*here: thermometer$")


def bluetooth_that_is_off(air, bridge):
    air.order("off")
    bridge().fails("Bluetooth is off: turn it on")
    air.order("on")


def device_that_is_gone(air, bridge):
    line = bridge()
    usable(line)
    air.board.kill()
    line.fails("the connection to thermometer is lost|cannot write to the device")


def main(image, program):
    def case(run, *words):
        began = time.monotonic()
        run(*words)
        print(f"PASS {run.__name__} ({time.monotonic() - began:.1f} s)", flush=True)

    def bridge(*words, name="thermometer"):
        return Bridge(program, *words, name)

    def no_bluetooth():
        bridge().fails("there is no Bluetooth: .*BlueZ")

    # The shortest packets that there are.
    def packets_of_20_bytes():
        with Air(image, "23"):
            line = bridge()
            requests_of_2026_07_28(line)
            line.close()

    def no_response():
        with Air(image, "247", "write-without-response"):
            line = bridge()
            writes_that_nobody_answers(line)
            line.close()

    with Bus():
        case(no_bluetooth)
        case(no_response)
        case(packets_of_20_bytes)
        with Air(image) as air:
            line = bridge()
            for run in sessions, requests_of_2026_07_28, lengths, many_at_once:
                case(run, line)
            for run in lost_notification, lost_write, line_that_is_too_long:
                case(run, line, air)
            line.close()
            assert line.process.returncode == 0
            case(clients_that_leave_in_the_middle, bridge)
            case(another_name, bridge)
            case(bluetooth_that_is_off, air, bridge)
            case(device_that_is_gone, air, bridge)


main(*sys.argv[1:])
