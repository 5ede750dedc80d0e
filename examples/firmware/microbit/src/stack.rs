//! Stack usage. The startup code has filled the stack with a pattern.

use core::ptr;

/// Returns the size of the stack and the maximum that was ever in use, in bytes.
pub(crate) fn measure() -> (u32, u32) {
    unsafe extern "C" {
        static _stack_end: u32;
        static _stack_start: u32;
    }
    let (low, high) = (&raw const _stack_end, &raw const _stack_start);
    let mut at = low;
    // SAFETY: reads from the end of the variables to the end of the memory, which is the stack.
    while at < high && unsafe { ptr::read_volatile(at) } == cortex_m_rt::STACK_PAINT_VALUE {
        at = at.wrapping_add(1);
    }
    ((high as usize - low as usize) as u32, (high as usize - at as usize) as u32)
}
