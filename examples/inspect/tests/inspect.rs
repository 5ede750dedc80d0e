//! `inspect` as a program: output, prompts, exit status.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use mcp_sansio::types::Implementation;
use mcp_sansio::{ServerConfig, ServerFeatures};
use mcp_sansio_adapters::blocking::App;
use mcp_sansio_programs::everything_server::{serve_http, serve_stdio};

const INSPECT: &str = env!("CARGO_BIN_EXE_inspect");

/// The everything server. It is a test so that it is part of this program, which is started once
/// more; `inspect` skips the harness's own output as noise.
#[test]
#[ignore = "the server of the other tests"]
fn everything_server() {
    let served = if std::env::var_os("OVER_HTTP").is_some() {
        serve_http(([127, 0, 0, 1], 0).into(), |address| eprintln!("http://{address}"))
    } else {
        serve_stdio()
    };
    std::process::exit(i32::from(served.is_err()));
}

/// A server whose handler panics.
#[test]
#[ignore = "the server of another test"]
fn panicking_server() {
    static CONFIG: ServerConfig<'_> =
        ServerConfig::new(Implementation::new("lamp", "1"), ServerFeatures::TOOLS);
    let served = App::new(&CONFIG).serve(|_| panic!("the lamp is broken"));
    std::process::exit(i32::from(served.is_err()));
}

const SERVE: [&str; 5] = ["--ignored", "--exact", "everything_server", "--nocapture", "--quiet"];

fn this_program() -> PathBuf {
    std::env::current_exe().expect("this program")
}

/// Runs `inspect WORDS` with the server on standard input and output, and these lines as input.
fn inspect(words: &[&str], typed: &str) -> (String, String, i32) {
    let mut command = Command::new(INSPECT);
    finish(command.args(words).arg("--").arg(this_program()).args(SERVE), typed)
}

fn finish(command: &mut Command, typed: &str) -> (String, String, i32) {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("inspect starts");
    child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(typed.as_bytes())
        .expect("the input fits the pipe");
    let Output { status, stdout, stderr } = child.wait_with_output().expect("the process exits");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (text(stdout), text(stderr), status.code().expect("no signal"))
}

/// A server behind a URL, without its path.
struct HttpServer {
    process: Child,
    url: String,
}

