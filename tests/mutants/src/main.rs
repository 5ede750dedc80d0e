//! Mutation tests of the core, the crates above it, and the adapters. See README.md.

mod cfg;
mod find;
mod rows;
mod run;
mod tree;
mod weave;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use find::Mutant;
use run::Verdict;
use tree::Tree;

const USAGE: &str = "options: --file PATTERN, --list FILE, --sample N, --seed N, --at-least PERCENT, --rows N, --target TRIPLE, --show, --check";

#[derive(Default)]
struct Options {
    /// Substrings of paths.
    files: Vec<String>,
    /// Positions (`path:line:column`), from a list that an earlier run wrote.
    listed: Option<BTreeSet<String>>,
    sample: Option<usize>,
    seed: u64,
    /// The share of the mutants, in percent, that must be noticed.
    at_least: f64,
    /// Number of rows of the ledger whose tests are checked, in place of the mutants.
    rows: Option<usize>,
    target: Option<String>,
    show: bool,
    /// Compares the exceptions with the source, and ends.
    check: bool,
}

fn options() -> Options {
    let mut options = Options { seed: 1, ..Options::default() };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value =
            || arguments.next().unwrap_or_else(|| panic!("{argument} needs a value; {USAGE}"));
        match argument.as_str() {
            "--file" => options.files.push(value()),
            "--list" => {
                let list = std::fs::read_to_string(value()).expect("a list");
                let place = |line: &str| {
                    let from = tree::SOURCES.iter().find_map(|source| line.find(source))?;
                    Some(line[from..].split(':').take(3).collect::<Vec<_>>().join(":"))
                };
                options.listed = Some(list.lines().filter_map(place).collect());
            }
            "--sample" => options.sample = Some(value().parse().expect("a number")),
            "--seed" => options.seed = value().parse().expect("a number"),
            "--at-least" => options.at_least = value().parse().expect("a number"),
            "--rows" => options.rows = Some(value().parse().expect("a number")),
            "--target" => options.target = Some(value()),
            "--show" => options.show = true,
            "--check" => options.check = true,
            _ => panic!("unknown argument {argument}; {USAGE}"),
        }
    }
    options
}

/// A mutant that no test can detect: the reason, the file, the mutant or `*`, and the line or
/// `fn NAME`.
struct Exception<'l> {
    row: &'l str,
    path: &'l str,
    what: &'l str,
    line: &'l str,
}

/// Returns the rows of the list.
fn exceptions(list: &str) -> Vec<Exception<'_>> {
    let rows = list.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.map(|row| {
        let fields: Vec<_> = row.split('\t').collect();
        let [_, path, what, line] = fields[..] else { panic!("not four fields: {row}") };
        Exception { row, path, what, line }
    })
    .collect()
}

impl Exception<'_> {
    fn is_for(&self, mutant: &Mutant) -> bool {
        let here = match self.line.strip_prefix("fn ") {
            Some(function) if !function.contains('(') => {
                mutant.function.rsplit("::").next() == Some(function) || mutant.function == function
            }
            _ => mutant.line == self.line,
        };
        self.path == mutant.path && (self.what == "*" || self.what == mutant.what) && here
    }
}

