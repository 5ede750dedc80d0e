//! The buffers, used as by a transport: reads of any size, lines of any length, storage that is
//! fixed, borrowed or grows.

use mcp_sansio::{Frame, RxBuffer, Storage, TxBuffer, Violation};
use mcp_sansio_tests::random::Random;

/// An owned copy of a frame.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Line {
    Complete(String),
    Oversized { prefix: String, tail: String },
}

impl From<Frame<'_>> for Line {
    fn from(frame: Frame<'_>) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match frame {
            Frame::Complete(line) => Self::Complete(text(line)),
            Frame::Oversized { prefix, tail } => {
                Self::Oversized { prefix: text(prefix), tail: text(tail) }
            }
        }
    }
}

fn complete(text: &str) -> Line {
    Line::Complete(text.into())
}

/// Returns the frame that is lent, without handling it.
fn peek<S: Storage + ?Sized>(rx: &mut RxBuffer<S>) -> Option<Line> {
    rx.next_messages().map(|messages| messages.frame().into())
}

/// Returns the frame that is lent, and handles its messages.
fn take<S: Storage + ?Sized>(rx: &mut RxBuffer<S>) -> Option<Line> {
    let mut messages = rx.next_messages()?;
    let line = messages.frame().into();
    while messages.next_message().is_some() {}
    Some(line)
}

/// Reads at most `most` bytes, like a socket, and returns how many.
fn read<S: Storage + ?Sized>(rx: &mut RxBuffer<S>, input: &mut &[u8], most: usize) -> usize {
    let spare = rx.spare();
    let n = most.min(input.len()).min(spare.len());
    spare[..n].copy_from_slice(&input[..n]);
    *input = &input[n..];
    rx.commit(n);
    n
}

/// Returns the frames of the whole input, read in chunks of `chunk` bytes. Each read must make
/// progress.
fn frames<S: Storage + ?Sized>(rx: &mut RxBuffer<S>, mut input: &[u8], chunk: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    loop {
        while let Some(frame) = rx.next_frame() {
            lines.push(Line::from(frame));
        }
        if input.is_empty() {
            return lines;
        }
        assert!(read(rx, &mut input, chunk) > 0, "the buffer is full, but has no complete frame");
    }
}

/// Does the same, but also reads while a frame is lent, as much as there is room for.
fn frames_and_spare<S: Storage + ?Sized>(
    rx: &mut RxBuffer<S>,
    mut input: &[u8],
    chunk: usize,
) -> Vec<Line> {
    let mut lines = Vec::new();
    loop {
        while let (Some(mut messages), mut spare) = rx.next_messages_and_spare() {
            for _ in 0..2 {
                let free = spare.spare();
                let n = chunk.min(input.len()).min(free.len());
                free[..n].copy_from_slice(&input[..n]);
                input = &input[n..];
                spare.commit(n);
            }
            lines.push(Line::from(messages.frame()));
            while messages.next_message().is_some() {}
        }
        if input.is_empty() {
            return lines;
        }
        assert!(read(rx, &mut input, chunk) > 0, "the buffer is full, but has no complete frame");
    }
}

/// The expected frames: lines split at `\n`; those of more than `size` bytes, newline included, are
/// oversized.
fn model(input: &str, size: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let whole = input.rfind('\n').map_or("", |end| &input[..end]);
    for line in if input.contains('\n') { whole.split('\n').collect() } else { Vec::new() } {
        if line.len() >= size {
            lines.push(Line::Oversized { prefix: String::new(), tail: line.to_owned() });
        } else if !line.chars().all(|c| matches!(c, ' ' | '\t' | '\r')) {
            lines.push(complete(line.strip_suffix('\r').unwrap_or(line)));
        }
    }
    lines
}

/// Compares with the model, in which `tail` is the whole oversized line.
fn check(lines: &[Line], expected: &[Line], size: usize) {
    assert_eq!(lines.len(), expected.len(), "{lines:?}\n{expected:?}");
    for (line, expected) in lines.iter().zip(expected) {
        match (line, expected) {
            (Line::Oversized { prefix, tail }, Line::Oversized { tail: whole, .. }) => {
                assert_eq!(prefix, &whole[..size / 2], "the first half of the buffer");
                assert!(whole.ends_with(tail.as_str()), "{tail} is not the end of {whole}");
                let kept = prefix.len() + tail.len();
                assert!(kept <= whole.len(), "{prefix} and {tail} overlap in {whole}");
                // A quarter of the buffer at least.
                assert!(tail.len() >= (size - size / 2) / 2, "{tail} of {whole}");
            }
            (line, expected) => assert_eq!(line, expected),
        }
    }
}