impl HttpServer {
    fn start() -> Self {
        let mut process = Command::new(this_program())
            .args(SERVE)
            .env("OVER_HTTP", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut line = String::new();
        BufReader::new(process.stderr.take().expect("a pipe"))
            .read_line(&mut line)
            .expect("the server prints its address");
        Self { process, url: line.trim().to_owned() }
    }

    fn kill(&mut self) {
        self.process.kill().expect("the server can be killed");
        self.process.wait().expect("the process exits");
    }
}

#[test]
fn everything_is_listed_in_both_eras() {
    for (era, revision) in [("--modern", "2026-07-28"), ("--legacy", "2025-11-25")] {
        let (out, err, code) = inspect(&[era], "");
        assert_eq!(code, 0, "{err}");
        for expected in [
            revision,
            "tools: 39",
            "test_simple_text",
            "resources: 4",
            "test://template/{id}/data",
            "prompts: 5",
            "arg1*, arg2*",
        ] {
            assert!(out.contains(expected), "{expected}: {out}");
        }
    }
    let (out, _, _) = inspect(&[], "");
    assert!(out.starts_with("everything-server ") && out.contains("instructions: "), "{out}");
}

#[test]
fn a_tool_is_called_with_arguments_of_its_types() {
    assert_eq!(inspect(&["call", "test_simple_text"], "").0, "This is a simple text\n");
    let (out, _, code) = inspect(&["call", "structured", "city=Bern", "--json"], "");
    let result: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert!(code == 0 && result["structuredContent"].is_object(), "{out}");
    let (_, err, code) = inspect(&["call", "slow", "seconds=soon"], "");
    assert!(code == 2 && err.contains("seconds: `soon` is not of type number"), "{err}");
    let (_, err, code) = inspect(&["call", "no_such_tool"], "");
    assert!(
        code == 2
            && err.contains("unknown tool `no_such_tool`")
            && err.contains("test_simple_text"),
        "{err}"
    );
}

#[test]
fn what_a_server_prints_is_shown_where_it_says_why() {
    let serve = SERVE.map(|word| word.replace("everything", "panicking"));
    let mut command = Command::new(INSPECT);
    // A backtrace must not push the line out of those that are kept.
    command.env("RUST_BACKTRACE", "full");
    let (_, err, code) = finish(command.args(["tools", "--"]).arg(this_program()).args(serve), "");
    assert!(code == 1 && err.contains("The handler panicked"), "{err}");
    assert!(err.contains("server: thread ") && err.contains("server: the lamp is broken"), "{err}");
    // The harness prints this to standard output.
    assert!(err.contains("takes one line (byte 0 of \"running 1 test\"))"), "{err}");
}

#[test]
fn a_failed_tool_sets_the_exit_status() {
    let (_, err, code) = inspect(&["call", "test_error_handling"], "");
    assert!(code == 1 && err.contains("the tool failed (isError)"), "{err}");
}

#[test]
fn progress_is_shown_as_a_bar() {
    let (_, err, code) = inspect(&["call", "test_tool_with_progress"], "");
    assert_eq!(code, 0);
    assert!(
        err.contains("[###############---------------]  50 %") && err.contains("] 100 %"),
        "{err}"
    );
}

#[test]
fn a_task_is_shown_as_a_bar_in_both_eras() {
    for era in ["--legacy", "--modern"] {
        for task in [&[][..], &["--task"]] {
            let call = ["call", "slow_compute", "seconds=0.5", era];
            let (out, err, code) = inspect(&[&call, task].concat(), "");
            assert!(code == 0 && out == "Computed for 0.5 seconds\n", "{out}{err}");
            assert!(err.contains("] 100 %"), "{err}");
        }
        // A tool that must be a task is one without being asked.
        let (out, err, code) = inspect(&["call", "failing_job", era], "");
        assert!(code == 1 && err.contains("isError"), "{out}{err}");
    }
    let (out, err, code) = inspect(&["call", "multi_input", "--modern"], "ada\nbob\n");
    assert!(code == 0 && err.contains("first name") && out.contains("bob"), "{out}{err}");
}

#[test]
fn a_task_is_left_to_a_server_and_found_again() {
    let mut server = HttpServer::start();
    let url = format!("{}/mcp", server.url);
    let run = |words: &[&str]| finish(Command::new(INSPECT).arg(&url).args(words), "");
    for era in ["--legacy", "--modern"] {
        let detach = |seconds: &str| {
            let (out, err, code) = run(&["call", "slow_compute", seconds, "--detach", era]);
            assert!(code == 0 && out.contains("\"version\":1"), "{out}{err}");
            out
        };
        let kept = detach("seconds=0.5");
        let (out, err, code) = run(&["task", &kept, era]);
        assert!(code == 0 && out == "Computed for 0.5 seconds\n", "{out}{err}");
        let kept = detach("seconds=60");
        assert_eq!(run(&["task", &kept, "cancel", era]).2, 0);
        let (_, err, code) = run(&["task", &kept, era]);
        assert!(code == 1 && err.contains("the task was cancelled"), "{err}");
    }
    // A tool that is never a task.
    let (out, err, code) = run(&["call", "greet", "name=Ada", "--detach", "--modern"]);
    assert!(code == 0 && out == "Hello, Ada!\n" && err.contains("without a task"), "{out}{err}");
    let (_, err, code) = run(&["task", "{}"]);
    assert!(code == 2 && err.contains("no task"), "{err}");
    server.kill();
}

#[test]
fn a_form_is_filled_in_at_the_terminal_in_both_eras() {
    for era in ["--legacy", "--modern"] {
        let (out, err, code) =
            inspect(&["call", "test_elicitation", "message=Who?", era], "ada\nada@example.com\n");
        assert!(code == 0 && err.contains("The server asks: Who?"), "{err}");
        assert!(out.contains("accept") && out.contains("ada"), "{out}");
        let (out, _, _) = inspect(&["call", "test_elicitation", "message=Who?", era], "!\n");
        assert!(out.contains("decline"), "{out}");
    }
}

#[test]
fn a_sampling_result_is_typed_at_the_terminal() {
    let (out, err, _) = inspect(&["call", "test_sampling", "prompt=Capital of France?"], "Paris\n");
    assert!(err.contains("Capital of France?") && out.contains("Paris"), "{out}{err}");
}

#[test]
fn resources_and_prompts_are_read() {
    assert!(inspect(&["read", "test://static-text"], "").0.contains("A text that never changes"));
    assert!(
        inspect(&["read", "test://static-binary"], "")
            .0
            .contains("[test://static-binary, image/png, ")
    );
    let (out, _, _) =
        inspect(&["prompt", "test_prompt_with_arguments", "arg1=one", "arg2=two"], "");
    assert!(out.starts_with("user: ") && out.contains("one") && out.contains("two"), "{out}");
    let (_, err, code) = inspect(&["prompt", "test_prompt_with_arguments", "arg1=one"], "");
    assert!(code == 2 && err.contains("missing: arg2"), "{err}");
}

#[test]
fn every_frame_is_traced_on_demand() {
    let (_, err, _) = inspect(&["--trace", "--legacy", "call", "test_simple_text"], "");
    let frames: Vec<_> = err.lines().filter(|line| line.starts_with(['→', '←'])).collect();
    assert!(
        frames.first().is_some_and(|frame| frame.contains("\"method\":\"initialize\"")),
        "{err}"
    );
    assert!(frames.iter().any(|frame| frame.starts_with("← {\"jsonrpc\"")), "{err}");
}

#[test]
fn an_unreachable_server_is_reported() {
    let (_, err, code) = finish(Command::new(INSPECT).args(["--", "no-such-program"]), "");
    assert!(code == 1 && err.contains("no such program"), "{err}");
    let ends = if cfg!(windows) { "cmd /c exit" } else { "false" };
    let words = std::iter::once("--").chain(ends.split(' '));
    let (_, err, code) = finish(Command::new(INSPECT).args(words), "");
    assert!(code == 1 && err.contains(&format!("`{ends}` has ended")), "{err}");
    let (_, err, code) = finish(Command::new(INSPECT).args(["tools"]), "");
    assert!(code == 2 && err.contains("missing server"), "{err}");
    let (out, _, code) = finish(Command::new(INSPECT).arg("--help"), "");
    assert!(code == 0 && out.contains("examples\n"), "{out}");
}

#[test]
fn a_server_behind_a_url_is_inspected_in_both_eras_and_over_http_sse() {
    let mut server = HttpServer::start();
    let url = server.url.clone();
    let (mcp, sse) = (format!("{url}/mcp"), format!("{url}/sse"));
    for (words, revision) in [
        (&["--modern", &mcp][..], "2026-07-28"),
        (&[&mcp], "2026-07-28"),
        (&["--legacy", &mcp], "2025-11-25"),
        (&[&sse], "2025-11-25"),
    ] {
        let (out, err, code) = finish(Command::new(INSPECT).args(words), "");
        assert!(
            code == 0 && out.contains(revision) && out.contains("tools: 39"),
            "{words:?}: {out}{err}"
        );
        let (out, err, code) = finish(
            Command::new(INSPECT).args(words).args(["call", "test_elicitation", "message=Who?"]),
            "",
        );
        assert!(code == 0 && err.contains("Who?") && out == "cancelled\n", "{words:?}: {out}{err}");
    }
    server.kill();
    let (_, err, code) = finish(Command::new(INSPECT).arg(&mcp), "");
    assert!(
        code == 1 && err.contains(&format!("cannot connect to `{mcp}`: no connection")),
        "{err}"
    );
}
