"""A computer's Bluetooth without a radio: BlueZ's D-Bus API, as far as btleplug uses it, in front
of a virtual controller of bumble, which shares the air with that of an emulated board.

    bluez.py PORT [MTU [FLAG]]

PORT of this computer is the board's HCI. With FLAG, `write-without-response`, services have no
other kind of write. Words on standard input: `lose` drops the next notification, `lose-write` the
next write, `off` turns the adapter off, and `on` on. It prints `ready`, and `done` for each word.
"""

import asyncio
import logging
import sys
from uuid import UUID

from bumble.controller import Controller
from bumble.device import Device, Peer
from bumble.hci import Address, HCI_ErrorCode
from bumble.host import Host
from bumble.link import LocalLink
from bumble.transport import open_transport
from dbus_fast import BusType, DBusError, PropertyAccess
from dbus_fast.aio import MessageBus
from dbus_fast.service import ServiceInterface, dbus_method, dbus_property

ADAPTER = "/org/bluez/hci0"
OWN_ADDRESS = "F0:F1:F2:F3:F4:F5"
STATES = ("Paired", "Connected", "ServicesResolved", "Trusted", "Blocked", "LegacyPairing")
FLAGS = {"write-without-response": 0x04, "write": 0x08, "notify": 0x10}


def constant(name, signature):
    def get(self):
        return self.values[name]

    # The library takes signatures from annotations.
    get.__name__, get.__annotations__ = name, {"return": signature}
    return dbus_property(access=PropertyAccess.READ)(get)


class Object(ServiceInterface):
    """An object with properties that are constant, or set by `change`."""

    def __init_subclass__(cls, properties, **more):
        super().__init_subclass__(**more)
        for name, signature in properties.items():
            setattr(cls, name, constant(name, signature))

    def __init__(self, name, **values):
        self.values = values
        super().__init__(f"org.bluez.{name}")

    def change(self, **values):
        self.values.update(values)
        self.emit_properties_changed(values)


class Adapter(
    Object,
    properties=dict.fromkeys(("Address", "AddressType", "Name", "Alias", "Modalias"), "s")
    | {"Discovering": "b"},
):
    def __init__(self, computer):
        self.computer = computer
        values = {"Name": "test", "Alias": "test", "Modalias": "usb:v1D6Bp0246d0540"}
        values |= {"Address": OWN_ADDRESS, "AddressType": "random"}
        super().__init__("Adapter1", Powered=True, Discovering=False, **values)

    @dbus_property()
    def Powered(self) -> "b":
        return self.values["Powered"]

    @Powered.setter
    def Powered(self, on: "b"):
        self.change(Powered=on)

    @dbus_method()
    def SetDiscoveryFilter(self, filter: "a{sv}"):
        pass

    @dbus_method()
    async def StartDiscovery(self):
        await self.computer.radio.start_scanning()

    @dbus_method()
    async def StopDiscovery(self):
        await self.computer.radio.stop_scanning()


class Remote(
    Object,
    properties=dict.fromkeys(("Address", "AddressType", "Name", "Alias"), "s")
    | dict.fromkeys(STATES, "b")
    | {"Adapter": "o", "RSSI": "n"},
):
    def __init__(self, computer, address, name):
        self.computer, self.address, self.peer, self.exported = computer, address, None, []
        shown = address.to_string(False)
        self.path = f"{ADAPTER}/dev_{shown.replace(':', '_')}"
        values = {"Address": shown, "AddressType": "random", "Name": name, "Alias": name}
        values |= {"Adapter": ADAPTER, "RSSI": -50} | dict.fromkeys(STATES, False)
        super().__init__("Device1", **values)

    @dbus_method()
    async def Connect(self):
        connection = await self.computer.radio.connect(self.address)
        connection.on("disconnection", self.left)
        self.peer = Peer(connection)
        self.change(Connected=True)
        mtu = 23
        if self.computer.mtu > mtu:
            mtu = await self.peer.request_mtu(self.computer.mtu)
        for service in await self.peer.discover_services():
            path = f"{self.path}/service{service.handle:04x}"
            self.export(path, Service(service, self.path))
            for characteristic in await service.discover_characteristics():
                child = f"{path}/char{characteristic.handle:04x}"
                self.export(child, Characteristic(self, path, characteristic, mtu))
        self.change(ServicesResolved=True)

    @dbus_method()
    async def Disconnect(self):
        if self.peer:
            await self.peer.connection.disconnect()

    def export(self, path, object):
        self.computer.bus.export(path, object)
        self.exported.append(path)

    def left(self, _reason):
        self.peer = None
        for path in reversed(self.exported):
            self.computer.bus.unexport(path)
        self.exported.clear()
        self.change(ServicesResolved=False, Connected=False)


