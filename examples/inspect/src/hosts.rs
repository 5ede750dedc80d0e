//! The hosts whose configuration is known: where it is, and how they write a server in it.

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

/// A server as a host is told of it.
pub(crate) enum Server {
    Program { command: String, args: Vec<String> },
    Url(String),
}

/// A host, and one of the ways in which it is configured.
pub(crate) struct Host {
    /// The name for `--host`.
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    /// Where the block goes, on Linux, macOS and Windows.
    pub(crate) places: [&'static str; 3],
    syntax: Syntax,
}

enum Syntax {
    /// JSON with the servers in this member.
    Json {
        servers: &'static str,
        has_type: bool,
        /// The way for a person where the file takes no URLs.
        instead_of_url: Option<&'static str>,
    },
    Yaml,
    Shell,
}

pub(crate) const HOSTS: &[Host] = &[
    Host {
        id: "claude-desktop",
        title: "Claude Desktop",
        places: [
            "~/.config/Claude/claude_desktop_config.json",
            "~/Library/Application Support/Claude/claude_desktop_config.json",
            r"%APPDATA%\Claude\claude_desktop_config.json",
        ],
        syntax: Syntax::Json {
            servers: "mcpServers",
            has_type: false,
            instead_of_url: Some(
                "The file takes no URLs: add the server in Customize > Connectors. It must be \
                 reachable from the Internet.",
            ),
        },
    },
    Host {
        id: "claude-code",
        title: "Claude Code",
        places: ["in a terminal, in the directory of your project"; 3],
        syntax: Syntax::Shell,
    },
    Host {
        id: "claude-code",
        title: "Claude Code, for all who work on a project",
        places: [".mcp.json"; 3],
        syntax: Syntax::Json { servers: "mcpServers", has_type: true, instead_of_url: None },
    },
    Host {
        id: "vscode",
        title: "VS Code",
        places: [".vscode/mcp.json"; 3],
        syntax: Syntax::Json { servers: "servers", has_type: true, instead_of_url: None },
    },
    Host {
        id: "cursor",
        title: "Cursor",
        places: ["~/.cursor/mcp.json", "~/.cursor/mcp.json", r"%USERPROFILE%\.cursor\mcp.json"],
        syntax: Syntax::Json { servers: "mcpServers", has_type: false, instead_of_url: None },
    },
    Host {
        id: "goose",
        title: "Goose",
        places: [
            "~/.config/goose/config.yaml",
            "~/.config/goose/config.yaml",
            r"%APPDATA%\Block\goose\config\config.yaml",
        ],
        syntax: Syntax::Yaml,
    },
    Host {
        id: "zed",
        title: "Zed",
        places: [
            "~/.config/zed/settings.json",
            "~/.config/zed/settings.json",
            r"%APPDATA%\Zed\settings.json",
        ],
        syntax: Syntax::Json { servers: "context_servers", has_type: false, instead_of_url: None },
    },
];

impl Host {
    /// Returns where the block goes on this system.
    pub(crate) fn place(&self) -> &'static str {
        let [linux, mac, windows] = self.places;
        match std::env::consts::OS {
            "macos" => mac,
            "windows" => windows,
            _ => linux,
        }
    }

    /// Returns what to paste there.
    pub(crate) fn block(&self, name: &str, server: &Server) -> String {
        match (&self.syntax, server) {
            (Syntax::Json { instead_of_url: Some(instead), .. }, Server::Url(_)) => {
                (*instead).to_owned()
            }
            (Syntax::Json { servers, has_type, .. }, _) => {
                let mut entry = match server {
                    Server::Program { command, args } => {
                        vec![
                            ("type", json!("stdio")),
                            ("command", json!(command)),
                            ("args", json!(args)),
                        ]
                    }
                    Server::Url(url) => vec![("type", json!("http")), ("url", json!(url))],
                };
                entry.retain(|(key, _)| *has_type || *key != "type");
                let file = Members(vec![(*servers, Members(vec![(name, Members(entry))]))]);
                serde_json::to_string_pretty(&file).unwrap_or_default()
            }
            (Syntax::Yaml, _) => yaml(name, server),
            (Syntax::Shell, Server::Program { command, args }) => {
                let words = std::iter::once(command).chain(args).map(|word| quoted(word));
                let words = words.collect::<Vec<_>>().join(" ");
                format!("claude mcp add --transport stdio {name} -- {words}")
            }
            (Syntax::Shell, Server::Url(url)) => {
                format!("claude mcp add --transport http {name} {}", quoted(url))
            }
        }
    }
}

/// An object whose members are written in this order.
struct Members<'m, T>(Vec<(&'m str, T)>);

