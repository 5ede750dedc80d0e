// The micro:bit's serial port, clock, lamp and pins. Registers are those of the nRF51 Series
// Reference Manual.
#ifndef BOARD_H
#define BOARD_H

#include <stdbool.h>
#include <stdint.h>

// The clock wraps after this number of milliseconds: 2^32 ticks of 32 microseconds.
#define BOARD_WRAPS_AT 137438953u

static inline volatile uint32_t *board_register(uintptr_t address) {
    return (volatile uint32_t *)address;
}

static inline void board_open(void) {
    *board_register(0x4000250C) = 24;         // UART PSELTXD
    *board_register(0x40002514) = 25;         // UART PSELRXD
    *board_register(0x40002524) = 0x01D7E000; // UART BAUDRATE: 115,200
    *board_register(0x40002500) = 4;          // UART ENABLE
    *board_register(0x40002008) = 1;          // UART STARTTX
    *board_register(0x40002000) = 1;          // UART STARTRX
    *board_register(0x40008508) = 3;          // TIMER0 BITMODE: 32 bits
    *board_register(0x40008510) = 9;          // TIMER0 PRESCALER: 31,250 Hz
    *board_register(0x40008000) = 1;          // TIMER0 START
    *board_register(0x50000518) = 1 << 13 | 1 << 4; // GPIO DIRSET: row and column of the lamp
}

static inline bool board_has_byte(void) {
    return *board_register(0x40002108) != 0; // UART RXDRDY
}

static inline uint8_t board_take(void) {
    *board_register(0x40002108) = 0;
    return (uint8_t)*board_register(0x40002518); // UART RXD
}

static inline void board_send(uint8_t byte) {
    *board_register(0x4000211C) = 0;    // UART TXDRDY
    *board_register(0x4000251C) = byte; // UART TXD
    while (*board_register(0x4000211C) == 0) {}
}

// The processor cannot divide, so the 1.024 milliseconds of 32 ticks are a sum of powers of two,
// 0.001 % too few.
static inline uint32_t board_milliseconds(void) {
    *board_register(0x40008040) = 1; // TIMER0 CAPTURE[0]
    uint32_t ticks = *board_register(0x40008540) >> 5;
    return ticks + (ticks >> 6) + (ticks >> 7) + (ticks >> 11) + (ticks >> 14);
}

static inline void board_lamp(bool on) {
    *board_register(on ? 0x50000508 : 0x5000050C) = 1 << 13; // GPIO OUTSET, OUTCLR
}

static inline uint32_t board_pins(void) {
    return *board_register(0x50000510); // GPIO IN
}

#endif
