"""Asks for the name of the board by mDNS, as a program does that is no responder itself.

names.py OWN BOARD      addresses of this computer and of the board
"""

import socket
import struct
import sys
import time

A, IN, PATIENCE = 1, 1, 30.0


def main() -> int:
    own, board = map(socket.inet_aton, sys.argv[1:])
    asks = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    asks.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, own)
    asks.settimeout(1)
    query = struct.pack(">6H", 7, 0, 1, 0, 0, 0) + b"\x05board\x05local\0" + struct.pack(">2H", A, IN)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        asks.sendto(query, ("224.0.0.251", 5353))
        try:
            answer, asked = asks.recvfrom(2048)
        except TimeoutError:
            continue
        if answer[:2] == query[:2] and board in answer and socket.inet_aton(asked[0]) == board:
            print("PASS network: board.local has the address of the board")
            return 0
    print("FAIL network: board.local has the address of the board")
    return 1


if __name__ == "__main__":
    sys.exit(main())
