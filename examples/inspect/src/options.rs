//! The command line.

use std::ffi::OsString;
use std::time::Duration;

/// The parsed command line.
#[derive(Debug, PartialEq)]
pub(crate) struct Options {
    pub(crate) action: Action,
    pub(crate) server: Server,
    pub(crate) era: Era,
    /// Print raw frames to standard error.
    pub(crate) trace: bool,
    /// Print results as JSON.
    pub(crate) json: bool,
    pub(crate) timeout: Duration,
    pub(crate) login: Login,
}

/// Way in which a person logs in.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Login {
    /// Print the page's URL, and open nothing.
    pub(crate) no_browser: bool,
    /// The person pastes the address to which the browser has returned.
    pub(crate) paste: bool,
    /// The client as it is registered at the authorization server.
    pub(crate) client_id: Option<String>,
    /// Its redirect URI there.
    pub(crate) redirect_uri: Option<String>,
    pub(crate) scope: Option<String>,
}

/// The address of the server.
#[derive(Debug, PartialEq)]
pub(crate) enum Server {
    Command(Vec<OsString>),
    Tcp(String),
    Unix(OsString),
    Url { url: String, token: Option<String> },
}

/// The command to run.
#[derive(Debug, PartialEq)]
pub(crate) enum Action {
    /// List everything that the server offers.
    Overview,
    Tools,
    Resources,
    Prompts,
    /// List the skills, or load one.
    Skills {
        uri: Option<String>,
    },
    Call {
        name: String,
        arguments: Vec<String>,
        task: Task,
    },
    /// Go on with a task that was detached: the file that it is stored in, or its text.
    Task {
        stored: String,
        cancels: bool,
    },
    Read {
        uri: String,
    },
    Prompt {
        name: String,
        arguments: Vec<String>,
    },
    /// Print changes.
    Watch {
        uris: Vec<String>,
    },
    Login,
    Logout,
}

/// Whether a call is to be a task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Task {
    AsTheServerLikes,
    Ask,
    /// Ask, and leave it to the server.
    Detach,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Era {
    Find,
    Legacy,
    Modern,
}

/// Parses the command line.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Options, Stop> {
    use lexopt::prelude::*;
    let mut words = Vec::new();
    let (mut server, mut era, mut trace, mut json, mut timeout) =
        (None, Era::Find, false, false, 30.0);
    let mut token = None;
    let mut login = Login::default();
    let mut task = Task::AsTheServerLikes;
    let mut given: Vec<OsString> = arguments.into_iter().collect();
    // The words after the first `--` are the server's command line.
    if let Some(at) = given.iter().position(|argument| argument == "--") {
        let command = given.split_off(at);
        server = Some(Server::Command(command.into_iter().skip(1).collect()));
    }
    let verb = given.iter().find(|word| !word.to_string_lossy().starts_with('-'));
    let is_login = verb.is_some_and(|verb| verb == "login" || verb == "logout");
    let mut parser = lexopt::Parser::from_args(given);
    while let Some(argument) = parser.next().map_err(wrong)? {
        match argument {
            Short('h') | Long("help") => {
                return Err(Stop::Help(if is_login { LOGIN_HELP } else { HELP }));
            }
            Long("tcp") => server = Some(Server::Tcp(value(&mut parser)?)),
            Long("unix") => server = Some(Server::Unix(parser.value().map_err(wrong)?)),
            Long("bearer") => token = Some(value(&mut parser)?),
            Long("no-browser") => login.no_browser = true,
            Long("paste") => login.paste = true,
            Long("client-id") => login.client_id = Some(value(&mut parser)?),
            Long("redirect-uri") => login.redirect_uri = Some(value(&mut parser)?),
            Long("scope") => login.scope = Some(value(&mut parser)?),
            Long("task") if task == Task::AsTheServerLikes => task = Task::Ask,
            Long("task") => {}
            Long("detach") => task = Task::Detach,
            Long("legacy") => era = Era::Legacy,
            Long("modern") => era = Era::Modern,
            Long("trace") => trace = true,
            Long("json") => json = true,
            Long("timeout") => timeout = parser.value().and_then(|v| v.parse()).map_err(wrong)?,
            Value(word) => words.push(word.string().map_err(wrong)?),
            other => return Err(wrong(other.unexpected())),
        }
    }
    let timeout = Duration::try_from_secs_f64(timeout)
        .map_err(|_| Stop::Wrong("--timeout takes seconds".to_owned()))?;
    // `login URL` reads better than `URL login`.
    if let [verb, url, ..] = &mut *words
        && matches!(verb.as_str(), "login" | "logout")
        && is_url(url)
    {
        std::mem::swap(verb, url);
    }
    // A resource's URI may be a URL too; that of the server comes first.
    let words = match words.split_first() {
        Some((url, rest)) if is_url(url) => {
            server = Some(Server::Url { url: url.clone(), token: token.take() });
            rest
        }
        _ => &words,
    };
    if token.is_some() {
        return Err(Stop::Wrong("--bearer requires a URL".to_owned()));
    }
    if let [verb, _, ..] = words
        && matches!(verb.as_str(), "login" | "logout")
        && server.is_none()
    {
        return Err(Stop::Wrong(format!(
            "`{verb}` takes a URL that starts with https:// or http://"
        )));
    }
    let action = action(words, task)?;
    if task != Task::AsTheServerLikes && !matches!(action, Action::Call { .. }) {
        return Err(Stop::Wrong("--task and --detach are options of `call`".to_owned()));
    }
    let is_login = matches!(action, Action::Login | Action::Logout);
    if is_login && !matches!(server, Some(Server::Url { token: None, .. })) {
        return Err(Stop::Wrong("login and logout take the URL of a server".to_owned()));
    }
    if action != Action::Login && login != Login::default() {
        let options = "--no-browser, --paste, --client-id, --redirect-uri and --scope are options \
                       of `login`";
        return Err(Stop::Wrong(options.to_owned()));
    }
    let missing = || {
        Stop::Wrong("missing server: start with its URL, end with `-- COMMAND…`, or use --tcp ADDR or --unix PATH".to_owned())
    };
    let server = server
        .filter(|server| !matches!(server, Server::Command(words) if words.is_empty()))
        .ok_or_else(missing)?;
    Ok(Options { action, server, era, trace, json, timeout, login })
}

