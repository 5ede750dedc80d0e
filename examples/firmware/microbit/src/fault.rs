//! What the firmware says when it cannot go on. A line that is no message, so that whoever listens
//! skips it.

use core::panic::PanicInfo;

use cortex_m_rt::{ExceptionFrame, exception};

use crate::uart::Uart;

/// One piece, and unlike any other function, so that the linked image shows whether a panic can be
/// reached.
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
