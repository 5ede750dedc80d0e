//! The machine timer: ten ticks per microsecond.

use firmware_embassy::{Alarm, Ticks};

use registers::registers;

registers! {
    u32, 0x0200_0000: COMPARED = 0x4000, COMPARED_HIGH = 0x4004, TIME = 0xBFF8, TIME_HIGH = 0xBFFC
}

pub(crate) struct MachineTimer;

embassy_time_driver::time_driver_impl!(
    static TICKS: Ticks<MachineTimer> = Ticks::new(MachineTimer)
);

/// Starts without an alarm.
pub(crate) fn start() {
    MachineTimer.set(u64::MAX);
}

pub(crate) fn wake() {
    TICKS.interrupt();
}

impl Alarm for MachineTimer {
    fn now(&self) -> u64 {
        loop {
            let (high, low) = (TIME_HIGH.read(), TIME.read());
            if TIME_HIGH.read() == high {
                return (u64::from(high) << 32 | u64::from(low)) / PER_MICROSECOND;
            }
        }
    }

    fn set(&self, at: u64) {
        let at = at.saturating_mul(PER_MICROSECOND);
        // The value between the two writes must not be a time that has passed.
        COMPARED_HIGH.write(u32::MAX);
        COMPARED.write(at as u32);
        COMPARED_HIGH.write((at >> 32) as u32);
    }
}

const PER_MICROSECOND: u64 = 10;
