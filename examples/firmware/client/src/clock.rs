//! The clock: SysTick, 1,000 times per second. It stops after 49 days.

use core::sync::atomic::{AtomicU32, Ordering};

use cortex_m_rt::exception;
use mcp_sansio::Instant;

use registers::registers;

registers! { u32, 0xE000_E010: CONTROL = 0x0, RELOAD = 0x4, VALUE = 0x8 }

static MILLISECONDS: AtomicU32 = AtomicU32::new(0);

/// Starts at zero. After a reset the processor runs at 12.5 MHz.
pub(crate) fn start() {
    RELOAD.write(12_500 - 1);
    VALUE.write(0);
    CONTROL.write(0b111);
}

pub(crate) fn now() -> Instant {
    Instant::from_millis(u64::from(MILLISECONDS.load(Ordering::Relaxed)))
}

#[exception]
fn SysTick() {
    let now = MILLISECONDS.load(Ordering::Relaxed);
    MILLISECONDS.store(now.saturating_add(1), Ordering::Relaxed);
}
