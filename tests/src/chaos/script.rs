//! A script: bytes that choose what happens.

use std::cell::Cell;
use std::rc::Rc;

/// Choices, one byte each. After the end each is 0, which always stands for the simplest one.
/// Copies share the place at which the next choice is read.
#[derive(Clone)]
pub(crate) struct Script<'d>(Rc<Cell<&'d [u8]>>);

impl<'d> Script<'d> {
    pub(crate) fn new(data: &'d [u8]) -> Self {
        Self(Rc::new(Cell::new(data)))
    }

    pub(crate) fn is_over(&self) -> bool {
        self.0.get().is_empty()
    }

    pub(crate) fn byte(&self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    /// Returns a number below `n`, which is at most 256.
    pub(crate) fn below(&self, n: usize) -> usize {
        usize::from(self.byte()) % n.max(1)
    }

    /// Returns true once in `n` times.
    pub(crate) fn once_in(&self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    pub(crate) fn pick<'t, T>(&self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len())]
    }

    pub(crate) fn take(&self, n: usize) -> &'d [u8] {
        let left = self.0.get();
        let (taken, rest) = left.split_at(n.min(left.len()));
        self.0.set(rest);
        taken
    }
}

/// Prints a step, when a script is replayed.
pub(crate) fn show(what: std::fmt::Arguments<'_>) {
    static SHOWS: std::sync::LazyLock<bool> =
        std::sync::LazyLock::new(|| std::env::var_os("CHAOS_DATA").is_some());
    if *SHOWS {
        println!("{what}");
    }
}
