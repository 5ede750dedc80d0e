//! Program for callgrind: `instructions CASE N` handles the message of a case N times. Without
//! arguments it lists the cases, with their sizes in bytes.

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (name, times) =
        (arguments.next(), arguments.next().and_then(|n| n.parse::<u64>().ok()).unwrap_or(1));
    let mut cases = mcp_sansio_bench::cases(name.as_deref());
    cases.extend(mcp_sansio_bench::open_cases());
    let Some(name) = name else {
        for case in &mut cases {
            println!("{} {} {}", case.name, case.bytes, (case.run)());
        }
        return;
    };
    let case = cases.iter_mut().find(|case| case.name == name).expect("no such case");
    for _ in 0..times {
        std::hint::black_box((case.run)());
    }
    // Without dropping the cases: valgrind counts what they keep.
    std::process::exit(0);
}
