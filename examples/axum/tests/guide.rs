//! The code of the guide is code that runs.

#[test]
fn the_guide_has_lines_of_the_program_and_of_the_tests() {
    let code = concat!(include_str!("../src/main.rs"), include_str!("hyper/pump.rs"));
    let code: Vec<&str> = code.lines().map(str::trim).collect();
    let guide = include_str!("../../../docs/http.md");
    let blocks: Vec<&str> = guide.split("```rust,ignore\n").skip(1).collect();
    assert_eq!(blocks.len(), 2);
    for line in blocks.iter().flat_map(|block| block.lines().take_while(|line| *line != "```")) {
        assert!(code.contains(&line.trim()), "{line}");
    }
}
