//! Logs in to a protected server, and calls its tools.
//!
//!     login-client URL PERSON...
//!
//! `PERSON` is the command that answers an authorization page, whose URL follows as its last
//! argument, and prints where the browser is sent then. Prints a line for each case.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use std::{env, fs, process, thread};

use mcp_sansio::Era;
use mcp_sansio_adapters::asynchronous::client::http::HttpTransport;
use mcp_sansio_adapters::asynchronous::client::http::oauth::OAuth;
use mcp_sansio_adapters::store::DirectoryStore;
use mcp_sansio_oauth::UrlRules;
use mcp_sansio_tests::login::{Person, call};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// A client with a store of its own.
struct Login {
    url: String,
    name: &'static str,
    era: Option<Era>,
    person: Person,
    store: PathBuf,
}

impl Login {
    fn new(name: &'static str, era: Option<Era>, url: &str, person: &[String]) -> Self {
        let store = format!("login-client-{}-{name}-{era:?}", process::id());
        let store = env::temp_dir().join(store);
        Self { url: url.to_owned(), name, era, person: Person::new(person), store }
    }

    /// Calls a tool on a connection of its own, and returns its text; `None` without such a tool.
    fn call(&self, tool: &str) -> Outcome<Option<String>> {
        let store = DirectoryStore::open(&self.store, 1 << 20)?;
        let mut oauth = OAuth::new(self.name).store(store).browser(self.person.clone());
        oauth.rules = UrlRules::new().loopback_http(true);
        call(HttpTransport::new(&self.url)?.oauth(oauth), self.era, tool)
    }

    fn whoami(&self) -> Outcome {
        let said = self.call("whoami")?.unwrap_or_default();
        said.starts_with("alice: ").then_some(()).ok_or_else(|| said.into())
    }

    fn was_asked(&self, times: usize) -> Outcome {
        let asked = self.person.asked();
        (asked == times).then_some(()).ok_or_else(|| format!("asked {asked} times").into())
    }

    fn logs_in(&self) -> Outcome {
        self.whoami()?;
        self.was_asked(1)
    }

    fn renews(&self) -> Outcome {
        self.logs_in()?;
        // Of tokens for four seconds.
        thread::sleep(Duration::from_millis(2200));
        self.logs_in()
    }

    fn asks_for_more(&self) -> Outcome<&'static str> {
        let Some(said) = self.call("write")? else { return Ok("N/A ") };
        if !said.split(' ').any(|scope| scope == "mcp:write") {
            return Err(said.into());
        }
        self.was_asked(2)?;
        Ok("PASS")
    }
}

impl Drop for Login {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.store);
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [url, person @ ..] = &arguments[..] else {
        eprintln!("usage: login-client URL PERSON...");
        return ExitCode::from(2);
    };
    let mut code = ExitCode::SUCCESS;
    let mut case = |name: &str, era: Option<Era>, outcome: Outcome<&str>| {
        let era = era.map_or_else(|| "any era".to_owned(), |era| format!("{era:?}"));
        match outcome {
            Ok(word) => println!("{word} our client, {era}: {name}"),
            Err(error) => {
                println!("FAIL our client, {era}: {name} -- {error}");
                code = ExitCode::FAILURE;
            }
        }
    };
    for era in [None, Some(Era::Legacy)] {
        let login = Login::new("interop", era, url, person);
        case("logs in", era, login.logs_in().map(|()| "PASS"));
        case("keeps its tokens for the next connection", era, login.logs_in().map(|()| "PASS"));
        case("asks for the scope that a tool needs", era, login.asks_for_more());
        // The authorization servers of the tests give a client of this name short-lived tokens.
        let brief = Login::new("brief", era, url, person);
        case("renews a token that is about to end", era, brief.renews().map(|()| "PASS"));
    }
    code
}