/// Returns the text after an option.
pub(crate) fn value(parser: &mut lexopt::Parser) -> Result<String, Stop> {
    parser.value().and_then(lexopt::ValueExt::string).map_err(wrong)
}

pub(crate) fn is_url(word: &str) -> bool {
    word.starts_with("http://") || word.starts_with("https://")
}

fn action(words: &[String], task: Task) -> Result<Action, Stop> {
    let Some((verb, rest)) = words.split_first() else { return Ok(Action::Overview) };
    let one = |what: &str| {
        rest.first().cloned().ok_or_else(|| Stop::Wrong(format!("`{verb}` needs {what}")))
    };
    let arguments = || rest.iter().skip(1).cloned().collect::<Vec<_>>();
    let taken = match verb.as_str() {
        "call" | "prompt" | "watch" => rest.len(),
        "task" if rest.get(1).is_some_and(|word| word == "cancel") => 2,
        "read" | "skills" | "task" => 1,
        _ => 0,
    };
    let action = match verb.as_str() {
        "tools" => Action::Tools,
        "resources" => Action::Resources,
        "prompts" => Action::Prompts,
        "skills" => Action::Skills { uri: rest.first().cloned() },
        "call" => Action::Call { name: one("the name of a tool")?, arguments: arguments(), task },
        "task" => Action::Task {
            stored: one("the file of a detached task")?,
            cancels: rest.get(1).is_some_and(|word| word == "cancel"),
        },
        "read" => Action::Read { uri: one("the URI of a resource")? },
        "prompt" => Action::Prompt { name: one("the name of a prompt")?, arguments: arguments() },
        "watch" => Action::Watch { uris: rest.to_vec() },
        "login" => Action::Login,
        "logout" => Action::Logout,
        _ => {
            return Err(Stop::Wrong(format!(
                "unknown command `{verb}`: a program comes after `--`, as in `inspect -- {verb}`"
            )));
        }
    };
    match rest.get(taken) {
        Some(url) if url.contains("://") => Err(Stop::Wrong(format!(
            "`{verb}` does not take `{url}`: a URL comes first, as in `inspect {url} {verb}`"
        ))),
        Some(extra) => Err(Stop::Wrong(format!("`{verb}` does not take `{extra}`"))),
        None => Ok(action),
    }
}

