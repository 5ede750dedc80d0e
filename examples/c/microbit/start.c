// Vectors and start-up code of a Cortex-M0, without a C library.
#include <stdint.h>

extern uint32_t _stack_start[], __sdata[], __edata[], __sidata[], __sbss[], __ebss[];
int main(void);

static void halt(void) {
    for (;;) {}
}

void reset(void) {
    const uint32_t *from = __sidata;
    for (uint32_t *to = __sdata; to < __edata;) *to++ = *from++;
    for (uint32_t *to = __sbss; to < __ebss;) *to++ = 0;
    main();
    halt();
}

typedef void vector(void);

__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    vector *reset, *exceptions[14];
} vectors = {_stack_start, reset, {halt, halt, halt, halt, halt, halt, halt, halt, halt, halt, halt, halt, halt, halt}};
