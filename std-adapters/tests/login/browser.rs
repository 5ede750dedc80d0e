//! The person's part of a login.

use std::io::{self, ErrorKind, Read as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use mcp_sansio_adapters::asynchronous::client::http::oauth::{
    Browser, BrowserNotice, MAX_LOGINS, MAX_PASTES, SystemBrowser,
};

use crate::listener::visit;

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

/// Returns the URL of a page that returns to this URI.
fn page(redirect_uri: &str) -> String {
    let uri = redirect_uri.replace(':', "%3A").replace('/', "%2F");
    format!("https://auth.example.com/authorize?client_id=1&redirect_uri={uri}&state=a%2Fb")
}

const ANSWER: &str = "state=a%2Fb&code=c";

/// Brings the answer as a browser does.
fn answer(redirect_uri: &str) {
    visit(redirect_uri, ANSWER).read_to_end(&mut Vec::new()).unwrap();
}

/// Shows the page that returns to this URI.
fn show(browser: &SystemBrowser, uri: &str) -> io::Result<String> {
    smol::block_on(browser.show(page(uri)))
}

/// The same, while a browser brings the answer.
fn returned(browser: &SystemBrowser, uri: &str) -> String {
    thread::scope(|scope| {
        scope.spawn(|| answer(uri));
        show(browser, uri).unwrap()
    })
}

/// A redirect URI with a port that no system gives to anybody who asks for any port.
fn free_redirect_uri() -> String {
    let first = 10_000 + u16::try_from(std::process::id() % 10_000).unwrap();
    let mut ports = first..first + 10_000;
    let port = ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap();
    format!("http://127.0.0.1:{port}/callback")
}

#[test]
fn a_page_is_shown_or_opened_and_the_browser_comes_back() {
    let no_display = || io::Error::new(ErrorKind::Unsupported, "there is no display");
    let [(silent, told), (opening, opened), (failing, failed)] = [(); 3].map(|()| browser());
    for (browser, shown, [before, behind]) in [
        (silent, told, ["open ", ""]),
        (opening.opens(|_| Ok(())), opened, ["opened ", ""]),
        (
            failing.opens(move |_| Err(no_display())),
            failed,
            ["not opened ", ": there is no display"],
        ),
    ] {
        let mut pages = Vec::new();
        // Once more, with the redirect URI of the last time.
        let mut last = Some(free_redirect_uri());
        for _ in 0..2 {
            // Windows may give a port free some time after it was closed.
            let host = last.as_deref().and_then(|uri| uri.split('/').nth(2)).unwrap();
            while TcpListener::bind(host).is_err() {
                thread::sleep(Duration::from_millis(1));
            }
            let uri = browser.redirect_uri(last.as_deref()).unwrap();
            assert_eq!(last.as_ref(), Some(&uri));
            assert_eq!(returned(&browser, &uri), ANSWER);
            pages.push(format!("{before}{}{behind}", page(&uri)));
            last = Some(uri);
        }
        assert_eq!(*shown.lock().unwrap(), pages);
    }
}

#[test]
fn r3_c1_each_of_several_logins_returns_to_its_own_listener() {
    // The page's own URI stands behind one of the authorization server's URL.
    let with_another =
        |uri: &str| page(uri).replace('?', "?redirect_uri=http%3A%2F%2F127.0.0.1%3A9%2Fx&state=y&");
    let browser = browser().0.opens(|page| {
        let uri = page.rsplit("redirect_uri=").next().unwrap().split('&').next().unwrap();
        let uri = uri.replace("%3A", ":").replace("%2F", "/");
        thread::spawn(move || answer(&uri));
        Ok(())
    });
    let uris = [(); 3].map(|()| browser.redirect_uri(None).unwrap());
    // In another order than they began; then a second page of the same login.
    for uri in [&uris[2], &uris[0], &uris[1], &uris[1]] {
        assert_eq!(smol::block_on(browser.show(with_another(uri))).unwrap(), ANSWER);
    }
    let elsewhere = smol::block_on(browser.show(page("https://a.example/"))).unwrap_err();
    assert_eq!(elsewhere.kind(), ErrorKind::NotConnected);
    // Logins that never come to their page keep no more than so many ports.
    let uris: Vec<_> = (0..=MAX_LOGINS).map(|_| browser.redirect_uri(None).unwrap()).collect();
    let is_open = |uri: &String| TcpStream::connect(uri.split('/').nth(2).unwrap()).is_ok();
    assert_eq!(uris.iter().filter(|uri| is_open(uri)).count(), MAX_LOGINS);
}

#[test]
fn auth_68_the_redirect_uri_of_a_registered_client_is_kept_but_for_its_port() {
    let mut browser = browser().0;
    let port_of = |uri: &str| uri.split([':', '/']).nth(4).unwrap().parse::<u16>().unwrap();
    for own in ["http://127.0.0.1/callback", "http://localhost:1/callback"] {
        browser.redirect_uri = Some(own.to_owned());
        let host = own.split([':', '/']).nth(3).unwrap();
        // Not so that of another registration, which has another path.
        for last in [None, Some("http://127.0.0.1:4711/other"), Some("http://[::1]:4711/callback")]
        {
            let uri = browser.redirect_uri(last).unwrap();
            assert_eq!(uri, format!("http://{host}:{}/callback", port_of(&uri)));
            assert_ne!(port_of(&uri), 4711);
        }
    }
    let last = free_redirect_uri();
    browser.redirect_uri = Some("http://127.0.0.1/callback".to_owned());
    assert_eq!(browser.redirect_uri(Some(&last)).unwrap(), last);
    browser.redirect_uri = Some("https://app.example/callback".to_owned());
    let refused = browser.redirect_uri(None).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput);
}