const CHUNKS: [usize; 6] = [1, 2, 3, 7, 64, usize::MAX];

#[test]
fn bytes_that_are_not_utf_8_are_lent_as_they_are() {
    let mut rx = RxBuffer::new([0; 8]);
    rx.spare()[..4].copy_from_slice(b"\xff\xfe\x00\n");
    rx.commit(4);
    assert_eq!(rx.next_frame(), Some(Frame::Complete(b"\xff\xfe\x00")));
}

#[test]
fn stdio_10_the_longest_line_fills_the_buffer_with_its_newline() {
    for size in 1..=64 {
        let lens = (1..=3 * size)
            .filter(|&len: &usize| size < 20 || len % 5 == 0 || len.abs_diff(size) < 3);
        for len in lens.chain([10 * size + 3]) {
            let line: String = ('a'..='z').cycle().take(len).collect();
            let input = format!("{line}\n[]\n{line}\r\n{{}}\n");
            for chunk in CHUNKS {
                let (bytes, expected) = (input.as_bytes(), model(&input, size));
                for lines in [
                    frames(&mut RxBuffer::new(&mut vec![0; size][..]), bytes, chunk),
                    frames(&mut RxBuffer::with_limit(Vec::new(), size), bytes, chunk),
                    frames(&mut RxBuffer::with_limit(vec![0; size], 0), bytes, chunk),
                ] {
                    check(&lines, &expected, size);
                }
            }
        }
    }
}

#[test]
fn an_oversized_line_is_reported_once_and_at_its_end() {
    let mut rx = RxBuffer::new([0; 8]);
    let mut endless = vec![b'x'; 100_000];
    let mut input = &endless[..];
    while !input.is_empty() {
        assert!(read(&mut rx, &mut input, 5) > 0);
        assert_eq!(rx.next_frame(), None);
    }
    assert!((1..=8).contains(&rx.unfinished()));
    endless = b"\nok\n".to_vec();
    let lines = frames(&mut rx, &endless, 1);
    let [Line::Oversized { .. }, last] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!(*last, complete("ok"));
    assert_eq!(rx.unfinished(), 0);
}

