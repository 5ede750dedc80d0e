// Start-up code of a RISC-V, without a C library.
#include <stdint.h>

extern uint32_t __sdata[], __edata[], __sidata[], __sbss[], __ebss[];
int main(void);

// The first instructions, which have no stack yet.
__attribute__((naked, section(".start"), used)) void start(void) {
    __asm__ volatile("la sp, _stack_start\n j reset");
}

__attribute__((used)) void reset(void) {
    const uint32_t *from = __sidata;
    for (uint32_t *to = __sdata; to < __edata;) *to++ = *from++;
    for (uint32_t *to = __sbss; to < __ebss;) *to++ = 0;
    main();
    for (;;) {}
}
