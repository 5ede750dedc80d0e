//! A progress bar: one line on standard error that is redrawn.

use std::io::{IsTerminal as _, Write as _, stderr};

use super::table::plain;

/// The state of the bar on the screen.
#[derive(Debug, Default)]
pub(crate) struct Bar {
    drawn: bool,
}

impl Bar {
    /// Draws the bar. Without a terminal each report is a line.
    pub(crate) fn draw(&mut self, progress: f64, total: Option<f64>, message: Option<&str>) {
        let line = line(progress, total, message);
        let mut out = stderr().lock();
        let _ =
            if out.is_terminal() { write!(out, "\r\x1b[K{line}") } else { writeln!(out, "{line}") };
        let _ = out.flush();
        self.drawn = out.is_terminal();
    }

    /// Removes the bar before other output.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.drawn) {
            let mut out = stderr().lock();
            let _ = write!(out, "\r\x1b[K");
            let _ = out.flush();
        }
    }
}

fn line(progress: f64, total: Option<f64>, message: Option<&str>) -> String {
    let message = message.map(plain).unwrap_or_default();
    // The status of a task has no numbers but in words.
    let (progress, total) = match (total, parts(&message)) {
        (None, Some((progress, total))) => (progress, Some(total)),
        _ => (progress, total),
    };
    let line = match total {
        Some(total) if total > 0.0 => {
            let part = (progress / total).clamp(0.0, 1.0);
            let full = (part * WIDTH as f64).round() as usize;
            format!(
                "[{}{}] {:3.0} %  {message}",
                "#".repeat(full),
                "-".repeat(WIDTH - full),
                part * 100.0
            )
        }
        _ => format!("{progress}  {message}"),
    };
    line.trim_end().to_owned()
}

/// Reads a message like `2 of 10`.
fn parts(message: &str) -> Option<(f64, f64)> {
    let (done, total) = message.split_once(" of ")?;
    let total = total.split(|c: char| !c.is_ascii_digit()).next()?;
    Some((done.parse().ok()?, total.parse().ok()?))
}

/// Width in columns.
const WIDTH: usize = 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_full_at_the_end_and_never_longer() {
        assert_eq!(
            line(3.0, Some(10.0), Some("three")),
            "[#########---------------------]  30 %  three"
        );
        assert!(line(12.0, Some(10.0), None).starts_with(&format!("[{}] 100 %", "#".repeat(30))));
        assert_eq!(line(7.0, None, Some("a\nb")), "7  a b");
        let half = format!("[{}{}]  50 %  5 of 10 files", "#".repeat(15), "-".repeat(15));
        assert_eq!(line(0.0, None, Some("5 of 10 files")), half);
    }
}
