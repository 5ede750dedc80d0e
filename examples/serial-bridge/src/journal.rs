//! The log of the traffic.

use std::fs::File;
use std::io::{self, Write as _};
use std::time::SystemTime;

use mcp_sansio::Printable;
use mcp_sansio_relay::Entry;

use super::options::Log;

pub(crate) struct Journal(Option<Sink>);

enum Sink {
    Stderr,
    File(File),
}

impl Journal {
    pub(crate) fn open(log: Option<&Log>) -> Result<Self, String> {
        let sink = match log {
            None => None,
            Some(Log::Stderr) => Some(Sink::Stderr),
            Some(Log::File(path)) => {
                let file = File::options().append(true).create(true).open(path);
                Some(Sink::File(
                    file.map_err(|error| format!("--log {}: {error}", path.display()))?,
                ))
            }
        };
        let mut journal = Self(sink);
        journal.put(LEGEND);
        Ok(journal)
    }

    pub(crate) fn write(&mut self, entry: &Entry) {
        // A log on standard error contains the rest already.
        if !matches!(self.0, Some(Sink::Stderr)) {
            match entry {
                Entry::Event(text) => eprintln!("serial-bridge: {}", Printable::new(text)),
                Entry::Noise(text) => eprintln!("device: {}", Printable::new(text)),
                _ => {}
            }
        }
        if self.0.is_some() {
            let (sign, text) = match entry {
                Entry::Sent(text) => ('>', text),
                Entry::Received(text) => ('<', text),
                Entry::Noise(text) => ('~', text),
                Entry::Told(text) => ('!', text),
                Entry::Event(text) => ('#', text),
            };
            self.put(&format!(
                "{} {sign} {}",
                humantime::format_rfc3339_millis(SystemTime::now()),
                Printable::new(text)
            ));
        }
    }

    /// Ignores errors: a full disk does not stop the bridge.
    fn put(&mut self, line: &str) {
        let _ = match &mut self.0 {
            None => Ok(()),
            Some(Sink::Stderr) => writeln!(io::stderr(), "{line}"),
            Some(Sink::File(file)) => file.write_all(format!("{line}\n").as_bytes()),
        };
    }
}

const LEGEND: &str = "# > to the device, < from the device, ~ other output of the device, ! from the bridge to the client, # event";

#[cfg(test)]
mod tests {
    #[test]
    fn output_of_a_device_stays_on_one_line() {
        assert_eq!(
            super::Printable::new("boot\r\n\u{1b}[31mé\t\0").to_string(),
            "boot\\r\\n\\u001b[31mé\t\\u0000"
        );
    }
}