impl<T: Serialize> Serialize for Members<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

/// Returns an extension of Goose. JSON's strings and lists are YAML, too.
fn yaml(name: &str, server: &Server) -> String {
    let how: &[(&str, Value)] = match server {
        Server::Program { command, args } => {
            &[("type", json!("stdio")), ("cmd", json!(command)), ("args", json!(args))]
        }
        Server::Url(url) => &[("type", json!("streamable_http")), ("uri", json!(url))],
    };
    let rest = [
        ("name", json!(name)),
        ("enabled", json!(true)),
        ("envs", json!({})),
        ("timeout", json!(300)),
    ];
    let members = how.iter().chain(&rest).map(|(key, value)| format!("\n    {key}: {value}"));
    format!("extensions:\n  {name}:{}", members.collect::<String>())
}

/// Returns a word as the system's shell reads it.
fn quoted(word: &str) -> String {
    let is_plain =
        |c: char| c.is_alphanumeric() || "-_./:@=+,".contains(c) || (cfg!(windows) && c == '\\');
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else if cfg!(windows) {
        format!("\"{}\"", word.replace('"', "\\\""))
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(command: &str, args: &[&str]) -> Server {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        Server::Program { command: command.to_owned(), args }
    }

    #[test]
    fn the_guide_shows_the_blocks_and_places_of_all_hosts() {
        let guide = include_str!("../../../docs/hosts.md");
        let program = program("/home/me/notes/target/release/notes", &[]);
        for host in HOSTS {
            let block = format!("\n{}\n```", host.block("notes", &program));
            assert!(guide.contains(&block), "{} is not in docs/hosts.md:{block}", host.title);
            for place in host.places {
                assert!(guide.contains(place), "{}: {place} is not in docs/hosts.md", host.title);
            }
        }
        let url = Server::Url("http://127.0.0.1:8000/mcp".to_owned());
        let shell = HOSTS.iter().find(|host| matches!(host.syntax, Syntax::Shell)).unwrap();
        assert!(guide.contains(&format!("\n{}\n", shell.block("notes", &url))));
    }

    #[test]
    fn a_url_is_written_as_each_host_has_it() {
        let url = Server::Url("https://a.example/mcp".to_owned());
        let of = |title| HOSTS.iter().find(|host| host.title == title).unwrap().block("a", &url);
        let read = |title| serde_json::from_str::<Value>(&of(title)).unwrap();
        let typed = json!({"type": "http", "url": "https://a.example/mcp"});
        assert_eq!(read("VS Code"), json!({"servers": {"a": typed}}));
        assert_eq!(
            read("Claude Code, for all who work on a project"),
            json!({"mcpServers": {"a": typed}})
        );
        let plain = json!({"url": "https://a.example/mcp"});
        assert_eq!(read("Cursor"), json!({"mcpServers": {"a": plain}}));
        assert_eq!(read("Zed"), json!({"context_servers": {"a": plain}}));
        assert_eq!(of("Claude Code"), "claude mcp add --transport http a https://a.example/mcp");
        assert!(
            of("Goose")
                .contains("\n    type: \"streamable_http\"\n    uri: \"https://a.example/mcp\"\n")
        );
        assert!(of("Claude Desktop").contains("Customize > Connectors"));
    }

    #[test]
    fn json_and_yaml_are_read_back_with_any_text() {
        let odd = r#"C:\Program Files\"notes" #1: é"#;
        for host in HOSTS {
            let block = host.block("notes", &program(odd, &["--dir", odd, ""]));
            match host.syntax {
                Syntax::Json { servers, .. } => {
                    let read: Value = serde_json::from_str(&block).unwrap();
                    assert_eq!(read[servers]["notes"]["command"], odd);
                    assert_eq!(read[servers]["notes"]["args"], json!(["--dir", odd, ""]));
                }
                Syntax::Yaml => {
                    let line = block.lines().find_map(|line| line.strip_prefix("    args: "));
                    let read: Value = serde_json::from_str(line.unwrap()).unwrap();
                    assert_eq!(read, json!(["--dir", odd, ""]));
                }
                Syntax::Shell => {}
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_shell_reads_the_words_of_the_command() {
        let words = ["/bin/a b", "it's", "", "$HOME", "--x=1"];
        let line = words.map(quoted).join(" ");
        let output = std::process::Command::new("sh")
            .args(["-c", &format!("printf '%s\\n' {line}")])
            .output()
            .unwrap();
        assert_eq!(
            String::from_utf8(output.stdout).unwrap(),
            words.map(|w| format!("{w}\n")).concat()
        );
    }
}
