"""Tests the thermometer at the end of a link that is not a serial line.

    links.py [--usb | --mqtt PORT] COMMAND...

COMMAND is a server on standard input and output. --usb: it is the emulator of the RP2040. --mqtt: it
is the bridge to a broker, which is started here at this port of this computer.
"""

import json
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time

SECONDS = 60
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "progressToken": "p",
}


class Line:
    def __init__(self, command, **more):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **more)
        self.lines = queue.Queue()
        threading.Thread(target=self.receive, daemon=True).start()

    def receive(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(b"")

    def write(self, text):
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def send(self, id, method, **params):
        message = {"jsonrpc": "2.0", "id": id, "method": method}
        self.write(json.dumps(message | ({"params": params} if params else {})) + "\n")

    def next(self, seconds=SECONDS):
        line = self.lines.get(timeout=seconds)
        assert line, "the input has ended"
        return json.loads(line)

    def call(self, id, method, **params):
        self.send(id, method, **params)
        answer = self.next()
        assert answer["id"] == id, answer
        assert "result" in answer, answer
        return answer["result"]

    def close(self):
        self.process.stdin.close()
        self.process.wait(SECONDS)


def sessions(line):
    info = {"name": "test", "version": "1"}
    opened = line.call(0, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=info)
    assert opened["serverInfo"]["name"] == "thermometer", opened
    line.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    names = [tool["name"] for tool in line.call(1, "tools/list")["tools"]]
    assert names == ["measure", "watch", "calibrate"], names


def requests_of_2026_07_28(line):
    result = line.call(1, "tools/call", name="measure", arguments={}, _meta=MODERN)
    assert len(result["structuredContent"]["recent"]) == 100, result
    line.send(2, "tools/call", name="watch", arguments={"count": 3}, _meta=MODERN)
    assert [line.next()["params"]["progress"] for _ in range(3)] == [0, 1, 2]
    assert line.next()["id"] == 2


# Requests of each length, so that packets of all sizes end them. Among the responses is one of 64
# bytes, which is a full packet. An id has at most 46 characters on a board.
def lengths(line):
    for length in range(130):
        id = "x" * (length % 46)
        line.write(f'{{"jsonrpc":"2.0","id":"{id}",{" " * length}"method":"ping"}}\n')
        answer = line.next()
        assert answer == {"jsonrpc": "2.0", "id": id, "result": {}}, answer


# More than all buffers of the board have room for.
def many_at_once(line):
    ids = list(range(100))
    line.write("".join(f'{{"jsonrpc":"2.0","id":{id},{" " * 200}"method":"ping"}}\n' for id in ids))
    assert [line.next()["id"] for _ in ids] == ids


def port_that_is_closed(line):
    line.write('{"jsonrpc":"2.0","id":1,"method":')
    time.sleep(1)
    line.process.send_signal(signal.SIGUSR2)
    time.sleep(1)
    # It would be invalid with that half of a line before it.
    assert line.call(2, "ping") == {}


def answers_that_are_cut(line):
    for number in range(20):
        line.send(f"long {number}", "tools/call", name="measure", arguments={}, _meta=MODERN)
        time.sleep(number / 1000)
        line.process.send_signal(signal.SIGUSR2)
        time.sleep(0.3)
        line.send(number, "ping")
        for text in iter(lambda: line.lines.get(timeout=SECONDS), b""):
            if f'"id":{number},'.encode() in text:
                assert json.loads(text)["result"] == {}, text
                break


class Broker:
    def __init__(self, port):
        self.port = port
        self.file = tempfile.NamedTemporaryFile("w", suffix=".conf")
        self.file.write(f"listener {port} 127.0.0.1\nallow_anonymous true\n")
        self.file.flush()
        self.start()

    def start(self):
        self.process = subprocess.Popen(["mosquitto", "-c", self.file.name], stderr=subprocess.DEVNULL)
        # It ends if another program has the port.
        time.sleep(1)
        assert self.process.poll() is None, f"mosquitto does not start at port {self.port}"

    def stop(self):
        self.process.terminate()
        self.process.wait(SECONDS)

    def publish(self, text):
        topic = ["mosquitto_pub", "-h", "127.0.0.1", "-p", str(self.port), "-t", "mcp/thermometer/in", "-s"]
        subprocess.run(topic, input=text.encode(), check=True)


# The first one waits for the board, which may connect later than the bridge. A request that no one
# has got is lost.
def board_that_comes_later(line):
    end = time.monotonic() + SECONDS
    for number in range(10_000):
        line.send(f"first {number}", "ping")
        try:
            line.next(1)
            break
        except queue.Empty:
            assert time.monotonic() < end, "no board at this broker"
    # Responses to those before.
    while True:
        try:
            line.next(2)
        except queue.Empty:
            return


def lost_message(line, broker):
    # The begin of a line whose end is lost, and the next line, which belongs to it therefore.
    broker.publish('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"cali')
    line.send(2, "ping")
    assert line.next()["error"]["code"] == -32700
    assert line.call(3, "ping") == {}


def no_checksum(line, broker):
    broker.publish('{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    assert line.next()["error"]["code"] == -32700


def long_message(line, broker):
    # The broker has been told how long messages may be.
    broker.publish("x" * 5000)
    assert line.call(1, "ping") == {}


def client_that_dies(line, broker):
    line.close()
    broker.publish('{"jsonrpc":"2.0","id":1,"method":')
    line.__init__(line.process.args)
    # Its first line would go on with that half of one, which is rejected at most.
    line.send(2, "ping")
    while line.next().get("id") != 2:
        pass


def broker_that_restarts(line, broker):
    broker.stop()
    time.sleep(1)
    broker.start()
    board_that_comes_later(line)
    requests_of_2026_07_28(line)


def main():
    words = sys.argv[1:]
    broker = Broker(int(words[1])) if words[0] == "--mqtt" else None
    line = Line(words[2 if broker else 1:])
    cases = [(sessions, ()), (requests_of_2026_07_28, ()), (lengths, ()), (many_at_once, ())]
    if broker:
        cases = [(board_that_comes_later, ())] + cases
        cases += [(case, (broker,)) for case in (lost_message, no_checksum, long_message, client_that_dies, broker_that_restarts)]
    else:
        cases += [(port_that_is_closed, ()), (answers_that_are_cut, ())]
    try:
        for case, more in cases:
            began = time.monotonic()
            case(line, *more)
            print(f"PASS {case.__name__} ({time.monotonic() - began:.1f} s)", flush=True)
        line.close()
    finally:
        line.process.kill()
        if broker:
            broker.stop()


if __name__ == "__main__":
    main()