fn main() {
    let options = options();
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("tests/mutants is in a repository");
    let small = std::env::var("MCP_SANSIO_SMALL").is_ok_and(|value| value == "1");
    let exceptions = exceptions(include_str!("../exceptions.tsv"));
    let mut tree = Tree::copy(repository, options.target.clone(), cfg::Build { small });
    let is_dead = |exception: &&Exception| !tree.mutants.iter().any(|it| exception.is_for(it));
    let dead: Vec<_> = exceptions.iter().filter(is_dead).map(|exception| exception.row).collect();
    // A small build has other code.
    if !dead.is_empty() && !small {
        eprintln!(
            "exceptions.tsv has {} rows that match no mutant:\n{}",
            dead.len(),
            dead.join("\n")
        );
        std::process::exit(1);
    }
    if options.check {
        return;
    }

    tree.settle();
    let mut chosen: Vec<u32> = (0..)
        .zip(&tree.mutants)
        .filter(|(id, mutant)| {
            let place = format!("{}:{}:{}", mutant.path, mutant.at.0, mutant.at.1);
            !tree.out.contains(id)
                && (options.files.is_empty()
                    || options.files.iter().any(|part| mutant.path.contains(part.as_str())))
                && options.listed.as_ref().is_none_or(|listed| listed.contains(&place))
        })
        .map(|(id, _)| id)
        .collect();
    eprintln!(
        "{} mutants, {} of them do not compile, {} selected; {} more are in constants and not tested",
        tree.mutants.len(),
        tree.out.len(),
        chosen.len(),
        tree.constants
    );
    if options.sample.or(options.rows).is_some() {
        eprintln!("seed {}", options.seed);
    }
    if options.show {
        for id in &chosen {
            println!("{}", tree.mutants[*id as usize]);
        }
        return;
    }

    let programs = tree.tests();
    let cases = run::list(&programs);
    let scratch = repository.join("target/mutants/reached");
    let is_equivalent =
        |id: &u32| exceptions.iter().any(|exception| exception.is_for(&tree.mutants[*id as usize]));
    if let Some(count) = options.rows {
        let ledger =
            std::fs::read_to_string(repository.join("tests/ledger.tsv")).expect("a ledger");
        let drawn =
            rows::draw(&ledger, &repository.join("tests/transcripts"), &cases, count, options.seed);
        chosen.retain(|id| !is_equivalent(id));
        if !rows::check(&programs, &drawn, &scratch, &tree.mutants, &chosen) {
            std::process::exit(1);
        }
        return;
    }
    let tests = run::tests(&programs, &cases, &scratch);
    let all = chosen.len();
    chosen.retain(|id| {
        !tree.mutants[*id as usize].in_const_fn
            || tests.iter().any(|test| test.reaches.binary_search(id).is_ok())
    });
    eprintln!("{} are in functions that run only when constants are compiled", all - chosen.len());
    if let Some(sample) = options.sample {
        shuffle(&mut chosen, options.seed);
        chosen.truncate(sample);
        chosen.sort_unstable();
    }
    let (equivalent, chosen): (Vec<u32>, Vec<u32>) = chosen.into_iter().partition(is_equivalent);
    let paths: Vec<&str> = tree.mutants.iter().map(|mutant| mutant.path.as_str()).collect();
    let file = |id: u32| paths.partition_point(|path| *path < paths[id as usize]);
    let missed = |id: u32, verdict: Verdict| {
        let mutant = &tree.mutants[id as usize];
        let word = if verdict == Verdict::Missed { "missed" } else { "unreached" };
        println!("{word}\t{mutant}\t{}", mutant.line);
    };
    let mut verdicts = run::mutants(&programs, &tests, &chosen, file, missed);
    verdicts.extend(equivalent.into_iter().map(|id| (id, Verdict::Equivalent)));
    let share = report(&tree, &verdicts, &repository.join("target/mutants/missed.txt"));
    if share < options.at_least {
        eprintln!("{share:.1}% are noticed, and {}% must be", options.at_least);
        std::process::exit(1);
    }
}

/// Brings the items into an order that the seed chooses.
fn shuffle<T>(items: &mut [T], mut seed: u64) {
    for n in 0..items.len() {
        // Splitmix64.
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut random = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        random = (random ^ (random >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        random ^= random >> 31;
        let other = n + (random % (items.len() - n) as u64) as usize;
        items.swap(n, other);
    }
}

/// Prints the table and writes the list; returns the share of the mutants that are noticed.
fn report(tree: &Tree, verdicts: &BTreeMap<u32, Verdict>, into: &Path) -> f64 {
    // By file: detected, equivalent, missed.
    let mut by_file: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    let mut list = String::new();
    for (id, verdict) in verdicts {
        let mutant = &tree.mutants[*id as usize];
        let counts = by_file.entry(&mutant.path).or_default();
        match verdict {
            Verdict::Noticed => counts[0] += 1,
            Verdict::Equivalent => counts[1] += 1,
            Verdict::Missed | Verdict::Unreached => {
                counts[2] += 1;
                list += &format!("{mutant}\n");
            }
        }
    }
    std::fs::write(into, &list).expect("the list of missed mutants is written");
    println!("\n{:44} {:>7} {:>10} {:>6} {:>7}", "file", "noticed", "equivalent", "missed", "");
    let mut all = [0; 3];
    let row = |name: &str, [noticed, equivalent, missed]: [usize; 3]| {
        let share = 100.0 * noticed as f64 / (noticed + missed).max(1) as f64;
        println!("{name:44} {noticed:>7} {equivalent:>10} {missed:>6} {share:>6.1}%");
        share
    };
    for (path, counts) in by_file {
        row(path, counts);
        all.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    row("all", all)
}
