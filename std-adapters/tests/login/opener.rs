//! Opening a page.

use std::io::ErrorKind;

use mcp_sansio_adapters::asynchronous::client::http::oauth::{open_in_browser, open_with};

#[test]
fn auth_111_only_https_and_pages_of_this_machine_are_opened() {
    for url in [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "data:text/html,x",
        "ms-msdt:/id",
        "--new-window",
        "-e sh",
        "http://auth.example.com/",
        "https://a@auth.example.com/",
        "https://auth.example.com/ x",
        "https://auth.example.com/\u{1b}[2J",
        "https://auth.example.com/\"&calc&\"",
        "",
    ] {
        for opened in [open_with(&["no-such-program"], url), open_in_browser(url)] {
            // A machine without a display opens nothing.
            let kind = opened.expect_err(url).kind();
            assert!(matches!(kind, ErrorKind::InvalidInput | ErrorKind::Unsupported), "{url}");
        }
        let kind = open_with(&["no-such-program"], url).unwrap_err().kind();
        assert_eq!(kind, ErrorKind::InvalidInput, "{url}");
    }
    for url in
        ["https://auth.example.com/authorize?x=y", "http://127.0.0.1:80/", "http://localhost/"]
    {
        let kind = open_with(&["no-such-program"], url).unwrap_err().kind();
        assert_eq!(kind, ErrorKind::NotFound, "{url} would be opened");
    }
}

#[cfg(unix)]
#[test]
fn auth_112_a_url_is_one_argument_that_no_shell_reads() {
    let seen = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let seen = seen.join(format!("opened-{}", std::process::id()));
    let url = "https://auth.example.com/a?b=$(touch+x);c=1&d='e'*~!#".trim_end_matches('#');
    let write = format!("printf '%s|%s' $# \"$1\" > {0}.new && mv {0}.new {0}", seen.display());
    open_with(&["sh", "-c", &write, "sh"], url).unwrap();
    let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while !seen.exists() {
        assert!(std::time::Instant::now() < end, "the program writes what it gets");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(std::fs::read_to_string(&seen).unwrap(), format!("1|{url}"));
    std::fs::remove_file(seen).unwrap();
}
