//! How deep the stack has been: the startup code has painted it.

use core::ptr;

/// Bytes that the stack has, and the most of them that were ever in use.
pub(crate) fn measure() -> (u32, u32) {
    unsafe extern "C" {
        static _stack_end: u32;
        static _stack_start: u32;
    }
    let (low, high) = (&raw const _stack_end, &raw const _stack_start);
    let mut at = low;
    // SAFETY: from the end of the variables to the end of the memory. What is used of it is above;
    // the rest nobody has written since it was painted.
    while at < high && unsafe { ptr::read_volatile(at) } == cortex_m_rt::STACK_PAINT_VALUE {
        at = at.wrapping_add(1);
    }
    ((high as usize - low as usize) as u32, (high as usize - at as usize) as u32)
}
