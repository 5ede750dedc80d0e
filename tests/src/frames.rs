//! A record of what the randomized tests exchange. A change that must change no byte is compared
//! with the record of before.

use std::cell::RefCell;
use std::fmt::Display;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

/// Adds a line to the record of this test, if `MCP_SANSIO_FRAMES` names a folder for records: its
/// absolute path, since tests run in the folder of their package.
pub fn record(from: impl Display, what: impl Display) {
    RECORD.with_borrow_mut(|record| {
        if let Some(record) = record {
            writeln!(record, "{from} {what}").expect("the record can be written");
        }
    });
}

thread_local! {
    /// Each test has a thread of its own, and a file with its name.
    static RECORD: RefCell<Option<BufWriter<File>>> = RefCell::new(open());
}

fn open() -> Option<BufWriter<File>> {
    let folder = std::env::var_os("MCP_SANSIO_FRAMES")?;
    let test = std::thread::current().name()?.replace("::", "-");
    let file = File::create(Path::new(&folder).join(test)).expect("the folder exists");
    Some(BufWriter::new(file))
}
