//! Parts shared by the measured programs: a serial port, the panic handler, and the export of
//! figures.
#![no_std]

// Linked for their start-up code; none of their items are used here.
#[cfg(target_arch = "arm")]
use cortex_m_rt as _;
#[cfg(target_arch = "riscv32")]
use riscv_rt as _;

pub mod board;
mod link;
#[cfg(feature = "oauth")]
pub mod login;
mod machine;
pub mod panel;
pub mod uart;

// The attribute only names the function and gives it its static variables, so it works on RISC-V
// too.
pub use cortex_m_rt_macros::entry;
pub use link::send;

/// Size of the receive buffer of every program in bytes.
pub const RX_BYTES: usize = 1024;
/// Size of the transmit buffer of every program in bytes.
pub const TX_BYTES: usize = 512;

/// Reports a number to `run` as an absolute symbol, which takes no space in the image and which no
/// optimization removes.
///
/// `size of …` is printed, `buffer …` is counted as the buffers' share of the static memory.
#[macro_export]
macro_rules! figure {
    ($name:literal, $value:expr) => {
        ::core::arch::global_asm!(concat!(".globl \"", $name, "\""), concat!(".set \"", $name, "\", {}"), const $value);
    };
}

/// Halts. Not inlined and different from any other function, so that the linked image shows whether
/// a panic can be reached: an empty loop would be inlined, or merged with an interrupt handler that
/// has the same code, and its callers could not be distinguished.
#[panic_handler]
#[inline(never)]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        // SAFETY: stops the processor in its fault handler; nothing is read or written.
        #[cfg(target_arch = "arm")]
        unsafe {
            core::arch::asm!("udf #0", options(nomem, nostack))
        }
        // SAFETY: likewise.
        #[cfg(target_arch = "riscv32")]
        unsafe {
            core::arch::asm!("unimp", options(nomem, nostack))
        }
    }
}
