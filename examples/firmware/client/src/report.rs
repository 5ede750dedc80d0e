//! The second serial line: the report for the user.

use core::fmt;

use registers::registers;

registers! { u32, 0x4000_D000: DATA = 0x000, FLAGS = 0x018, LINE = 0x02C, CONTROL = 0x030 }

/// The line, enabled.
pub(crate) struct Report(());

impl Report {
    pub(crate) fn open() -> Self {
        LINE.write(0b111 << 4);
        CONTROL.write(0b11 << 8 | 1);
        Self(())
    }
}

impl fmt::Write for Report {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            while FLAGS.read() & 1 << 5 != 0 {}
            DATA.write(u32::from(byte));
        }
        Ok(())
    }
}
