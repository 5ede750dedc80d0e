//! One call of a machine: what it may write and what not.

use mcp_sansio::{SendError, Tx};

use crate::pair::Line;

/// Makes the call. `state` is what must not change when it fails; `intrudes` when a frame of
/// somebody else is open.
pub(super) fn attempt<M, S: PartialEq + std::fmt::Debug, R>(
    machine: &mut M,
    line: &mut Line,
    state: impl Fn(&M) -> S,
    intrudes: bool,
    call: impl FnOnce(&mut M, &mut Tx<'_>) -> Result<R, SendError>,
) -> Result<R, SendError> {
    let (before, was) = (line.tx.pending().len(), state(machine));
    let result = call(machine, &mut line.tx);
    let written = &line.tx.pending()[before..];
    let ends = written.iter().filter(|byte| **byte == b'\n').count();
    assert!(!intrudes || written.is_empty(), "somebody wrote into the frame of another");
    let wrote_part = result.is_err() && line.tx.is_mid_frame() && !written.is_empty();
    line.wrote_part = wrote_part;
    match &result {
        Ok(_) => {
            assert!(ends <= 1 && (written.is_empty() || written.ends_with(b"\n")), "not one frame")
        }
        Err(SendError::Full) if wrote_part => assert_eq!(ends, 0, "a part of a frame ends a line"),
        Err(error) => {
            assert!(written.is_empty(), "{error:?}, but something was written");
            assert_eq!(state(machine), was, "{error:?}, but something happened");
            assert!(
                *error != SendError::Full || !line.tx.is_idle(),
                "Full, but nothing is pending"
            );
        }
    }
    result
}

/// Whether the beginning of a frame has been written, and its end not.
pub(super) fn is_open(line: &Line) -> bool {
    let pending = line.tx.pending();
    if pending.is_empty() { !line.tx.is_idle() } else { !pending.ends_with(b"\n") }
}
