//! The clock: timer 0, which the nRF51822 has where other Cortex-M0 have SysTick.

use core::sync::atomic::{AtomicU32, Ordering};

use mcp_sansio::Instant;

use crate::registers::registers;

registers! { 0x4000_8000:
    START = 0x000, CAPTURE_0 = 0x040, COMPARED_1 = 0x144, COMPARED_2 = 0x148,
    INTERRUPT_ON = 0x304, INTERRUPT_OFF = 0x308,
    BIT_MODE = 0x508, PRESCALER = 0x510, COUNT_0 = 0x540, COUNT_1 = 0x544, COUNT_2 = 0x548,
}

/// Starts at zero.
pub(crate) fn start() {
    BIT_MODE.write(3);
    PRESCALER.write(9);
    // Wakes the main loop at each turn of the counter, so that `now` counts them all.
    COUNT_1.write(0);
    INTERRUPT_ON.write(TURN_BIT);
    START.write(1);
}

/// Milliseconds since [`start`]. For the main loop only.
pub(crate) fn now() -> Instant {
    CAPTURE_0.write(1);
    let ticks = COUNT_0.read();
    let turns = TURNS.load(Ordering::Relaxed) + u32::from(ticks < LAST.load(Ordering::Relaxed));
    LAST.store(ticks, Ordering::Relaxed);
    TURNS.store(turns, Ordering::Relaxed);
    // Without a division of 64 bits, which takes a Cortex-M0 long.
    let ms = ticks / TICKS * MS + ticks % TICKS * MS / TICKS;
    Instant::from_millis(u64::from(turns) * MS_PER_TURN + u64::from(ms))
}

/// Has an interrupt wake the processor at that time. `false`: it has passed. Call it with
/// interrupts off and sleep before they are on again: an interrupt that comes earlier than the
/// sleep is lost.
pub(crate) fn wake_at(due: Instant) -> bool {
    let left = due.saturating_duration_since(now()).as_millis();
    // Not more than an hour: it may wake up and see that it is too early.
    let left = u32::try_from(left).map_or(HOUR, |left| left.min(HOUR));
    let count = COUNT_0.read().wrapping_add(left * TICKS / MS);
    COMPARED_2.write(0);
    COUNT_2.write(count);
    INTERRUPT_ON.write(WAKE_BIT);
    // The counter runs on, and only counting up to the value sets the event. If it is there
    // already, or will be within a tick, it would come a turn later.
    CAPTURE_0.write(1);
    count.wrapping_sub(COUNT_0.read()).cast_signed() > 1
}

/// Ends the interrupt. Waking the processor is all that it is for.
pub(crate) fn interrupt() {
    INTERRUPT_OFF.write(WAKE_BIT);
    COMPARED_1.write(0);
    COMPARED_2.write(0);
}

/// 31,250 ticks a second are 125 in 4 ms.
const TICKS: u32 = 125;
const MS: u32 = 4;
const MS_PER_TURN: u64 = (1 << 32) * MS as u64 / TICKS as u64;
const HOUR: u32 = 3_600_000;
const TURN_BIT: u32 = 1 << 17;
const WAKE_BIT: u32 = 1 << 18;

static LAST: AtomicU32 = AtomicU32::new(0);
static TURNS: AtomicU32 = AtomicU32::new(0);