/// The reason why there is no command to run.
#[derive(Debug, PartialEq)]
pub(crate) enum Stop {
    Help(&'static str),
    Wrong(String),
}

pub(crate) fn wrong(error: lexopt::Error) -> Stop {
    Stop::Wrong(error.to_string())
}

pub(crate) const HELP: &str = "\
Shows what an MCP server offers, and the results of calls.

usage: inspect [OPTIONS] [COMMAND] -- PROGRAM [ARGUMENT…]
       inspect [OPTIONS] [COMMAND] --tcp HOST:PORT | --unix PATH
       inspect [OPTIONS] URL [COMMAND]
       inspect [OPTIONS] login URL
       inspect logout URL
       inspect config [--host HOST] [--name NAME] PROGRAM [ARGUMENT…] | URL
       inspect new [--path DIR] NAME
       inspect run --watch PROGRAM [ARGUMENT…]
       inspect completions SHELL
       inspect man

commands
  (none)                  list everything that the server offers
  tools, resources, prompts, skills
                          list the tools, resources, prompts or skills
  call NAME [KEY=VALUE…]  call a tool. Values have the types of the tool's schema; KEY:=JSON is
                          passed unchanged
  task FILE [cancel]      wait for the result of a task from `call --detach`, or cancel it
  read URI                read a resource
  skills URI              load a skill: its SKILL.md, verified
  prompt NAME [KEY=VALUE…]
                          get a prompt
  watch [URI…]            print changes until the server ends or Ctrl-C
  login URL               log in to a server, in a browser; later commands use that login
  logout URL              forget that login
  config PROGRAM [ARGUMENT…]
                          print what hosts want to know of a server, to be pasted: Claude Desktop,
                          Claude Code, VS Code, Cursor, Goose, Zed. Also for a URL
  new NAME                write a project with a server, a test and a README into a new directory
  run --watch PROGRAM [ARGUMENT…]
                          a server for a host: PROGRAM, which is started again when its file, or one
                          that an ARGUMENT names, changes. The host keeps its session
  completions SHELL       print the completions for one of bash, fish, zsh
  man                     print a man page

options
  --tcp HOST:PORT         the server listens there
  --unix PATH             the server listens at this socket
  --legacy, --modern      use `initialize` (up to 2025-11-25), or no handshake (2026-07-28);
                          default: detect
  --task                  ask for a task (2025-11-25; in 2026-07-28 the server decides)
  --detach                print a task as JSON and leave it to the server
  --bearer TOKEN          bearer token for a server behind a URL; other users of this computer
                          can see it
  --no-browser            login: print the address of the page, and open nothing. Without a
                          terminal that is the default
  --paste                 login: ask for the address to which the browser returns, which may
                          run on another computer
  --client-id ID          login: the client, where a server does not let clients register
  --redirect-uri URI      login: the address on this computer to which that client returns, as it
                          is registered; its port may be another
  --scope SCOPES          login: ask for no more than these permissions
  --timeout SECONDS       maximum time without a message of the server (default 30)
  --host HOST             config: only this one of claude-desktop, claude-code, vscode, cursor,
                          goose, zed
  --name NAME             config: the server's name (default: that of the program)
  --watch                 run: start the server again after a change (required)
  --path DIR              new: depend on a checkout of mcp-sansio instead of its git address
  --json                  print results as JSON
  --trace                 print every frame on standard error
  -h, --help              print this text

examples
  inspect -- target/debug/everything-server --stdio
  inspect call echo text='hello there' -- target/debug/echo-server
  inspect --trace read test://hello --tcp 127.0.0.1:4000
  inspect http://127.0.0.1:8000/mcp tools
  inspect login https://mcp.example.com/mcp
  inspect https://mcp.example.com/mcp call echo text=hello
  inspect login --paste https://mcp.example.com/mcp       (over ssh)
  inspect config --host vscode target/debug/echo-server
  inspect new notes
  inspect config inspect run --watch $PWD/target/debug/notes      (while you develop it)
  inspect completions bash > /etc/bash_completion.d/inspect
";

const LOGIN_HELP: &str = "\
Logs in to an MCP server behind a URL, and out again.

usage: inspect login [OPTIONS] URL
       inspect logout URL

`login` asks the server which authorization server it trusts, and shows a page there, on which you
log in. Later commands with the same URL use that login, and renew it, until `logout` removes it
from this computer. It is kept in a directory for you alone, which `login` names.

options
  --no-browser     print the address of the page, and open nothing. Without a terminal that is the
                   default
  --paste          ask for the address to which the browser returns: it may run on another computer
  --client-id ID   the client, where a server does not let clients register
  --redirect-uri URI
                   the address on this computer to which that client returns, as it is registered;
                   its port may be another
  --scope SCOPES   ask for no more than these permissions, separated by spaces
  -h, --help       print this text

examples
  inspect login https://mcp.example.com/mcp
  inspect https://mcp.example.com/mcp tools               (uses that login)
  inspect login --paste https://mcp.example.com/mcp       (over ssh)
  inspect login --client-id my-id --scope 'files:read files:write' https://mcp.example.com/mcp
  inspect login --client-id my-id --redirect-uri http://127.0.0.1/callback \\
      https://mcp.example.com/mcp
  inspect logout https://mcp.example.com/mcp
";

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options, Stop> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn the_help_has_all_commands_and_options() {
        crate::completions::tests::assert_complete(&[
            include_str!("main.rs"),
            include_str!("options.rs"),
            include_str!("config.rs"),
            include_str!("new.rs"),
            include_str!("run/mod.rs"),
        ]);
    }

