//! A port receives bytes, and errors between them.

use std::collections::VecDeque;

pub(crate) type Received<E> = VecDeque<Result<u8, E>>;

/// Reads at most `chunk` bytes, up to the next error.
pub(crate) fn read<E: Copy>(
    from: &mut Received<E>,
    chunk: usize,
    into: &mut [u8],
) -> Result<usize, E> {
    assert!(!into.is_empty(), "a read into an empty slice looks like the end of input");
    if let Some(Err(error)) = from.front().copied() {
        from.pop_front();
        return Err(error);
    }
    let len = from.iter().take(into.len().min(chunk)).take_while(|next| next.is_ok()).count();
    into.iter_mut().zip(from.drain(..len).flatten()).for_each(|(to, byte)| *to = byte);
    Ok(len)
}
