// Starts an image for the Pico with the port of its USB on standard input and output:
//
//   node run.mjs MODULES IMAGE      MODULES is the folder that has node_modules
//
// The signal SIGUSR2 closes the port and opens it again, as a program on the computer does.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [modules, image] = process.argv.slice(2);
const { ConsoleLogger, createSetupPacket, LogLevel, SetupRecipient, SetupType, Simulator, USBCDC } =
    createRequire(`${modules}/`)('rp2040js');

const FLASH = 0x10000000;
// The boot loader of the chip and the first bytes of the image only set up the flash memory.
const VECTORS = FLASH + 0x100;
const PACKET = 64;
const NANOSECONDS = 8;

const { clock, rp2040: chip } = new Simulator();
chip.logger = new ConsoleLogger(LogLevel.Error);
load(readFileSync(image));
chip.core.VTOR = VECTORS;
chip.core.reset();

const usb = chip.usbCtrl;
const port = new USBCDC(usb);
const [enumerate, answer] = [usb.onEndpointWrite, usb.onEndpointRead];
const waiting = [];
let isAsked = false;
let isOpen = false;
let received = [];

port.cdcSetControlLineState = () => {
    port.initialized = true;
    open(true);
};

// Addressed to the interface, as the class demands: the emulator's own request is to the device.
function open(value) {
    isOpen = value;
    usb.sendSetupPacket(createSetupPacket({
        dataDirection: 0,
        type: SetupType.Class,
        recipient: SetupRecipient.Interface,
        bRequest: 0x22,
        wValue: isOpen ? 3 : 0,
        wIndex: 0,
        wLength: 0,
    }));
    send();
}

// The computer keeps full packets until a shorter one comes.
usb.onEndpointWrite = (endpoint, packet) => {
    if (endpoint !== port.inEndpoint) return enumerate(endpoint, packet);
    received.push(Buffer.from(packet));
    if (packet.length < PACKET) {
        process.stdout.write(Buffer.concat(received));
        received = [];
    }
};

usb.onEndpointRead = (endpoint, size) => {
    if (endpoint !== port.outEndpoint) return answer(endpoint, size);
    isAsked = true;
    own(true);
    send();
};

// The chip has the buffer until bytes come. The emulator gives it back at once.
function own(value) {
    const register = 0x84 + 8 * port.outEndpoint;
    const bits = chip.usbDPRAMView.getUint32(register, true);
    chip.usbDPRAMView.setUint32(register, value ? bits | 0x400 : bits & ~0x400, true);
}

// After full packets an empty one.
process.stdin.on('data', (bytes) => {
    for (let at = 0; at <= bytes.length; at += PACKET) waiting.push(bytes.subarray(at, at + PACKET));
    send();
});
process.stdin.on('end', () => setTimeout(() => process.exit(), 300));
process.on('SIGUSR2', () => {
    received = [];
    open(false);
    setTimeout(open, 100, true);
});

function send() {
    if (isAsked && isOpen && waiting.length > 0) {
        isAsked = false;
        own(false);
        usb.finishRead(port.outEndpoint, new Uint8Array(waiting.shift()));
    }
}

// The segments of an ELF file of 32 bits, at the addresses in flash from which they are started.
function load(elf) {
    const [headers, size, count] = [elf.readUInt32LE(28), elf.readUInt16LE(42), elf.readUInt16LE(44)];
    for (let at = headers; at < headers + size * count; at += size) {
        const [type, from, , to, length] = [0, 4, 8, 12, 16].map((field) => elf.readUInt32LE(at + field));
        if (type === 1 && length > 0) chip.flash.set(elf.subarray(from, from + length), to - FLASH);
    }
}

// Time passes as fast as this computer can, and in idle times from one alarm to the next.
function run() {
    for (let step = 0; step < 100_000; step++) {
        if (chip.core.waiting) {
            if (clock.nanosToNextAlarm <= 0) break;
            clock.tick(clock.nanosToNextAlarm);
            break;
        }
        clock.tick(chip.core.executeInstruction() * NANOSECONDS);
    }
    setTimeout(run, chip.core.waiting ? 1 : 0);
}
run();
