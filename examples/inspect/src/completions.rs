//! Completions for shells, and a man page: both are made of the text that `--help` prints.
//! `serial-bridge` has this file, too.

use std::ffi::OsString;
use std::io::{self, Write as _};

use super::options::HELP;

const PROGRAM: &str = env!("CARGO_BIN_NAME");

/// Prints what `completions` or `man` demands; returns `None` for other command lines.
pub(crate) fn print(words: &[OsString]) -> Option<Result<(), String>> {
    let words: Vec<_> = words.iter().map(|word| word.to_str().unwrap_or_default()).collect();
    let text = match *words {
        ["completions", "--", ref words @ ..] => {
            let lines = offered(words).into_iter().map(|(word, text)| format!("{word}\t{text}"));
            lines.map(|line| line.trim_end().to_owned() + "\n").collect()
        }
        [.., "-h" | "--help"] => return None,
        ["completions", "bash"] => BASH.replace("PROGRAM", PROGRAM),
        ["completions", "fish"] => FISH.replace("PROGRAM", PROGRAM),
        ["completions", "zsh"] => ZSH.replace("PROGRAM", PROGRAM),
        ["completions", ..] => {
            return Some(Err("completions takes one of bash, fish, zsh".to_owned()));
        }
        ["man"] => man(),
        _ => return None,
    };
    // A closed pipe is not an error.
    let _ = io::stdout().write_all(text.as_bytes());
    Some(Ok(()))
}

// The scripts ask the program, with the words up to the cursor. Where it has no answer, the shells
// complete names of files.

