//! Stack usage. The free stack is filled with a pattern at the start.

use core::arch::asm;
use core::ptr;

unsafe extern "C" {
    static __ebss: u32;
    static _stack_start: u32;
}

/// Fills the free stack with the pattern.
pub(crate) fn paint() {
    let here: *const u32;
    // SAFETY: only reads a register.
    unsafe { asm!("mv {here}, sp", here = out(reg) here, options(nomem, nostack, preserves_flags)) }
    let mut at = (&raw const __ebss).cast_mut();
    while at.cast_const() < here {
        // SAFETY: writes between the variables and the current end of the stack, without a call in
        // between.
        unsafe { ptr::write_volatile(at, PAINT) }
        at = at.wrapping_add(1);
    }
}

/// Returns the size of the stack and the maximum that was ever in use, in bytes.
pub(crate) fn measure() -> (u32, u32) {
    let (low, high) = (&raw const __ebss, &raw const _stack_start);
    let mut at = low;
    // SAFETY: reads from the end of the variables to the end of the memory, which is the stack.
    while at < high && unsafe { ptr::read_volatile(at) } == PAINT {
        at = at.wrapping_add(1);
    }
    ((high as usize - low as usize) as u32, (high as usize - at as usize) as u32)
}

const PAINT: u32 = 0x5AA5_5AA5;
