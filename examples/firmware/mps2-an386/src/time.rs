//! The timers: timer 0 is the clock, timer 1 the alarm. Both count down, 25 ticks per microsecond.

use core::sync::atomic::{AtomicU32, Ordering};

use firmware_embassy::{Alarm, Ticks};

use registers::registers;

registers! { u32, 0x4000_0000: CONTROL_0 = 0x0, VALUE_0 = 0x4, RELOAD_0 = 0x8, INTERRUPT_0 = 0xC }
registers! { u32, 0x4000_1000: CONTROL_1 = 0x0, VALUE_1 = 0x4, RELOAD_1 = 0x8, INTERRUPT_1 = 0xC }

pub(crate) struct Timers {
    /// Number of times that timer 0 has wrapped around, every 171 seconds.
    turns: AtomicU32,
}

embassy_time_driver::time_driver_impl!(
    static TICKS: Ticks<Timers> = Ticks::new(Timers { turns: AtomicU32::new(0) })
);

/// Starts at zero.
pub(crate) fn start() {
    RELOAD_0.write(u32::MAX);
    VALUE_0.write(u32::MAX);
    CONTROL_0.write(RUN | INTERRUPT);
}

/// Handles a wrap-around of timer 0, which must be noticed before the next one.
pub(crate) fn turn() {
    TICKS.interrupt();
}

/// Handles the alarm of timer 1.
pub(crate) fn wake() {
    CONTROL_1.write(0);
    INTERRUPT_1.write(1);
    TICKS.interrupt();
}

impl Alarm for Timers {
    fn now(&self) -> u64 {
        let mut value = VALUE_0.read();
        let mut turns = self.turns.load(Ordering::Relaxed);
        if INTERRUPT_0.read() & 1 != 0 {
            INTERRUPT_0.write(1);
            value = VALUE_0.read();
            turns += 1;
            self.turns.store(turns, Ordering::Relaxed);
        }
        (u64::from(turns) << 32 | u64::from(!value)) / PER_MICROSECOND
    }

    fn set(&self, at: u64) {
        CONTROL_1.write(0);
        if at == u64::MAX {
            return;
        }
        // Limited to the range of the timer: an early alarm is harmless.
        let left = at.saturating_sub(self.now()).clamp(1, LONGEST) * PER_MICROSECOND;
        let left = u32::try_from(left).unwrap_or(u32::MAX);
        RELOAD_1.write(left);
        VALUE_1.write(left);
        CONTROL_1.write(RUN | INTERRUPT);
    }
}

const PER_MICROSECOND: u64 = 25;
const LONGEST: u64 = 100_000_000;
const RUN: u32 = 1 << 0;
const INTERRUPT: u32 = 1 << 3;