const BASH: &str = r#"_PROGRAM() {
    COMPREPLY=($("$1" completions -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
}
complete -o default -F _PROGRAM PROGRAM
"#;

const FISH: &str = r#"complete -c PROGRAM -a '(PROGRAM completions -- (commandline -opc)[2..-1] (commandline -ct))'
"#;

const ZSH: &str = r#"#compdef PROGRAM
local -a found=(${(f)"$($words[1] completions -- "${(@)words[2,CURRENT]}" 2>/dev/null)"})
found=("${(@)found/$'\t'/:}")
_describe PROGRAM found || _files
"#;

/// Returns what can stand in place of the last of these words, with descriptions.
fn offered(words: &[&str]) -> Vec<(String, String)> {
    let Some((current, before)) = words.split_last() else { return Vec::new() };
    let (commands, options) = (entries("commands"), entries("options"));
    let named = |word: &str| options.iter().chain(&commands).find(|it| it.names.contains(&word));
    let all = |entries: &[Entry]| {
        let names = entries.iter().flat_map(|it| it.names.iter().map(move |name| (name, &it.text)));
        names.map(|(name, text)| ((*name).to_owned(), text.clone())).collect()
    };
    let mut offered: Vec<_> = match before.last().and_then(|word| named(word)?.choices()) {
        // They are for another program.
        _ if before.contains(&"--") => Vec::new(),
        Some(choices) => choices,
        None if current.starts_with('-') => all(&options),
        None if before.iter().any(|it| !it.starts_with('-') && named(it).is_some()) => Vec::new(),
        None => all(&commands),
    };
    offered.retain(|(word, _)| word.starts_with(current));
    offered.sort();
    offered.dedup_by(|next, first| next.0 == first.0);
    offered
}

/// An entry of a section of the help.
struct Entry {
    /// The part before the description: `-b, --baud N`.
    term: &'static str,
    /// The names of an option, or of commands.
    names: Vec<&'static str>,
    text: String,
}

impl Entry {
    /// Returns the values that can follow. There is none if they cannot be listed.
    fn choices(&self) -> Option<Vec<(String, String)>> {
        if let Some((_, list)) = self.text.split_once("one of ") {
            return Some(list.split(", ").map(|it| (it.to_owned(), String::new())).collect());
        }
        let (names, last) = self.term.rsplit_once(' ')?;
        (names.starts_with('-') && !last.starts_with('-')).then(Vec::new)
    }
}

/// Returns the entries below a heading. Lines that are further to the right go on with the
/// description.
fn entries(heading: &str) -> Vec<Entry> {
    let lines = HELP.lines().skip_while(|line| *line != heading).skip(1);
    let mut entries: Vec<Entry> = Vec::new();
    for line in lines.take_while(|line| !line.is_empty()) {
        if let (true, Some(entry)) = (line.starts_with("   "), entries.last_mut()) {
            let gap = if entry.text.is_empty() { "" } else { " " };
            entry.text.extend([gap, line.trim()]);
            continue;
        }
        let line = line.trim_start();
        let (term, text) = line.split_once("  ").unwrap_or((line, ""));
        let names = term.split(", ").filter_map(|name| name.split(' ').next());
        let names = names.filter(|name| !name.starts_with('(')).collect();
        entries.push(Entry { term, names, text: text.trim().to_owned() });
    }
    entries
}

fn man() -> String {
    let mut paragraphs = HELP.trim_end().split("\n\n");
    let summary = paragraphs.next().unwrap_or_default().trim_end_matches('.');
    let mut page = format!(
        ".TH {} 1 \"\" \"mcp-sansio {}\"\n.SH NAME\n{PROGRAM} \\- {}\n",
        PROGRAM.to_uppercase(),
        env!("CARGO_PKG_VERSION"),
        roff(summary)
    );
    for paragraph in paragraphs {
        let (heading, body) = paragraph.split_once('\n').unwrap_or((paragraph, ""));
        if let Some(first) = heading.strip_prefix("usage: ") {
            page += &format!(".SH SYNOPSIS\n.nf\n{}\n{}\n.fi\n", roff(first), roff(body));
        } else if !body.starts_with(' ') {
            page += &format!(".SH DESCRIPTION\n{}\n", roff(paragraph));
        } else if heading.contains(' ') || heading == "examples" {
            page += &format!(".SH {}\n.nf\n{}\n.fi\n", roff(heading), roff(body));
        } else {
            page += &format!(".SH {}\n", heading.to_uppercase());
            for Entry { term, text, .. } in entries(heading) {
                page += &format!(".TP\n.B {}\n{}\n", roff(term), roff(&text));
            }
        }
    }
    page
}

/// Escapes text for roff, and takes away the space before lines.
fn roff(text: &str) -> String {
    let mut escaped = String::new();
    for line in text.lines().map(str::trim) {
        escaped += if escaped.is_empty() { "" } else { "\n" };
        escaped += if line.starts_with(['.', '\'']) { "\\&" } else { "" };
        for c in line.chars() {
            match c {
                '\\' => escaped += "\\e",
                '-' => escaped += "\\-",
                '\'' => escaped += "\\(aq",
                '`' => escaped += "\\(ga",
                '…' => escaped += "...",
                _ if c.is_ascii() => escaped.push(c),
                _ => escaped += &format!("\\[u{:04X}]", u32::from(c)),
            }
        }
    }
    escaped
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Checks that the help names the commands and options that these sources match, and no others.
    pub(crate) fn assert_complete(sources: &[&str]) {
        let after = |start: &'static str, prefix: &'static str| {
            let texts = sources.iter().flat_map(move |source| source.split(start).skip(1));
            texts.filter_map(move |it| Some(format!("{prefix}{}", it.split(['"', '\'']).next()?)))
        };
        let actions = sources.iter().flat_map(|source| source.lines()).filter_map(|line| {
            Some(line.trim_start().strip_prefix('"')?.split_once("\" => Action::")?.0.to_owned())
        });
        let taken: BTreeSet<_> = after("Long(\"", "--")
            .chain(after("Short('", "-"))
            .chain(after("verb == \"", ""))
            .chain(actions)
            .chain(["completions", "man"].map(str::to_owned))
            .collect();
        let shown = [offered(&[""]), offered(&["-"])].concat();
        assert_eq!(taken, shown.into_iter().map(|(name, _)| name).collect());
    }

    #[test]
    fn what_can_follow_is_offered() {
        let offered = |line: &str| -> Vec<_> {
            offered(&line.split(' ').collect::<Vec<_>>()).into_iter().map(|it| it.0).collect()
        };
        assert_eq!(offered("comp"), ["completions"]);
        assert_eq!(offered("completions "), ["bash", "fish", "zsh"]);
        assert_eq!(offered("--h"), offered("man --h"));
        assert!(offered("man ").is_empty() && offered("-- --h").is_empty());
        for option in entries("options") {
            let takes = option.choices().is_some();
            assert_eq!(takes, offered(&format!("{} -", option.names[0])).is_empty());
        }
    }

    #[test]
    fn the_man_page_has_all_of_the_help() {
        let page = man().replace("\\-", "-");
        for entry in entries("commands").iter().chain(&entries("options")) {
            assert!(page.contains(&format!("\n.B {}\n", entry.term.replace('…', "..."))), "{page}");
        }
        assert_eq!(roff("  .a \\b\n  'c…"), "\\&.a \\eb\n\\&\\(aqc...");
    }
}
