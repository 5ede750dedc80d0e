//! A disk in memory that loses power: of what was not synced, any part may be there.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;

/// What a disk writes as a whole, in bytes.
const SECTOR: usize = 512;

#[derive(Clone, Debug)]
pub(super) struct Disk(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    /// What is read.
    cached: Vec<u8>,
    /// What was there at the last sync.
    synced: Vec<u8>,
    /// The writes since then.
    writes: Vec<Write>,
    /// The number of writes and syncs before power is lost.
    left: usize,
    syncs: usize,
}

#[derive(Debug)]
enum Write {
    Length(usize),
    Bytes(usize, Vec<u8>),
}

impl Disk {
    /// A disk with this content, which loses power after `left` writes and syncs.
    pub(super) fn new(content: Vec<u8>, left: usize) -> Self {
        let (cached, synced) = (content.clone(), content);
        Self(Arc::new(Mutex::new(State { cached, synced, writes: Vec::new(), left, syncs: 0 })))
    }

    /// Returns the number of writes and syncs before power is lost.
    pub(super) fn left(&self) -> usize {
        self.lock().left
    }

    pub(super) fn syncs(&self) -> usize {
        self.lock().syncs
    }

    /// Returns what is there after the loss of power. `random` decides which sectors of the writes
    /// since the last sync are.
    pub(super) fn after_loss(&self, random: &mut Random) -> Vec<u8> {
        let state = self.lock();
        let mut content = state.synced.clone();
        // All, none, or any.
        let chance = [0, 4, 2][random.below(3)];
        for write in &state.writes {
            match write {
                // The length of a file is kept in the order of its changes by file systems.
                Write::Length(length) => content.resize(*length, 0),
                Write::Bytes(offset, bytes) => {
                    for (number, sector) in bytes.chunks(SECTOR).enumerate() {
                        if random.below(4) < chance {
                            let at = offset + number * SECTOR;
                            content[at..at + sector.len()].copy_from_slice(sector);
                        }
                    }
                }
            }
        }
        content
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a write or a sync, if there is power.
    fn operate(&self) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.lock();
        state.left = state.left.checked_sub(1).ok_or_else(|| io::Error::other("no power"))?;
        Ok(state)
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.lock().cached.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let at = offset as usize;
        let state = self.lock();
        let bytes = state.cached.get(at..at + out.len());
        out.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let mut state = self.operate()?;
        state.cached.resize(length as usize, 0);
        state.writes.push(Write::Length(length as usize));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.operate()?;
        state.syncs += 1;
        state.synced = state.cached.clone();
        state.writes.clear();
        Ok(())
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.operate()?;
        let at = offset as usize;
        state.cached[at..at + bytes.len()].copy_from_slice(bytes);
        state.writes.push(Write::Bytes(at, bytes.to_vec()));
        Ok(())
    }
}

/// Marsaglia's xorshift.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % end
    }
}
