//! A table whose entries are found by key, and whose stale keys find nothing.

use alloc::vec::Vec;

/// The key of an entry: its index, and a serial number that differs for each later entry there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Key {
    index: u32,
    serial: u32,
}

#[derive(Debug)]
pub(super) struct Slab<T> {
    entries: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(super) const fn new() -> Self {
        Self { entries: Vec::new(), free: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    pub(super) fn insert(&mut self, value: T) -> Key {
        let index = self.free.pop().unwrap_or(self.entries.len() as u32);
        match self.entries.get_mut(index as usize) {
            Some((serial, entry)) => {
                *serial = serial.wrapping_add(1);
                *entry = Some(value);
                Key { index, serial: *serial }
            }
            None => {
                self.entries.push((0, Some(value)));
                Key { index, serial: 0 }
            }
        }
    }

    pub(super) fn get(&self, key: Key) -> Option<&T> {
        let (serial, entry) = self.entries.get(key.index as usize)?;
        entry.as_ref().filter(|_| *serial == key.serial)
    }

    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let (serial, entry) = self.entries.get_mut(key.index as usize)?;
        entry.as_mut().filter(|_| *serial == key.serial)
    }

    pub(super) fn remove(&mut self, key: Key) -> Option<T> {
        let (serial, entry) = self.entries.get_mut(key.index as usize)?;
        let value = entry.take_if(|_| *serial == key.serial)?;
        self.free.push(key.index);
        Some(value)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (Key, &mut T)> {
        self.entries.iter_mut().enumerate().filter_map(|(index, (serial, entry))| {
            Some((Key { index: index as u32, serial: *serial }, entry.as_mut()?))
        })
    }
}
