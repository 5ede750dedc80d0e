//! The last pages of the flash, as a log, and the generator of random numbers.

use core::ptr;

use firmware_recorder::{Flash, PAGES};

use crate::registers::registers;

// Pages are erased by their address: only those below, in which there is no program.
registers! { 0x4001_E000: READY = 0x400, CONFIG = 0x504, ERASE_PAGE = 0x508 }
registers! { 0x4000_D000: START = 0x000, STOP = 0x004, VALUE_READY = 0x100, VALUE = 0x508 }

/// The log.
pub(crate) struct LogFlash;

impl Flash for LogFlash {
    fn is_blank(&mut self, page: u8) -> bool {
        let first = address(page) as *const u32;
        // SAFETY: the page is in the flash, which can be read everywhere.
        (0..PAGE_BYTES / 4).all(|word| unsafe { ptr::read_volatile(first.add(word)) } == u32::MAX)
    }

    fn erase(&mut self, page: u8) {
        CONFIG.write(ERASES);
        ERASE_PAGE.write(address(page) as u32);
        while READY.read() == 0 {}
        CONFIG.write(READS);
    }

    fn random(&mut self) -> [u8; 16] {
        START.write(1);
        let bytes = [(); 16].map(|()| {
            VALUE_READY.write(0);
            while VALUE_READY.read() == 0 {}
            VALUE.read().to_le_bytes()[0]
        });
        STOP.write(1);
        bytes
    }
}

/// Returns the address of a page. `memory.x` leaves these pages to the log.
fn address(page: u8) -> usize {
    LOG + usize::from(page.min(PAGES - 1)) * PAGE_BYTES
}

const LOG: usize = 0x3_C000;
const PAGE_BYTES: usize = 1024;
const ERASES: u32 = 2;
const READS: u32 = 0;
