//! Requests that nobody waits for any more, although their answers may come.

/// The latest `N` of them, by number. Four bytes each.
#[derive(Debug)]
pub(super) struct Retired<const N: usize> {
    /// Zero where nothing is: no request has that number.
    numbers: [u32; N],
    next: u16,
}

impl<const N: usize> Retired<N> {
    pub(super) const fn new() -> Self {
        Self { numbers: [0; N], next: 0 }
    }

    /// Takes one in, in the place of the oldest.
    pub(super) fn add(&mut self, number: u32) {
        if let Some(place) = self.numbers.get_mut(usize::from(self.next)) {
            *place = number;
        }
        self.next = (self.next + 1) % N.max(1) as u16;
    }

    /// Takes one out; `false` when it is not there.
    pub(super) fn remove(&mut self, number: u32) -> bool {
        match self.numbers.iter_mut().find(|place| **place == number && number != 0) {
            Some(place) => {
                *place = 0;
                true
            }
            None => false,
        }
    }
}
