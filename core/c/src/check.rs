//! The check of the tables, for a test on the programmer's computer.

use core::ffi::c_char;
use core::fmt::Write;

use mcp_sansio::CatalogError;

use crate::memory::{live, mcp_server};
use crate::raw::put;
use crate::server::mcp_status::{self, *};
use crate::tables::Row;

/// Checks all tables: names, URIs, templates, schemas, and that nothing is there twice. On
/// `MCP_INVALID` the first mistake is in `out`, in words of at most `size` bytes with the zero byte
/// behind them. Call it after the tables are set, in a test on a computer: firmware that does not
/// call it does not link it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_server_check(
    server: *mut mcp_server,
    out: *mut c_char,
    size: usize,
) -> mcp_status {
    let mut words = Words { out: out.cast(), left: size };
    // SAFETY: there is memory for it, if the caller keeps to what it says.
    unsafe { words.end() };
    // SAFETY: the caller says that it is one.
    let Some(live) = (unsafe { live(server) }) else { return MCP_NO_SERVER };
    let tables = live.tables;
    let valid = check(tables.tools, &mut words)
        && check(tables.resources, &mut words)
        && check(tables.templates, &mut words)
        && check(tables.prompts, &mut words);
    if valid { MCP_OK } else { MCP_INVALID }
}

fn check<R: Row>(rows: &[R], words: &mut Words) -> bool {
    for (at, row) in rows.iter().enumerate() {
        let Some(value) = row.value() else {
            let _ = write!(words, "{}: a text is missing, not UTF-8 or not JSON", row.key());
            return false;
        };
        let mut refuse = |error: CatalogError<'_>| {
            let _ = write!(words, "{error}");
        };
        if let Err(error) = R::catalog(&[R::entry(&value)]).check() {
            refuse(error);
            return false;
        }
        for other in rows.iter().take(at).filter_map(Row::value) {
            if let Err(error) = R::catalog(&[R::entry(&other), R::entry(&value)]).check() {
                refuse(error);
                return false;
            }
        }
    }
    true
}

/// A text that is cut off where the memory ends.
struct Words {
    out: *mut u8,
    left: usize,
}

impl Words {
    unsafe fn end(&mut self) {
        if self.left > 0 {
            // SAFETY: the caller says that there is memory.
            unsafe { put(self.out, 0) };
        }
    }
}

impl Write for Words {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        for byte in text.bytes() {
            if self.left < 2 || self.out.is_null() {
                return Err(core::fmt::Error);
            }
            // SAFETY: there is memory for this byte and the zero byte behind it.
            unsafe {
                self.out.write(byte);
                self.out = self.out.add(1);
                self.left -= 1;
                self.end();
            }
        }
        Ok(())
    }
}
