//! What the measured programs share: a console, what happens on a panic, and how a program tells
//! its figures.
#![no_std]

// They bring the start-up code, and nothing that is named here.
#[cfg(target_arch = "arm")]
use cortex_m_rt as _;
#[cfg(target_arch = "riscv32")]
use riscv_rt as _;

pub mod board;
mod link;
mod machine;
pub mod uart;

// All that it does is to give the function a name and to lend it its static variables, so it serves
// RISC-V as well.
pub use cortex_m_rt_macros::entry;
pub use link::{drain, send};

/// Bytes of the receive buffer of every program.
pub const RX_BYTES: usize = 1024;
/// Bytes of the transmit buffer of every program.
pub const TX_BYTES: usize = 512;

/// Tells `run` a number, as an absolute symbol: it costs nothing in the image and no optimisation
/// takes it away.
///
/// `size of …` is printed, `buffer …` is counted as the buffers' share of the static memory.
#[macro_export]
macro_rules! figure {
    ($name:literal, $value:expr) => {
        ::core::arch::global_asm!(concat!(".globl \"", $name, "\""), concat!(".set \"", $name, "\", {}"), const $value);
    };
}

/// Halts. Kept in one piece and unlike any other function, so that the linked image shows whether a
/// panic can be reached: an empty loop would be inlined, or merged with an interrupt handler that
/// is one too, and its callers could not be told apart.
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
