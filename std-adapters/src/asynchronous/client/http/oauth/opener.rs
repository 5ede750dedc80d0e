//! Opening a page in the browser of the person.

use std::ffi::OsString;
use std::io;
use std::process::{Command, Stdio};

use mcp_sansio_oauth::Url;

/// Opens a URL in the browser that the operating system has for it: with `xdg-open`, `open` on
/// macOS, `rundll32` on Windows. The URL is one argument of a program; no shell reads it.
///
/// # Errors
/// [`InvalidInput`](io::ErrorKind::InvalidInput) unless it is an `https` URL, or an `http` URL of
/// this machine; [`Unsupported`](io::ErrorKind::Unsupported) on Unix without a display; errors of
/// starting the program. That it has started does not mean that a page is shown.
pub fn open_in_browser(url: &str) -> io::Result<()> {
    open_with(opener(std::env::var_os)?, url)
}

/// Returns the program that opens pages, and its first arguments.
fn opener(
    environment: impl Fn(&'static str) -> Option<OsString>,
) -> io::Result<&'static [&'static str]> {
    if cfg!(windows) {
        return Ok(&["rundll32", "url.dll,FileProtocolHandler"]);
    }
    if cfg!(target_vendor = "apple") {
        return Ok(&["open"]);
    }
    if cfg!(unix) && ["DISPLAY", "WAYLAND_DISPLAY"].map(environment).iter().all(Option::is_none) {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "there is no display"));
    }
    Ok(&["xdg-open"])
}

/// Opens a URL with a program: its name and first arguments.
///
/// # Errors
/// As [`open_in_browser`].
pub fn open_with(program: &[&str], url: &str) -> io::Result<()> {
    let invalid = |why| io::Error::new(io::ErrorKind::InvalidInput, why);
    let is_safe = |url: &Url<'_>| url.is_secure() || url.is_loopback();
    if !Url::parse(url).is_ok_and(|url| is_safe(&url)) {
        return Err(invalid("only https URLs, and http URLs of this machine, are opened"));
    }
    let (name, arguments) = program.split_first().ok_or_else(|| invalid("no program"))?;
    let mut child = Command::new(name)
        .args(arguments)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    // It may run as long as the browser does.
    std::thread::spawn(move || child.wait());
    Ok(())
}

#[cfg(all(test, unix, not(target_vendor = "apple")))]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_opened_where_there_is_a_display() {
        for display in ["DISPLAY", "WAYLAND_DISPLAY"] {
            let program = opener(|name| (name == display).then(|| ":0".into()));
            assert_eq!(program.unwrap(), ["xdg-open"]);
        }
        let refused = opener(|_| None).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::Unsupported);
        assert_eq!(refused.to_string(), "there is no display");
    }
}
