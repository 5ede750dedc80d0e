//! Weaves the mutants of a file into its source, each switched by its number.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::find::{Form, Mutant, Site};

/// A piece of the woven source, to which a compiler error is attributed.
pub struct Piece {
    /// Its range in the woven source.
    pub range: Range<usize>,
    /// The mutants that are removed if it does not compile.
    pub mutants: Vec<u32>,
}

/// Returns the woven source. The mutants of `sites` are numbered from `first`; those in `out` are
/// left out.
pub fn weave(
    source: &str,
    sites: &[Site],
    mutants: &[Mutant],
    first: u32,
    out: &BTreeSet<u32>,
) -> (String, Vec<Piece>) {
    let mut order: Vec<usize> = (0..sites.len()).collect();
    order.sort_by_key(|&n| {
        let Range { start, end } = sites[n].range;
        (start, end > start, std::cmp::Reverse(end), n)
    });

    let (mut woven, mut pieces, mut read) =
        (String::with_capacity(source.len() * 4), Vec::new(), 0);
    // Open pieces: the end in the source, the closing text, the start in the woven source, the
    // mutants.
    let mut open: Vec<(usize, &str, usize, Vec<u32>)> = Vec::new();
    for n in order {
        let site = &sites[n];
        while let Some((end, suffix, began, mutants)) =
            open.pop_if(|(end, ..)| *end <= site.range.start)
        {
            woven.push_str(&source[read..end]);
            read = end;
            woven.push_str(suffix);
            pieces.push(Piece { range: began..woven.len(), mutants });
        }
        woven.push_str(&source[read..site.range.start]);
        read = site.range.start;
        let began = woven.len();
        let number = |n: usize| first + u32::try_from(n).expect("few mutants");
        let alive: Vec<(u32, &str)> = site
            .mutants
            .clone()
            .map(|n| (number(n), &*mutants[n].instead))
            .filter(|(id, _)| !out.contains(id))
            .collect();
        if alive.is_empty() {
            continue;
        }
        let mut alternative =
            |woven: &mut String, id: u32, before: &str, text: &str, after: &str| {
                let began = woven.len();
                *woven += before;
                *woven += text;
                *woven += after;
                pieces.push(Piece { range: began..woven.len(), mutants: vec![id] });
            };
        let suffix = match site.form {
            Form::Either | Form::Shorthand => {
                if site.form == Form::Shorthand {
                    woven.push_str(&source[site.range.clone()]);
                    woven.push_str(": ");
                }
                woven.push('(');
                for (id, text) in &alive {
                    woven.push_str(&format!("if crate::mutants::on({id}) {{ "));
                    alternative(&mut woven, *id, "", text, " } else ");
                }
                woven.push_str("{ ");
                " })"
            }
            Form::Negate => {
                woven.push_str(&format!("(crate::mutants::on({}) != (", alive[0].0));
                "))"
            }
            Form::Guard => {
                woven.push('(');
                for (id, text) in &alive {
                    woven.push_str(&if *text == "true" {
                        format!("crate::mutants::on({id}) || ")
                    } else {
                        format!("!crate::mutants::on({id}) && ")
                    });
                }
                woven.push('(');
                "))"
            }
            Form::Skip => {
                woven.push_str(&format!("if !crate::mutants::on({}) {{ ", alive[0].0));
                " }"
            }
            Form::Arm => {
                woven.push_str(&format!(" if !crate::mutants::on({})", alive[0].0));
                ""
            }
            Form::Return => {
                for (id, text) in &alive {
                    woven.push_str(&format!(" if crate::mutants::on({id}) {{ "));
                    alternative(&mut woven, *id, "return ", text, "; }");
                }
                ""
            }
        };
        open.push((site.range.end, suffix, began, alive.iter().map(|(id, _)| *id).collect()));
    }
    while let Some((end, suffix, began, mutants)) = open.pop() {
        woven.push_str(&source[read..end]);
        read = end;
        woven.push_str(suffix);
        pieces.push(Piece { range: began..woven.len(), mutants });
    }
    woven.push_str(&source[read..]);
    (woven, pieces)
}
