//! How deep the stack has been: it is painted at the start.

use core::arch::asm;
use core::ptr;

unsafe extern "C" {
    static __ebss: u32;
    static _stack_start: u32;
}

/// Paints what is free.
pub(crate) fn paint() {
    let here: *const u32;
    // SAFETY: looks at a register.
    unsafe { asm!("mv {here}, sp", here = out(reg) here, options(nomem, nostack, preserves_flags)) }
    let mut at = (&raw const __ebss).cast_mut();
    while at.cast_const() < here {
        // SAFETY: between the variables and the stack as deep as it is now; nobody calls anything
        // here.
        unsafe { ptr::write_volatile(at, PAINT) }
        at = at.wrapping_add(1);
    }
}

/// Bytes that the stack has, and the most of them that were ever in use.
pub(crate) fn measure() -> (u32, u32) {
    let (low, high) = (&raw const __ebss, &raw const _stack_start);
    let mut at = low;
    // SAFETY: from the end of the variables to the end of the memory.
    while at < high && unsafe { ptr::read_volatile(at) } == PAINT {
        at = at.wrapping_add(1);
    }
    ((high as usize - low as usize) as u32, (high as usize - at as usize) as u32)
}

const PAINT: u32 = 0x5AA5_5AA5;
