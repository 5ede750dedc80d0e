//! Logging in and out.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write as _};
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;

use mcp_sansio::Printable;
use mcp_sansio_adapters::asynchronous::client::http::HttpTransport;
use mcp_sansio_adapters::asynchronous::client::http::oauth::{
    BrowserNotice, OAuth, OAuthClient, SystemBrowser, open_in_browser,
};
use mcp_sansio_adapters::store::{DirectoryStore, StoreError};
use mcp_sansio_oauth::{AddressKind, Url, UrlRules};

use super::Failure;
use super::options::{Login, Options};

/// Logs in to the server at this URL, and keeps the login.
pub(crate) fn log_in(url: &str, options: &Options) -> Result<(), Failure> {
    let login = &options.login;
    let (oauth, place) = stored(url).map_err(failed)?;
    let mut oauth = oauth.browser(browser(url, login));
    oauth.clients.extend(login.client_id.as_ref().map(OAuthClient::new));
    oauth.scope.clone_from(&login.scope);
    let http =
        HttpTransport::new(url).map_err(|error| Failure::Usage(format!("{url}: {error}")))?;
    let done = smol::block_on(http.oauth(oauth).login());
    done.map_err(|error| failed(format_args!("cannot log in to {url}: {error}")))?;
    eprintln!("Logged in to {}. The login is kept in {}.", Printable::new(url), place.display());
    Ok(())
}

/// Forgets the login to the server at this URL.
pub(crate) fn log_out(url: &str) -> Result<(), Failure> {
    let (oauth, _) = stored(url).map_err(failed)?;
    let was_logged_in = oauth.log_out(url).map_err(failed)?;
    let url = Printable::new(url);
    if was_logged_in {
        eprintln!("Logged out of {url}. Its tokens are removed here, but not revoked there.");
    } else {
        eprintln!("You are not logged in to {url}.");
    }
    Ok(())
}

/// Returns what uses the login to the server at this URL, and the directory in which it is kept.
pub(crate) fn stored(url: &str) -> Result<(OAuth, PathBuf), StoreError> {
    let place = DirectoryStore::default_path("mcp-inspect")
        .ok_or_else(|| StoreError::Failed("there is no home directory: set HOME".into()))?;
    let store = DirectoryStore::open(&place, LIMIT)?;
    Ok((OAuth { rules: rules(url), ..OAuth::new("inspect").store(store) }, place))
}

/// Returns where the server at this URL may send this program: within the own network if it is
/// there itself, and to this computer without TLS if it is here.
fn rules(url: &str) -> UrlRules {
    let Ok(url) = Url::parse(url) else { return UrlRules::new() };
    let is_inner = |address: SocketAddr| AddressKind::of(address.ip()) != AddressKind::Public;
    let addresses = (url.origin().host, url.origin().port).to_socket_addrs();
    let is_inner = addresses.is_ok_and(|mut addresses| addresses.all(is_inner));
    UrlRules::new().inner_addresses(is_inner).loopback_http(url.is_loopback())
}

fn failed(error: impl Display) -> Failure {
    Failure::Login(error.to_string())
}

/// Returns the browser with which a person logs in to the server.
fn browser(server: &str, login: &Login) -> SystemBrowser {
    let server = server.to_owned();
    let pastes = login.paste;
    let mut browser = SystemBrowser::new(move |notice| show(&server, notice, pastes));
    browser.redirect_uri.clone_from(&login.redirect_uri);
    let is_terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
    if login.paste {
        browser.paste(paste)
    } else if login.no_browser || !is_terminal {
        browser
    } else {
        browser.opens(open_in_browser)
    }
}

fn show(server: &str, notice: BrowserNotice<'_>, pastes: bool) {
    let server = Printable::new(server);
    let page = match notice {
        BrowserNotice::Open(page) => {
            eprintln!("To log in to {server}, open this page:\n");
            page
        }
        BrowserNotice::Opened(page) => {
            eprintln!(
                "Opening a browser to log in to {server}. If none appears, open this page:\n"
            );
            page
        }
        BrowserNotice::NotOpened(page, why) => {
            let why = Printable::new(why);
            eprintln!("No browser can be opened ({why}). To log in to {server}, open this page:\n");
            page
        }
        BrowserNotice::NotTheAnswer(why) => {
            eprint!("inspect: {}\nAddress: ", Printable::new(why));
            return;
        }
        _ => return,
    };
    // On standard output, for programs that open it. It is closed if they want nothing.
    let _ = writeln!(io::stdout(), "{}", Printable::new(page));
    if pastes {
        eprint!(
            "\nThe last page does not load if the browser runs on another computer. Copy its \
             address.\nAddress: "
        );
    } else {
        eprintln!("\nWaiting for the browser; Ctrl-C to stop.");
    }
}

/// Reads what the person has pasted.
fn paste() -> io::Result<String> {
    let mut line = String::new();
    match io::stdin().read_line(&mut line)? {
        0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the input has ended")),
        _ => Ok(line),
    }
}

/// Maximum number of bytes of all logins.
const LIMIT: u64 = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r3_l6_a_server_of_the_internet_leads_into_no_inner_network() {
        for (url, is_inner) in [
            ("https://1.1.1.1/mcp", false),
            ("https://[2606:4700::1111]/mcp", false),
            ("https://10.0.0.1/mcp", true),
            ("https://[fd00::1]:8443/mcp", true),
            ("http://127.0.0.1:8080/mcp", true),
            ("stdio", false),
        ] {
            assert_eq!(rules(url).allow(AddressKind::Inner), is_inner, "{url}");
            assert!(rules(url).allow(AddressKind::Public));
        }
    }
}
