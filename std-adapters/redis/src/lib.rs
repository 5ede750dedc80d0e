#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod bus;
mod store;

pub use bus::RedisBus;
pub use store::RedisStore;

use mcp_sansio_adapters::store::StoreError;
use redis::{ErrorKind, RedisError, ServerErrorKind};

/// The beginning of keys and channels, unless the program says otherwise.
const PREFIX: &str = "mcp:";

/// Returns an error of Redis as that of a store.
fn error_of(error: RedisError) -> StoreError {
    match error.kind() {
        _ if error.code() == Some("OOM") => StoreError::Full,
        ErrorKind::AuthenticationFailed
        | ErrorKind::InvalidClientConfig
        | ErrorKind::UnexpectedReturnType
        | ErrorKind::Server(ServerErrorKind::NoPerm) => StoreError::Failed(error.into()),
        _ if matches!(error.code(), Some("NOAUTH" | "WRONGPASS" | "WRONGTYPE")) => {
            StoreError::Failed(error.into())
        }
        _ => StoreError::Unavailable(error.into()),
    }
}
