//! The errors of stores.

use std::error::Error;
use std::fmt;

/// Reasons why a store did not do what it was called for. A server then refuses the request
/// (-32603); it never answers as if the record were saved.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no room for the record, and nothing was written. Old records have to be removed, or
    /// to reach the end of their time; repeating the call before that does not help.
    Full,
    /// The store cannot be reached now, for example over a network. Whether the call was carried
    /// out is not known. It may be repeated later, as may any call of a store.
    Unavailable(Box<dyn Error + Send + Sync>),
    /// The store does not work until an operator has repaired it: the disk is full or broken, or
    /// the file is not one of this store.
    Failed(Box<dyn Error + Send + Sync>),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("the store is full: remove records, or raise its limit"),
            Self::Unavailable(error) => write!(f, "the store is unavailable, try later: {error}"),
            Self::Failed(error) => write!(f, "the store has failed and must be repaired: {error}"),
        }
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Full => None,
            Self::Unavailable(error) | Self::Failed(error) => Some(&**error),
        }
    }
}
