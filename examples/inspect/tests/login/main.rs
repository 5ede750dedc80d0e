//! `inspect login` as a program, with a server that demands tokens.
#![cfg(unix)]

mod server;
mod terminal;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use server::{World, person, redirect};

const INSPECT: &str = env!("CARGO_BIN_EXE_inspect");

/// A home directory of its own.
struct Home(PathBuf);

impl Home {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("home-{}-{number}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn inspect(&self, words: &[&str]) -> Running {
        let child = Command::new(INSPECT)
            .args(words)
            .env("HOME", &self.0)
            .env_remove("XDG_STATE_HOME")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Running(child)
    }

    /// Runs `inspect` to its end.
    fn run(&self, words: &[&str]) -> (String, String, i32) {
        self.inspect(words).end()
    }

    /// Logs in as the person does who sees the page's address.
    fn log_in(&self, world: &World) -> String {
        let mut inspect = self.inspect(&["login", &world.url]);
        let page = inspect.line();
        assert!(page.starts_with(&format!("{}/authorize?", world.issuer)), "{page}");
        assert_eq!(person(&page), 200);
        let (_, err, code) = inspect.end();
        assert_eq!(code, 0, "{err}");
        err
    }

    /// Returns the files of its store.
    fn files(&self) -> Vec<PathBuf> {
        let place = self.0.join(".local/state/mcp-inspect");
        let files = fs::read_dir(place).into_iter().flatten();
        let files = files.map(|file| file.unwrap().path());
        files.filter(|path| path.extension().is_some()).collect()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

struct Running(Child);

impl Running {
    /// Reads a line of its output.
    fn line(&mut self) -> String {
        let line = Self::line_of(self.0.stdout.as_mut().unwrap());
        if line.is_empty() {
            let mut err = String::new();
            self.0.stderr.as_mut().unwrap().read_to_string(&mut err).unwrap();
            panic!("no line: {err}");
        }
        line
    }

    fn line_of(out: &mut ChildStdout) -> String {
        let mut line = String::new();
        // A byte at a time, so that nothing is read that is left for later.
        BufReader::with_capacity(1, out).read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn say(&mut self, line: &str) {
        writeln!(self.0.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    fn end(mut self) -> (String, String, i32) {
        drop(self.0.stdin.take());
        let output = self.0.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let (out, err) = (text(output.stdout), text(output.stderr));
        for shown in [&out, &err] {
            for secret in ["access-secret", "refresh-secret", "code-secret"] {
                assert!(!shown.contains(secret), "a secret is shown: {shown}");
            }
        }
        (out, err, output.status.code().unwrap())
    }
}

const GREETING: &str = "Hello, Ada!\n";

#[test]
fn a_person_logs_in_once_and_commands_use_that() {
    let (world, home) = (World::new(), Home::new());
    let (_, err, code) = home.run(&[&world.url, "call", "greet"]);
    let said = format!(
        "inspect: cannot connect to `{0}`: authentication required (HTTP status 401, Bearer ",
        world.url
    );
    let advice = format!("log in, or set another token\nTo log in: inspect login {}\n", world.url);
    assert!(code == 1 && err.starts_with(&said) && err.ends_with(&advice), "{err}");
    assert_eq!((world.with(|it| it.registered), home.files().len()), (0, 0));

    let err = home.log_in(&world);
    assert!(err.contains("open this page") && err.contains("Logged in to "), "{err}");
    let (out, err, code) = home.run(&[&world.url, "call", "greet"]);
    assert_eq!((out.as_str(), code), (GREETING, 0), "{err}");

    // The access token ends, and is renewed without the person.
    for refreshed in 1..3 {
        world.expire();
        let (out, err, code) = home.run(&[&world.url, "call", "greet"]);
        assert_eq!((out.as_str(), code), (GREETING, 0), "{err}");
        assert_eq!(world.with(|it| (it.refreshed, it.refused)), (refreshed, 0));
    }
    // A server that forgets it all gets no page opened in the middle of a command.
    world.revoke();
    let (_, err, code) = home.run(&[&world.url, "call", "greet"]);
    assert!(code == 1 && err.contains(&format!("inspect login {}", world.url)), "{err}");
    assert_eq!(world.with(|it| it.pages), 1);
    // The client is registered already.
    home.log_in(&world);
    assert_eq!(home.run(&[&world.url, "call", "greet"]).0, GREETING);

    let (_, err, code) = home.run(&["logout", &world.url]);
    assert!(code == 0 && err.contains("Logged out of "), "{err}");
    assert!(home.files().is_empty());
    let (_, err, code) = home.run(&[&world.url, "call", "greet"]);
    assert!(code == 1 && err.contains("inspect login "), "{err}");
    let (_, err, code) = home.run(&["logout", &world.url]);
    assert!(code == 0 && err.contains("not logged in"), "{err}");
}

#[test]
fn auth_89_two_processes_refresh_at_once_and_neither_loses_the_login() {
    let (world, home) = (World::new(), Home::new());
    home.log_in(&world);
    for round in 1..4 {
        world.expire();
        let call = [world.url.as_str(), "call", "greet"];
        let running: Vec<_> = (0..3).map(|_| home.inspect(&call)).collect();
        for inspect in running {
            let (out, err, code) = inspect.end();
            assert_eq!((out.as_str(), code), (GREETING, 0), "{err}");
        }
        // One of them has refreshed, for all.
        assert_eq!(world.with(|it| (it.refreshed, it.refused)), (round, 0));
    }
}

#[test]
fn auth_85_auth_86_what_is_stored_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;

    let (world, home) = (World::new(), Home::new());
    home.log_in(&world);
    let files = home.files();
    assert!(!files.is_empty());
    for file in files {
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let place = file.parent().unwrap();
        assert_eq!(fs::metadata(place).unwrap().permissions().mode() & 0o777, 0o700);
    }
    // A token is sent to the server that it is for, and to no other.
    let other = World::new();
    let (_, err, code) = home.run(&[&other.url, "call", "greet"]);
    assert!(code == 1 && err.contains("inspect login "), "{err}");
}

#[test]
fn an_answer_is_pasted_from_another_computer() {
    let (world, home) = (World::new(), Home::new());
    let mut inspect = home.inspect(&["login", "--paste", &world.url]);
    // The browser there cannot reach this computer.
    let address = redirect(&inspect.line());
    assert!(address.starts_with("http://127.0.0.1:"), "{address}");
    inspect.say("https://auth.example.com/not-this-one");
    inspect.say(&address);
    let (_, err, code) = inspect.end();
    assert!(code == 0 && err.contains("copy the whole address"), "{err}");
    assert_eq!(home.run(&[&world.url, "call", "greet"]).0, GREETING);
}

#[test]
fn the_browser_returns_to_the_path_that_is_registered() {
    let (world, home) = (World::new(), Home::new());
    let uri = "http://127.0.0.1/callback";
    let mut inspect = home.inspect(&["login", "--redirect-uri", uri, &world.url]);
    let page = inspect.line();
    let address = redirect(&page);
    assert!(
        address.starts_with("http://127.0.0.1:") && address.contains("/callback?"),
        "{address}"
    );
    assert_eq!(person(&page), 200);
    assert_eq!(inspect.end().2, 0);
}

#[test]
fn a_login_that_fails_says_why() {
    let (world, home) = (World::new(), Home::new());
    world.with(|it| it.denies = true);
    let mut inspect = home.inspect(&["login", &world.url]);
    person(&inspect.line());
    let (_, err, code) = inspect.end();
    assert!(code == 1 && err.contains("access was denied"), "{err}");
    // Without a person there is no answer.
    let mut inspect = home.inspect(&["login", "--paste", &world.url]);
    inspect.line();
    let (_, err, code) = inspect.end();
    assert!(code == 1 && err.contains("input has ended"), "{err}");
    let (_, err, code) = home.run(&["login", "http://127.0.0.1:1/mcp"]);
    assert!(code == 1 && err.contains("127.0.0.1:1"), "{err}");
}
