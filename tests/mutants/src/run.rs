//! Runs the tests: each alone once, to record the mutants that it reaches, then for each mutant the
//! tests that reach it.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::tree::Program;

/// A test of a program, or one transcript of the test that plays them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Case {
    pub program: usize,
    pub name: String,
    pub transcript: Option<String>,
}

/// A test, the mutants that it reaches, and its duration.
pub struct Test {
    pub case: Case,
    pub reaches: Vec<u32>,
    takes: Duration,
}

/// Maximum address space of a test program, so that a mutant that allocates endlessly fails early.
const KIBIBYTES: &str = "8000000";

/// Runs some tests of a program; `false` if one fails or they do not end in time.
fn run(program: &Program, names: &[&str], limit: Duration, environment: &[(&str, &str)]) -> bool {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v $0; exec \"$@\"", KIBIBYTES]).arg(&program.path).args(names);
    command
        .args(["--exact", "--test-threads=1"])
        .current_dir(&program.directory)
        .envs(environment.iter().copied());
    // Fewer random inputs than usual.
    command.env("ORACLE_ROUNDS", "200").env("CHAOS_ROUNDS", "60");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let mut child = command.spawn().expect("the test program starts");
    let (began, mut pause) = (Instant::now(), Duration::from_micros(500));
    loop {
        if let Some(status) = child.try_wait().expect("a status") {
            return status.success();
        }
        if began.elapsed() > limit {
            // With the processes that the test has started.
            let _ = Command::new("kill").args(["-9", "--", &format!("-{}", child.id())]).status();
            let _ = child.wait();
            return false;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(5));
    }
}

/// Calls the function for each number from several workers. There are a few more workers than
/// processors, because some tests wait for a process or a timeout.
pub fn side_by_side(count: usize, work: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) + 2 {
            scope.spawn(|| {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= count {
                        break;
                    }
                    work(n);
                }
            });
        }
    });
}

/// Returns the tests of all programs.
pub fn list(programs: &[Program]) -> Vec<Case> {
    let mut listed = Vec::new();
    for (n, program) in programs.iter().enumerate() {
        let output = Command::new(&program.path)
            .args(["--list", "--format=terse"])
            .output()
            .expect("the test program lists its tests");
        let list = String::from_utf8_lossy(&output.stdout).into_owned();
        listed.extend(
            list.lines()
                .filter_map(|line| line.strip_suffix(": test"))
                // These count instructions, of which code with mutants takes more.
                .filter(|name| !name.starts_with("work::"))
                .map(|name| Case { program: n, name: name.to_owned(), transcript: None }),
        );
    }
    listed
}

/// Returns the environment of a test, besides the mutant.
fn environment(case: &Case) -> impl Iterator<Item = (&'static str, &str)> {
    case.transcript.iter().map(|stem| ("TRANSCRIPT", stem.as_str()))
}

/// Runs each test alone.
pub fn tests(programs: &[Program], listed: &[Case], scratch: &Path) -> Vec<Test> {
    let tests = Mutex::new(Vec::new());
    side_by_side(listed.len(), |n| {
        let case = &listed[n];
        let into = scratch.join(n.to_string());
        let _ = std::fs::remove_dir_all(&into);
        std::fs::create_dir_all(&into).expect("a directory");
        let began = Instant::now();
        let mut all = vec![("MUTANTS_REACHED", into.to_str().expect("UTF-8"))];
        all.extend(environment(case));
        let program = &programs[case.program];
        if !run(program, &[&case.name], Duration::from_secs(600), &all) {
            eprintln!(
                "skipped, because it fails without any mutant: {} of {}",
                case.name,
                program.path.display()
            );
            return;
        }
        let takes = began.elapsed();
        let mut reaches = Vec::new();
        for entry in std::fs::read_dir(&into).into_iter().flatten().flatten() {
            let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
            reaches.extend(text.lines().filter_map(|line| line.parse::<u32>().ok()));
        }
        reaches.sort_unstable();
        reaches.dedup();
        tests.lock().expect("no panic").push(Test { case: case.clone(), reaches, takes });
    });
    let mut tests = tests.into_inner().expect("no panic");
    tests.sort_by_key(|test| test.takes);
    let (all, slow): (Duration, _) =
        (tests.iter().map(|test| test.takes).sum(), tests.iter().rev().take(10));
    let slow: Vec<_> =
        slow.map(|test| format!("{} {:.1} s", test.case.name, test.takes.as_secs_f32())).collect();
    eprintln!(
        "{} tests, {:.0} s; the slowest: {}",
        tests.len(),
        all.as_secs_f32(),
        slow.join(", ")
    );
    tests
}

