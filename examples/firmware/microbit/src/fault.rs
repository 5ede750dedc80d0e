//! Panics and faults. The text is a line that is not JSON, so peers skip it.

use core::panic::PanicInfo;

use cortex_m_rt::{ExceptionFrame, exception};

use crate::uart::Uart;

/// Not inlined, so that the symbols of the image show whether a panic can be reached.
#[panic_handler]
#[inline(never)]
fn panic(_: &PanicInfo<'_>) -> ! {
    Uart::write_now(b"\nThe firmware panicked and starts again\n");
    cortex_m::peripheral::SCB::sys_reset()
}

#[exception]
unsafe fn HardFault(_: &ExceptionFrame) -> ! {
    Uart::write_now(b"\nThe processor met a fault and starts again\n");
    cortex_m::peripheral::SCB::sys_reset()
}
