//! The person's part of a login.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use mcp_sansio_adapters::asynchronous::client::http::oauth::{
    Browser, BrowserNotice, MAX_PASTES, SystemBrowser,
};

/// What the program has shown.
type Shown = Arc<Mutex<Vec<String>>>;

fn browser() -> (SystemBrowser, Shown) {
    let shown = Shown::default();
    let kept = Arc::clone(&shown);
    let browser = SystemBrowser::new(move |notice| {
        kept.lock().unwrap().push(match notice {
            BrowserNotice::Open(url) => format!("open {url}"),
            BrowserNotice::Opened(url) => format!("opened {url}"),
            BrowserNotice::NotOpened(url, why) => format!("not opened {url}: {why}"),
            BrowserNotice::NotTheAnswer(why) => why.to_owned(),
            other => panic!("{other:?}"),
        });
    });
    (browser, shown)
}

const PAGE: &str = "https://auth.example.com/authorize?client_id=1&state=a%2Fb";
const ANSWER: &str = "state=a%2Fb&code=c";

/// Brings the answer as a browser does.
fn answer(redirect_uri: &str) {
    let rest = redirect_uri.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path}?{ANSWER} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    stream.read_to_end(&mut Vec::new()).unwrap();
}

#[test]
fn a_page_is_shown_or_opened_and_the_browser_comes_back() {
    let (silent, shown) = browser();
    let failing = || io::Error::new(ErrorKind::Unsupported, "there is no display");
    let (opening, failing) =
        (browser().0.opens_with(|_| Ok(())), browser().0.opens_with(move |_| Err(failing())));
    for browser in [silent, opening, failing] {
        // Once more, with the redirect URI of the first time.
        let mut last = None;
        for _ in 0..2 {
            let uri = browser.redirect_uri(last.as_deref()).unwrap();
            assert!(last.is_none_or(|last| last == uri));
            let person = thread::spawn({
                let uri = uri.clone();
                move || answer(&uri)
            });
            let query = smol::block_on(browser.show(PAGE.to_owned())).unwrap();
            assert_eq!(query, ANSWER);
            person.join().unwrap();
            last = Some(uri);
        }
    }
    assert_eq!(*shown.lock().unwrap(), [format!("open {PAGE}"), format!("open {PAGE}")]);
}

#[test]
fn what_happened_to_the_page_is_told() {
    let short = Duration::from_millis(1);
    let (opening, shown) = browser();
    let opening = opening.opens_with(|_| Ok(())).time_limit(short);
    let (failing, failed) = browser();
    let no_display = || io::Error::new(ErrorKind::Unsupported, "there is no display");
    let failing = failing.opens_with(move |_| Err(no_display())).time_limit(short);
    for browser in [opening, failing] {
        browser.redirect_uri(None).unwrap();
        let late = smol::block_on(browser.show(PAGE.to_owned())).unwrap_err();
        assert!(late.to_string().contains("not come back in time: log in again"), "{late}");
        assert!(!late.to_string().contains("state"));
    }
    assert_eq!(*shown.lock().unwrap(), [format!("opened {PAGE}")]);
    assert_eq!(*failed.lock().unwrap(), [format!("not opened {PAGE}: there is no display")]);
}

#[test]
fn an_answer_is_pasted_within_some_attempts() {
    for (wrong, is_good) in [(0, true), (MAX_PASTES - 1, true), (MAX_PASTES, false)] {
        let (browser, shown) = browser();
        let left = Mutex::new(wrong);
        let browser = browser.paste(move || {
            let mut left = left.lock().unwrap();
            let is_wrong = *left > 0;
            *left = left.saturating_sub(1);
            Ok(if is_wrong { "https://auth.example.com/" } else { ANSWER }.to_owned())
        });
        browser.redirect_uri(None).unwrap();
        let query = smol::block_on(browser.show(PAGE.to_owned()));
        assert_eq!(query.is_ok_and(|query| query == ANSWER), is_good, "{wrong}");
        let told = shown.lock().unwrap().iter().filter(|it| it.contains("copy the whole")).count();
        assert_eq!(told, wrong);
    }
    let (closed, _) = browser();
    let closed = closed.paste(|| Err(ErrorKind::UnexpectedEof.into()));
    closed.redirect_uri(None).unwrap();
    let ended = smol::block_on(closed.show(PAGE.to_owned())).unwrap_err();
    assert_eq!(ended.kind(), ErrorKind::UnexpectedEof);
}

#[test]
fn a_browser_may_come_back_while_a_person_could_paste() {
    let (browser, _) = browser();
    let browser = browser.paste(|| {
        thread::sleep(Duration::from_secs(1));
        Ok(String::new())
    });
    let uri = browser.redirect_uri(None).unwrap();
    let person = thread::spawn(move || answer(&uri));
    assert_eq!(smol::block_on(browser.show(PAGE.to_owned())).unwrap(), ANSWER);
    person.join().unwrap();
}
