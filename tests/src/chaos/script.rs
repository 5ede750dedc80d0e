//! A script: bytes that choose what happens.

/// Choices, one byte each. After the end each is 0, which always stands for the simplest one.
pub(crate) struct Script<'d>(&'d [u8]);

impl<'d> Script<'d> {
    pub(crate) fn new(data: &'d [u8]) -> Self {
        Self(data)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    /// Returns a number below `n`, which is at most 256.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n.max(1)
    }

    /// Returns true once in `n` times.
    pub(crate) fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    pub(crate) fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len())]
    }

    pub(crate) fn take(&mut self, n: usize) -> &'d [u8] {
        let (taken, rest) = self.0.split_at(n.min(self.0.len()));
        self.0 = rest;
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