class Service(Object, properties={"UUID": "s", "Primary": "b", "Device": "o"}):
    def __init__(self, service, device):
        super().__init__("GattService1", UUID=long(service.uuid), Primary=True, Device=device)


class Characteristic(
    Object, properties={"UUID": "s", "Service": "o", "Flags": "as", "MTU": "q", "Value": "ay"}
):
    def __init__(self, remote, service, characteristic, mtu):
        self.remote, self.characteristic = remote, characteristic
        flags = [name for name, bit in FLAGS.items() if characteristic.properties & bit]
        if remote.computer.only in flags:
            flags.remove("write")
        values = {"UUID": long(characteristic.uuid), "Service": service, "MTU": mtu}
        super().__init__("GattCharacteristic1", Flags=flags, Value=b"", **values)

    @dbus_method()
    async def WriteValue(self, value: "ay", options: "a{sv}"):
        if self.remote.computer.takes("lose-write"):
            return
        try:
            with_response = options["type"].value == "request"
            await self.remote.peer.write_value(self.characteristic, bytes(value), with_response)
        except (AttributeError, asyncio.CancelledError) as error:
            raise DBusError("org.bluez.Error.Failed", "Not connected") from error

    @dbus_method()
    async def StartNotify(self):
        await self.remote.peer.subscribe(self.characteristic, self.notified)

    def notified(self, value):
        if not self.remote.computer.takes("lose"):
            self.change(Value=bytes(value))


def long(uuid):
    return str(UUID(bytes=uuid.to_bytes(force_128=True)[::-1]))


class Computer:
    def __init__(self, bus, mtu, only):
        self.bus, self.mtu, self.only = bus, mtu, only
        self.orders, self.remotes = [], {}

    def takes(self, order):
        return order in self.orders and not self.orders.remove(order)

    def advertised(self, advertisement):
        name = advertisement.data.get(0x09)
        if name and advertisement.address not in self.remotes:
            remote = Remote(self, advertisement.address, name)
            self.remotes[advertisement.address] = remote
            self.bus.export(remote.path, remote)


async def main(port, mtu=247, only=None):
    bus = await MessageBus(bus_type=BusType.SYSTEM).connect()
    computer = Computer(bus, int(mtu), only)
    link = LocalLink()
    while True:
        try:
            board = await open_transport(f"tcp-client:127.0.0.1:{port}")
            break
        except OSError:
            # The emulator is about to start.
            await asyncio.sleep(0.1)
    Controller("board", host_source=board.source, host_sink=board.sink, link=link)
    controller = Controller("computer", link=link)
    host = Host(controller, controller)
    computer.radio = Device("computer", address=Address(OWN_ADDRESS), host=host)
    computer.radio.on("advertisement", computer.advertised)
    await computer.radio.power_on()
    adapter = Adapter(computer)
    bus.export(ADAPTER, adapter)
    await bus.request_name("org.bluez")
    print("ready", flush=True)

    orders = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(orders)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)

    async def obey():
        async for order in orders:
            match order.decode().strip():
                case "on" | "off" as power:
                    adapter.change(Powered=power == "on")
                case order:
                    computer.orders.append(order)
            print("done", flush=True)

    async def miss_the_board():
        await board.source.terminated
        # What follows when nothing is heard for the supervision timeout.
        for connection in list(controller.le_connections.values()):
            controller.on_le_disconnected(connection, HCI_ErrorCode.CONNECTION_TIMEOUT_ERROR)

    await asyncio.gather(obey(), miss_the_board())


# Warnings of packets for a connection that has ended.
logging.getLogger("bumble").setLevel(logging.CRITICAL)
asyncio.run(main(*sys.argv[1:]))
