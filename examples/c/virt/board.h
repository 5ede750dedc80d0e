// QEMU's RISC-V `virt`: its serial port, a 16550, and its clock of 10 MHz. The lamp and the pins
// are a variable.
#ifndef BOARD_H
#define BOARD_H

#include <stdbool.h>
#include <stdint.h>

// The clock wraps after this number of milliseconds.
#define BOARD_WRAPS_AT 0x100000000ull

static inline volatile uint8_t *board_uart(uintptr_t number) {
    return (volatile uint8_t *)(0x10000000 + number);
}

static inline volatile uint32_t *board_clock(uintptr_t number) {
    return (volatile uint32_t *)(0x0200BFF8 + number);
}

static inline void board_open(void) {
    *board_uart(3) = 3; // LCR: 8 bits
}

static inline bool board_has_byte(void) {
    return (*board_uart(5) & 1) != 0; // LSR: data ready
}

static inline uint8_t board_take(void) {
    return *board_uart(0); // RBR
}

static inline void board_send(uint8_t byte) {
    while ((*board_uart(5) & 1 << 5) == 0) {} // LSR: THR empty
    *board_uart(0) = byte;                    // THR
}

static inline uint32_t board_milliseconds(void) {
    uint32_t high, low;
    do {
        high = *board_clock(4);
        low = *board_clock(0);
    } while (high != *board_clock(4));
    return (uint32_t)(((uint64_t)high << 32 | low) / 10000);
}

static uint32_t board_outputs;

static inline void board_lamp(bool on) {
    board_outputs = on;
}

static inline uint32_t board_pins(void) {
    return board_outputs;
}

#endif
