//! Texts that the values of a handler borrow from.

use std::sync::OnceLock;

use mcp_sansio::{OwnedJson, RawJson};

/// Texts that stay until it is dropped: a list that only grows, by any thread.
#[derive(Default)]
pub(crate) struct Kept(OnceLock<Box<Node>>);

#[derive(Default)]
struct Node {
    text: Option<OwnedJson>,
    next: Kept,
}

impl Kept {
    /// Adds a text at the end of the list.
    pub(crate) fn keep(&self, text: OwnedJson) -> RawJson<'_> {
        let mut text = Some(text);
        let mut end = self;
        loop {
            let node =
                end.0.get_or_init(|| Box::new(Node { text: text.take(), ..Node::default() }));
            if text.is_none() {
                return node.text.as_ref().map_or(RawJson::NULL, OwnedJson::as_raw);
            }
            end = &node.next;
        }
    }
}

/// One node after the other, since a list of any length would overflow the stack.
impl Drop for Kept {
    fn drop(&mut self) {
        let mut first = self.0.take();
        while let Some(mut node) = first {
            first = node.next.0.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use mcp_sansio::{OwnedJson, Revision};

    use super::Kept;

    #[test]
    fn texts_stay_where_they_are() {
        let kept = Kept::default();
        let keep =
            |number: u32| kept.keep(OwnedJson::new(&number, Revision::LATEST).unwrap()).as_u64();
        assert!((0..100).all(|number| keep(number) == Some(number.into())));
        std::thread::scope(|scope| {
            for number in 100..104 {
                scope.spawn(move || assert_eq!(keep(number), Some(number.into())));
            }
        });
    }

    #[test]
    fn a_long_list_is_dropped_without_recursion() {
        let mut kept = Kept::default();
        for _ in 0..200_000 {
            let node = super::Node { text: None, next: std::mem::take(&mut kept) };
            kept = Kept(Box::new(node).into());
        }
    }
}
