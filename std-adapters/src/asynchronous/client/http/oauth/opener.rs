//! Opening a page in the browser of the person.

use std::io;
use std::process::{Command, Stdio};

use mcp_sansio::oauth::Url;

/// Opens a URL in the browser that the operating system has for it: with `xdg-open`, `open` on
/// macOS, `rundll32` on Windows. The URL is one argument of a program; no shell reads it.
///
/// # Errors
/// [`InvalidInput`](io::ErrorKind::InvalidInput) unless it is an `https` URL, or an `http` URL of
/// this machine; [`Unsupported`](io::ErrorKind::Unsupported) on Unix without a display; errors of
/// starting the program. That it has started does not mean that a page is shown.
pub fn open_in_browser(url: &str) -> io::Result<()> {
    if cfg!(all(unix, not(target_vendor = "apple")))
        && ["DISPLAY", "WAYLAND_DISPLAY"].iter().all(|name| std::env::var_os(name).is_none())
    {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "there is no display"));
    }
    let program: &[&str] = if cfg!(windows) {
        &["rundll32", "url.dll,FileProtocolHandler"]
    } else if cfg!(target_vendor = "apple") {
        &["open"]
    } else {
        &["xdg-open"]
    };
    open_with(program, url)
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