#[test]
fn a_browser_that_does_not_come_back_ends_the_login() {
    let mut browser = browser().0;
    browser.time_limit = Duration::from_millis(1);
    let uri = browser.redirect_uri(None).unwrap();
    let late = show(&browser, &uri).unwrap_err().to_string();
    assert!(late.contains("not come back in time: log in again"), "{late}");
    assert!(!late.contains("state"));
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
        let uri = browser.redirect_uri(None).unwrap();
        let query = show(&browser, &uri);
        assert_eq!(query.is_ok_and(|query| query == ANSWER), is_good, "{wrong}");
        let told = shown.lock().unwrap().iter().filter(|it| it.contains("copy the whole")).count();
        assert_eq!(told, wrong);
    }
    let (closed, _) = browser();
    let closed = closed.paste(|| Err(ErrorKind::UnexpectedEof.into()));
    let uri = closed.redirect_uri(None).unwrap();
    let ended = show(&closed, &uri).unwrap_err();
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
    assert_eq!(returned(&browser, &uri), ANSWER);
}

#[test]
fn what_outlasts_a_login_reads_the_answer_to_the_next() {
    let run = |show: &dyn Fn(&SystemBrowser, String) -> io::Result<String>| {
        let (person, pasted) = mpsc::channel();
        let pasted = Mutex::new(pasted);
        let (browser, _) = browser();
        let mut browser = browser.paste(move || {
            let line: String = pasted.lock().unwrap().recv().map_err(io::Error::other)?;
            Ok(line)
        });
        browser.time_limit = Duration::from_secs(10);
        let uri = browser.redirect_uri(None).unwrap();
        let page_of_first = page(&uri);
        let first = thread::spawn(move || answer(&uri));
        assert_eq!(show(&browser, page_of_first).unwrap(), ANSWER);
        first.join().unwrap();
        let uri = browser.redirect_uri(None).unwrap();
        person.send(ANSWER.to_owned()).unwrap();
        assert_eq!(show(&browser, page(&uri)).unwrap(), ANSWER);
    };
    run(&|browser, page| smol::block_on(browser.show(page)));
    // The end of a runtime does not wait for the person either.
    #[cfg(feature = "tokio")]
    run(&|browser, page| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(browser.show(page))
    });
}

#[test]
fn a_panic_of_the_function_that_reads_ends_the_login_with_its_text() {
    let (browser, _) = browser();
    let browser = browser.paste(|| panic!("no terminal"));
    let uri = browser.redirect_uri(None).unwrap();
    assert_eq!(show(&browser, &uri).unwrap_err().to_string(), "no terminal");
}
