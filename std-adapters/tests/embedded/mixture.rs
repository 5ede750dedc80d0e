//! Complete lines among the noise of a serial line, in random order: each complete line gets a
//! response, and the noise gets none.

use embedded_io::ErrorKind;

use crate::bench::{Bench, RX, echo, line};
use crate::random::Random;

#[test]
fn whole_lines_are_served_whatever_is_between_them() {
    for seed in 0..300 {
        let mut random = Random(seed);
        let mut bench = Bench::new(1 + random.below(40)).opened();
        let (mut expected, mut said) = (Vec::new(), String::new());
        for id in 1..60 {
            let (call, answer) = echo(id);
            match random.below(8) {
                0 => noise(&mut bench, &mut random),
                1 => {
                    // A reset in the middle of a line: the next peer starts after a pause.
                    bench.hears(&call[..1 + random.below(call.len() - 2)]);
                    said += &bench.waits(2500).said();
                }
                2 => {
                    // A terminal program: some typed characters and a line feed.
                    bench.hears(&call[1 + random.below(call.len() - 2)..]);
                }
                3 => {
                    bench.hears(line(&format!(
                        r#""id":{id},"method":"ping","params":{{"x":"{}"}}"#,
                        "y".repeat(RX + random.below(RX))
                    )));
                }
                4 => {
                    // At least one byte is lost, but not the newline.
                    let from = 1 + random.below(call.len() - 3);
                    let to = from + 1 + random.below(call.len() - 1 - from);
                    bench.hears(&call[..from]).fails(ErrorKind::Other).hears(&call[to..]);
                }
                5 => {
                    bench.fails(ErrorKind::InvalidData);
                }
                _ => {
                    bench.hears(call);
                    expected.push(answer);
                }
            }
            if random.below(3) == 0 {
                said += &bench.said();
            }
        }
        said += &bench.said();
        let results: Vec<_> =
            said.split_inclusive('\n').filter(|line| line.contains("\"result\"")).collect();
        assert_eq!(results, expected, "seed {seed}");
    }
}

fn noise(bench: &mut Bench, random: &mut Random) {
    let bytes: Vec<u8> = (0..random.below(40))
        .map(|_| random.below(256) as u8)
        .filter(|byte| *byte != b'\n')
        .collect();
    bench.hears(bytes).hears("\n");
}
