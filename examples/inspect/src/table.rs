//! Tables for a terminal: columns as wide as their cells, the widest ones wrapped.

use mcp_sansio::Printable;
use unicode_width::UnicodeWidthStr as _;

/// Rows of cells; the first row is the heading.
#[derive(Debug)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<const N: usize>(heading: [&str; N]) -> Self {
        Self { rows: vec![heading.map(str::to_owned).to_vec()] }
    }

    /// Adds a row. Line breaks become spaces and control characters are escaped, so that a server's
    /// text cannot control the terminal.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.iter().map(|cell| plain(cell)).collect());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.len() == 1
    }

    /// Formats the lines, at most `width` columns wide if the words permit, by wrapping the widest
    /// columns.
    pub(crate) fn lines(&self, width: usize) -> Vec<String> {
        let widths = self.widths(width);
        let mut lines = Vec::new();
        for row in &self.rows {
            let cells: Vec<_> =
                row.iter().zip(&widths).map(|(cell, width)| fold(cell, *width)).collect();
            for at in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
                let mut line = " ".repeat(INDENT);
                for (cell, width) in cells.iter().zip(&widths) {
                    let piece = cell.get(at).map_or("", String::as_str);
                    line.push_str(piece);
                    line.push_str(&" ".repeat((width + GAP).saturating_sub(piece.width())));
                }
                lines.push(line.trim_end().to_owned());
            }
        }
        lines
    }

    /// Returns the width of each column: its longest cell, or less for the widest ones, but at
    /// least the longest word.
    fn widths(&self, width: usize) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widest = |of: &dyn Fn(&str) -> usize| -> Vec<usize> {
            (0..columns)
                .map(|at| {
                    self.rows
                        .iter()
                        .filter_map(|row| row.get(at))
                        .map(|cell| of(cell))
                        .max()
                        .unwrap_or(0)
                })
                .collect()
        };
        let mut widths = widest(&|cell| cell.width());
        let least =
            widest(&|cell| cell.split_whitespace().map(|word| word.width()).max().unwrap_or(0));
        while widths.iter().map(|width| width + GAP).sum::<usize>() + INDENT > width + GAP {
            let shrinkable =
                widths.iter_mut().zip(&least).filter(|(width, least)| **width > **least);
            let Some((widest, _)) = shrinkable.max_by_key(|(width, _)| **width) else { break };
            *widest -= 1;
        }
        widths
    }
}

/// Returns the text in one line, with control characters escaped.
pub(crate) fn plain(text: &str) -> String {
    let words = text
        .split(['\r', '\n', '\t'])
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    Printable::new(words).to_string()
}

/// Wraps a text between words; words are never split.
fn fold(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is one from the beginning");
        if !line.is_empty() && line.width() + 1 + word.width() > width {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

const INDENT: usize = 2;
const GAP: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_widest_column_is_folded_and_all_are_aligned() {
        let mut table = Table::new(["name", "what"]);
        table.row(["echo".into(), "says what you say,\nword by word, again".into()]);
        table.row(["日本".into(), "x\x1b[31m".into()]);
        assert_eq!(
            table.lines(28),
            [
                "  name  what",
                "  echo  says what you say,",
                "        word by word, again",
                "  日本  x\\u001b[31m"
            ]
        );
    }

    #[test]
    fn no_word_is_broken() {
        let mut table = Table::new(["uri", "what"]);
        table.row(["test://a-long-one".into(), "two words".into()]);
        assert_eq!(
            table.lines(10),
            ["  uri                what", "  test://a-long-one  two", "                     words"]
        );
    }
}