    #[test]
    fn words_after_the_dashes_are_the_command_of_the_server() {
        let options = parsed("call echo text=hi --json -- server --json -- x").unwrap();
        assert_eq!(
            options.action,
            Action::Call {
                name: "echo".into(),
                arguments: vec!["text=hi".into()],
                task: Task::AsTheServerLikes
            }
        );
        let words = ["server", "--json", "--", "x"].map(OsString::from);
        assert_eq!(options.server, Server::Command(words.to_vec()));
        assert!(options.json && !options.trace && options.era == Era::Find);
    }

    #[test]
    fn a_url_is_the_server_when_it_comes_first() {
        let options = parsed("--bearer t https://localhost/mcp read http://a/b").unwrap();
        assert_eq!(
            options.server,
            Server::Url { url: "https://localhost/mcp".into(), token: Some("t".into()) }
        );
        assert_eq!(options.action, Action::Read { uri: "http://a/b".into() });
    }

    #[test]
    fn a_login_has_a_url_and_options() {
        let url = || Server::Url { url: "https://a/mcp".into(), token: None };
        for line in ["login https://a/mcp", "https://a/mcp login"] {
            let options = parsed(line).unwrap();
            assert_eq!((options.action, options.server), (Action::Login, url()));
            assert_eq!(options.login, Login::default());
        }
        let line = "login https://a/mcp --no-browser --paste --client-id i --redirect-uri r";
        let options = parsed(line).unwrap();
        let client_id = Some("i".to_owned());
        let redirect_uri = Some("r".to_owned());
        let login = Login { no_browser: true, paste: true, client_id, redirect_uri, scope: None };
        assert_eq!(options.login, login);
        let options = parsed("logout https://a/mcp").unwrap();
        assert_eq!((options.action, options.server), (Action::Logout, url()));
    }

    #[test]
    fn a_call_may_be_a_task() {
        for (line, expected) in [
            ("call a --task", Task::Ask),
            ("call a --detach", Task::Detach),
            ("call --detach --task a", Task::Detach),
        ] {
            let options = parsed(&format!("{line} --tcp x:1")).unwrap();
            assert!(matches!(options.action, Action::Call { task, .. } if task == expected));
        }
        for (line, cancels) in [("task a.json", false), ("task a.json cancel", true)] {
            let options = parsed(&format!("{line} --tcp x:1")).unwrap();
            assert_eq!(options.action, Action::Task { stored: "a.json".into(), cancels });
        }
    }

    #[test]
    fn invalid_command_lines_are_reported() {
        for (line, why) in [
            ("tools", "missing server"),
            ("tools --", "missing server"),
            ("call --tcp x:1", "needs the name of a tool"),
            ("read a b --tcp x:1", "does not take `b`"),
            ("tools --task --tcp x:1", "options of `call`"),
            ("task --tcp x:1", "needs the file"),
            ("task a b --tcp x:1", "does not take `b`"),
            ("dance --tcp x:1", "unknown command `dance`: a program comes after `--`"),
            ("--tcp", "missing argument"),
            ("--timeout -3 --tcp x:1", "seconds"),
            ("--frob -- x", "--frob"),
            ("--bearer x -- y", "--bearer requires"),
            (
                "tools http://localhost/",
                "`tools` does not take `http://localhost/`: a URL comes first, as in `inspect http://localhost/ tools`",
            ),
            ("login", "take the URL"),
            ("login a.example/mcp", "starts with https://"),
            ("login --tcp x:1", "take the URL"),
            ("login http://a/ b", "does not take `b`"),
            ("logout http://a/ --bearer t", "take the URL"),
            ("logout http://a/ --paste", "options of `login`"),
            ("http://a/ tools --scope x", "options of `login`"),
        ] {
            match parsed(line) {
                Err(Stop::Wrong(said)) => assert!(said.contains(why), "{line}: {said}"),
                other => panic!("{line}: {other:?}"),
            }
        }
        assert_eq!(parsed("--help"), Err(Stop::Help(HELP)));
        assert_eq!(parsed("call login --help"), Err(Stop::Help(HELP)));
        for line in ["login --help", "--help logout", "--paste logout -h http://a/"] {
            assert_eq!(parsed(line), Err(Stop::Help(LOGIN_HELP)), "{line}");
        }
    }
}