/// Returns the first of the mutants that one of these tests detects, and the test. Mutants are
/// tried in their order, at most `most` of them for each test.
pub fn first_detected<'t>(
    programs: &[Program],
    tests: &[&'t Test],
    mutants: &[u32],
    most: usize,
) -> Option<(u32, &'t Test)> {
    tests.iter().find_map(|test| {
        let reached = mutants.iter().filter(|id| test.reaches.binary_search(id).is_ok());
        let detected = reached.take(most).find(|id| fails(programs, &[test], **id))?;
        Some((*detected, *test))
    })
}

/// Returns whether some of these tests of one program fail with a mutant.
fn fails(programs: &[Program], tests: &[&Test], mutant: u32) -> bool {
    let (case, number) = (&tests[0].case, mutant.to_string());
    let names: Vec<_> = tests.iter().map(|test| test.case.name.as_str()).collect();
    let takes: Duration = tests.iter().map(|test| test.takes).sum();
    let all: Vec<_> = environment(case).chain([("MUTANT", number.as_str())]).collect();
    !run(&programs[case.program], &names, Duration::from_secs(5) + 10 * takes, &all)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    Noticed,
    Missed,
    /// No test reaches the mutant.
    Unreached,
    /// Not tested: an exception declares the mutant equivalent.
    Equivalent,
}

/// Tests each of these mutants. `file` returns the file of a mutant; `missed` is called for each
/// mutant that no test detects.
pub fn mutants(
    programs: &[Program],
    tests: &[Test],
    mutants: &[u32],
    file: impl Fn(u32) -> usize + Sync,
    missed: impl Fn(u32, Verdict) + Sync,
) -> BTreeMap<u32, Verdict> {
    let verdicts = Mutex::new(BTreeMap::new());
    // The tests that detected the last mutants of a file run first.
    let favourites: Mutex<BTreeMap<usize, Vec<usize>>> = Mutex::new(BTreeMap::new());
    let began = Instant::now();
    side_by_side(mutants.len(), |n| {
        let id = mutants[n];
        let reaching: Vec<usize> =
            (0..tests.len()).filter(|&t| tests[t].reaches.binary_search(&id).is_ok()).collect();
        let fails = |some: &[usize]| {
            let some: Vec<_> = some.iter().map(|&t| &tests[t]).collect();
            fails(programs, &some, id)
        };
        let mut first: Vec<usize> =
            favourites.lock().expect("no panic").get(&file(id)).cloned().unwrap_or_default();
        first.retain(|t| reaching.contains(t));
        first.truncate(4);
        let mut found = first.iter().copied().find(|&t| fails(&[t]));
        if found.is_none() {
            // Short tests of a program run together, long ones alone.
            let mut groups: Vec<Vec<usize>> = Vec::new();
            let mut of_program = BTreeMap::new();
            for &t in reaching.iter().filter(|t| !first.contains(t)) {
                if tests[t].takes > Duration::from_millis(60) {
                    groups.push(vec![t]);
                } else {
                    of_program.entry(tests[t].case.program).or_insert_with(Vec::new).push(t);
                }
            }
            let mut short: Vec<Vec<usize>> = of_program.into_values().collect();
            short.sort_by_key(Vec::len);
            short.append(&mut groups);
            if let Some(group) = short.into_iter().find(|group| fails(group)) {
                found = if group.len() < 3 {
                    Some(group[0])
                } else {
                    group.iter().copied().find(|&t| fails(&[t])).or(Some(group[0]))
                };
            }
        }
        let verdict = match found {
            Some(t) => {
                let mut favourites = favourites.lock().expect("no panic");
                let those = favourites.entry(file(id)).or_default();
                those.retain(|other| *other != t);
                those.insert(0, t);
                Verdict::Noticed
            }
            None if reaching.is_empty() => Verdict::Unreached,
            None => Verdict::Missed,
        };
        if verdict != Verdict::Noticed {
            missed(id, verdict);
        }
        let mut verdicts = verdicts.lock().expect("no panic");
        verdicts.insert(id, verdict);
        if verdicts.len() % 100 == 0 {
            eprintln!(
                "{} of {} tested after {} s",
                verdicts.len(),
                mutants.len(),
                began.elapsed().as_secs()
            );
        }
    });
    verdicts.into_inner().expect("no panic")
}