fn rounds() -> u64 {
    std::env::var("ORACLE_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(3_000)
}

fn random_input(random: &mut Random, size: usize) -> String {
    let mut input = String::new();
    for _ in 0..random.below(12) {
        let len = match random.below(4) {
            0 => random.below(3),
            1 => size.saturating_sub(2) + random.below(5),
            _ => random.below(2 * size + 2),
        };
        let blank = random.one_in(5);
        input.extend((0..len).map(|_| {
            if blank {
                random.pick(&[' ', '\t', '\r'])
            } else {
                random.pick(&['a', 'b', '{', '"', ' ', '\r'])
            }
        }));
        input.push_str(random.pick(&["\n", "\r\n", "\n\n"]));
    }
    input.extend((0..random.below(3)).map(|_| 'u'));
    input
}

/// Returns a generator, a size, input, and a buffer that may have this size.
fn random_case(seed: u64) -> (Random, usize, String, RxBuffer<Vec<u8>>) {
    let mut random = Random::new(seed);
    let size = 2 + random.below(if seed.is_multiple_of(3) { 200 } else { 16 });
    let input = random_input(&mut random, size);
    let (initial, limit) = random.pick(&[(size, 0), (0, size), (size / 2, size)]);
    (random, size, input, RxBuffer::with_limit(vec![0; initial], limit))
}

#[test]
fn frames_equal_a_split_at_newlines() {
    for seed in 1..=rounds() {
        let (mut random, size, input, mut rx) = random_case(seed);
        let mut bytes = input.as_bytes();
        let mut lines = Vec::new();
        loop {
            // Some frames are lent again, and more is read before.
            while let Some(line) = peek(&mut rx) {
                while random.one_in(4) {
                    let further = random.below(5);
                    read(&mut rx, &mut bytes, further);
                    assert_eq!(peek(&mut rx).as_ref(), Some(&line), "{input:?}");
                    assert!(rx.is_mid_frame());
                }
                assert_eq!(take(&mut rx).as_ref(), Some(&line), "{input:?}");
                assert!(!rx.is_mid_frame());
                lines.push(line);
                if random.one_in(4) {
                    let further = random.below(5);
                    read(&mut rx, &mut bytes, further);
                }
            }
            if bytes.is_empty() {
                break;
            }
            let most = 1 + random.below(2 * size);
            assert!(read(&mut rx, &mut bytes, most) > 0, "it is full, but has no complete frame");
        }
        check(&lines, &model(&input, size), size);
        let rest = input.len() - input.rfind('\n').map_or(0, |end| end + 1);
        assert_eq!(rx.unfinished().min(size), rest.min(rx.unfinished()), "{input:?}");
        assert_eq!(rx.unfinished() == 0, rest == 0, "{input:?}");
    }
}

#[test]
fn reading_goes_on_while_a_frame_is_lent() {
    for seed in 1..=rounds() {
        let (mut random, size, input, mut rx) = random_case(seed);
        let lines = frames_and_spare(&mut rx, input.as_bytes(), 1 + random.below(2 * size));
        check(&lines, &model(&input, size), size);
    }
    // The free bytes follow the frame, which is moved to the front once half of what is held has
    // been handled.
    let mut rx = RxBuffer::new([0; 16]);
    read(&mut rx, &mut &b"one\ntwo\nthree\nf"[..], 16);
    for (line, room) in [("one", 1), ("two", 1), ("three", 9)] {
        let (messages, mut spare) = rx.next_messages_and_spare();
        let mut messages = messages.expect(line);
        assert_eq!((Line::from(messages.frame()), spare.spare().len()), (complete(line), room));
        if line == "three" {
            spare.spare()[..3].copy_from_slice(b"our");
            spare.commit(3);
            assert_eq!(spare.spare().len(), room - 3);
        }
        while messages.next_message().is_some() {}
    }
    assert!(rx.next_messages_and_spare().0.is_none());
    assert_eq!(rx.unfinished(), 4);
}

#[test]
fn the_end_of_the_input_ends_a_line() {
    // `five` fits without its terminator, of which there is none.
    for size in [8, 9, 64] {
        let mut rx = RxBuffer::new(vec![0; size]);
        rx.end_of_input(); // nothing was received
        assert_eq!(rx.next_frame(), None);
        read(&mut rx, &mut &b"two\nfive"[..], 8);
        assert_eq!(peek(&mut rx), Some(complete("two")));
        rx.end_of_input();
        rx.end_of_input(); // the line has ended
        assert_eq!(take(&mut rx), Some(complete("two")));
        let mut rest = &b"next\n"[..];
        read(&mut rx, &mut rest, 1);
        assert_eq!(take(&mut rx), Some(complete("five")), "{size}");
        assert_eq!(frames(&mut rx, rest, 9), [complete("next")]);
        assert_eq!(rx.unfinished(), 0);
    }
    // Nor does a line that is too long need one.
    let mut rx = RxBuffer::new([0; 8]);
    assert_eq!(frames(&mut rx, b"a line that is too long", 3), []);
    rx.end_of_input();
    assert!(matches!(take(&mut rx), Some(Line::Oversized { .. })));
    assert_eq!(take(&mut rx), None);
}

#[test]
fn a_line_that_lost_bytes_is_rejected() {
    for size in [7, 64] {
        let mut rx = RxBuffer::new(vec![0; size]);
        rx.lost(); // before a line
        assert_eq!(frames(&mut rx, b" \r", 9), []);
        rx.lost(); // in one of blanks
        assert_eq!(frames(&mut rx, b"\n", 9), []);
        assert_eq!(frames(&mut rx, b"{}\n", 9), [complete("{}")]);
        rx.lost();
        assert_eq!(frames(&mut rx, b"{}\n{}", 9), [complete("{}")]);
        rx.lost();
        read(&mut rx, &mut &b"}\n"[..], 2);
        let mut messages = rx.next_messages().expect("a line");
        let Some(Err(malformed)) = messages.next_message() else { panic!("it is valid") };
        assert_eq!(malformed.violation, Violation::NotUtf8);
        assert!(messages.next_message().is_none());
        assert_eq!(frames(&mut rx, b"{}\n{", 9), [complete("{}")]);
        rx.clear();
        assert_eq!((rx.unfinished(), frames(&mut rx, b"[]\n", 9)), (0, vec![complete("[]")]));
    }
    // Of a line that is too long, too, the ids may be wrong.
    let line = &br#"{"id":1,"method":"ping","params":{"a":"b"},"id":1}"#[..];
    for (size, at) in (8..53).flat_map(|size| [size + 5, 60].map(|at| (size, at.min(line.len())))) {
        let mut rx = RxBuffer::new(vec![0; size]);
        assert_eq!(frames(&mut rx, &line[..at], 5), []);
        rx.lost();
        let rest = [&line[at..], b"\n"].concat();
        let mut rest = &rest[..];
        while peek(&mut rx).is_none() {
            read(&mut rx, &mut rest, 5);
        }
        let mut messages = rx.next_messages().expect("a line");
        let Some(Err(malformed)) = messages.next_message() else { panic!("it is valid") };
        assert_eq!(malformed.id, None, "{size} {at}");
    }
    // Not if they were lost behind its end.
    let mut rx = RxBuffer::new([0; 44]);
    assert_eq!(frames(&mut rx, &line[..46], 5), []);
    assert_eq!(read(&mut rx, &mut &b":1}\n{"[..], 9), 5);
    rx.lost();
    let mut messages = rx.next_messages().expect("a line");
    let Some(Err(malformed)) = messages.next_message() else { panic!("it is valid") };
    assert!(malformed.id.is_some(), "{malformed:?}");
}

#[test]
fn many_frames_in_a_large_buffer_cost_no_more_than_their_bytes() {
    // One frame is taken for each read, as under back pressure. If each read moved the waiting
    // bytes, this would take minutes.
    let input = "{\"id\": 123456}\r\n".repeat(1 << 18);
    for (initial, limit) in [(2 << 20, 0), (0, 3 << 20)] {
        let mut rx = RxBuffer::with_limit(vec![0; initial], limit);
        let mut bytes = input.as_bytes();
        while read(&mut rx, &mut bytes, usize::MAX) > 0 {}
        let mut lines = 0;
        while take(&mut rx).is_some() {
            lines += 1;
            read(&mut rx, &mut bytes, usize::MAX);
            if lines % 2 == 0 && peek(&mut rx).is_some() {
                read(&mut rx, &mut bytes, usize::MAX);
            }
        }
        assert_eq!((lines, bytes.len()), (1 << 18, 0));
    }
}

#[test]
fn unfinished_returns_the_line_cut_off_by_the_end_of_input() {
    let mut rx = RxBuffer::new([0; 16]);
    assert_eq!(rx.unfinished(), 0);
    for (input, lines, unfinished) in [
        ("abc", 0, 3),
        ("d", 0, 4),
        ("\nef", 1, 2),
        ("\r", 0, 3),
        ("\n", 1, 0),
        ("\n\r\n", 0, 0),
        (" ", 0, 1),
        ("\n", 0, 0),
    ] {
        assert_eq!(frames(&mut rx, input.as_bytes(), 99).len(), lines, "{input:?}");
        assert_eq!(rx.unfinished(), unfinished, "{input:?}");
    }
}

#[test]
fn storage_grows_to_its_limit_and_no_further() {
    for limit in [0, 1, 7, 1023, 1024, 1025, 5000, 65_536] {
        let mut rx = RxBuffer::with_limit(Vec::new(), limit);
        let mut input = &vec![b'x'; 200_000][..];
        let mut most = 0;
        while !input.is_empty() {
            let room = rx.spare().len();
            assert!(room <= limit && (room > 0 || limit == 0));
            read(&mut rx, &mut input, 1000);
            assert_eq!(rx.next_frame(), None);
            most = most.max(rx.unfinished());
            if limit == 0 {
                break;
            }
        }
        assert!(most <= limit && most >= limit.min(1), "{most} of {limit}");
        assert!(limit == 0 || most > limit / 2, "{most} of {limit}");
    }
    // It grows only when it is full.
    let mut rx = RxBuffer::with_limit(Vec::new(), 1 << 20);
    for _ in 0..1000 {
        assert_eq!(frames(&mut rx, &[&[b'x'; 40][..], b"\n"].concat(), 100).len(), 1);
        assert!(rx.spare().len() <= 1024);
    }
}

#[test]
fn storage_that_refuses_to_grow_is_used_as_it_is() {
    /// Storage whose growth fails because memory is exhausted.
    struct Stubborn([u8; 16]);
    impl Storage for Stubborn {
        fn bytes(&self) -> &[u8] {
            &self.0
        }
        fn bytes_mut(&mut self) -> &mut [u8] {
            &mut self.0
        }
        fn can_grow(&self) -> bool {
            true
        }
    }
    let input = format!("ok\n{}\nok\n", "x".repeat(100));
    for chunk in CHUNKS {
        let mut rx = RxBuffer::with_limit(Stubborn([0; 16]), 1000);
        check(&frames(&mut rx, input.as_bytes(), chunk), &model(&input, 16), 16);
    }
}

#[test]
fn a_buffer_without_capacity_reads_nothing_and_returns_no_frame() {
    let mut rx = RxBuffer::new([0; 0]);
    for _ in 0..3 {
        assert!(rx.spare().is_empty());
        rx.commit(1);
        assert_eq!(rx.next_frame(), None);
        rx.end_of_input();
        rx.lost();
        assert_eq!((peek(&mut rx), rx.unfinished()), (None, 0));
    }
}

#[test]
fn more_than_there_is_cannot_be_committed() {
    let mut rx = RxBuffer::new([b'\n'; 4]);
    rx.spare()[..2].copy_from_slice(b"ab");
    rx.commit(usize::MAX);
    assert_eq!(rx.next_frame().map(Line::from), Some(complete("ab")));
    assert_eq!(rx.next_frame(), None);
    assert_eq!(rx.unfinished(), 0);
}

#[test]
fn any_storage_is_used_through_the_same_trait_object() {
    fn first(rx: &mut RxBuffer<dyn Storage + '_>) -> Option<Line> {
        let mut input: &[u8] = b"{}\n";
        read(rx, &mut input, 9);
        rx.next_frame().map(Line::from)
    }
    let mut borrowed = [0; 16];
    assert_eq!(first(&mut RxBuffer::new([0; 16])), Some(complete("{}")));
    assert_eq!(first(&mut RxBuffer::new(&mut borrowed[..])), Some(complete("{}")));
    assert_eq!(first(&mut RxBuffer::with_limit(Vec::new(), 16)), Some(complete("{}")));
}

#[test]
fn long_lines_cost_no_more_than_their_length() {
    // Quadratic work would take minutes.
    let mut line = vec![b'x'; 4 << 20];
    line.push(b'\n');
    let mut rx = RxBuffer::with_limit(Vec::new(), 8 << 20);
    assert!(
        matches!(&frames(&mut rx, &line, 64)[..], [Line::Complete(frame)] if frame.len() == 4 << 20)
    );
    let mut rx = RxBuffer::new(vec![0; 1 << 20]);
    assert!(matches!(frames(&mut rx, &line, 64)[..], [Line::Oversized { .. }]));
}

#[test]
fn an_empty_tx_buffer_has_nothing_pending_and_all_its_room() {
    let mut tx = TxBuffer::new([0; 32]);
    for n in [0, 1, 32, usize::MAX] {
        assert!(tx.pending().is_empty() && tx.is_idle());
        assert_eq!(tx.room(), 32);
        tx.advance(n);
    }
    assert_eq!(TxBuffer::new([0; 0]).room(), 0);
    assert_eq!(TxBuffer::with_limit([0; 8], 100).room(), 8, "an array does not grow");
    assert_eq!(TxBuffer::with_limit(Vec::new(), 100).room(), 100);
    assert_eq!(TxBuffer::with_limit(vec![0; 8], 0).room(), 8);
    assert_eq!(TxBuffer::new(Vec::new()).room(), 0, "without a limit the storage does not grow");
    assert!(RxBuffer::new(Vec::new()).spare().is_empty());
    assert_eq!(RxBuffer::with_limit(Vec::new(), 1).spare().len(), 1);
}
