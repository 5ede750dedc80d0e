//! Records in Redis.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use mcp_sansio_adapters::store::{Store, StoreError};
use redis::{Client, Cmd, Connection, FromRedisValue, Script};

use crate::{PREFIX, error_of};

/// A [`Store`] of records in Redis.
///
/// A record is a string under the prefix and its key. A change is one command or script, which
/// Redis carries out as a whole; whether it is there after a crash of Redis is decided by its
/// configuration (`appendonly yes`, `appendfsync always`), and so is its limit (`maxmemory` with
/// `maxmemory-policy noeviction`, beyond which records are [refused](StoreError::Full)).
pub struct RedisStore {
    client: Client,
    prefix: String,
    time_limit: Duration,
    /// Connections that no call uses.
    idle: Mutex<Vec<Connection>>,
    compare: Script,
}

impl RedisStore {
    /// Creates a store at this address, to which it connects.
    ///
    /// # Errors
    /// [`StoreError::Failed`] if the address is invalid or its user is refused, and
    /// [`StoreError::Unavailable`] if there is no server.
    pub fn open(address: &str) -> Result<Self, StoreError> {
        let store = Self {
            client: Client::open(address).map_err(error_of)?,
            prefix: PREFIX.to_owned(),
            time_limit: TIME_LIMIT,
            idle: Mutex::default(),
            compare: Script::new(COMPARE),
        };
        let _: String = store.query(&redis::cmd("PING"))?;
        Ok(store)
    }

    /// Sets what all keys begin with. Default: `mcp:`.
    #[must_use]
    pub fn prefix(self, prefix: impl Into<String>) -> Self {
        Self { prefix: prefix.into(), ..self }
    }

    /// Sets the time after which a call fails, since a thread waits for it. Default: 5 seconds.
    #[must_use]
    pub fn time_limit(self, time_limit: Duration) -> Self {
        Self { time_limit, ..self }
    }

    /// Makes a call on a connection of its own. A connection whose reply did not come is closed: it
    /// would be taken for that of the next call.
    fn call<T>(
        &self,
        call: impl Fn(&mut Connection) -> redis::RedisResult<T>,
    ) -> Result<T, StoreError> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let found = idle().pop();
        let mut connection = match found {
            Some(connection) => connection,
            None => self.connect().map_err(error_of)?,
        };
        let result = call(&mut connection);
        // A server that has become a replica says so.
        let is_usable = result.as_ref().err().is_none_or(|error| {
            error.code().is_some_and(|code| !matches!(code, "READONLY" | "LOADING"))
        });
        if is_usable {
            idle().push(connection);
        } else {
            // The server was started again, or is gone: others are lost, too.
            idle().clear();
        }
        result.map_err(error_of)
    }

    fn connect(&self) -> redis::RedisResult<Connection> {
        let connection = self.client.get_connection_with_timeout(self.time_limit)?;
        connection.set_read_timeout(Some(self.time_limit))?;
        connection.set_write_timeout(Some(self.time_limit))?;
        Ok(connection)
    }

    /// Makes a call that can be repeated: a connection may have been closed since the last one.
    fn query<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, StoreError> {
        match self.call(|connection| command.query(connection)) {
            Err(StoreError::Unavailable(_)) => self.call(|connection| command.query(connection)),
            result => result,
        }
    }

    fn key(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }
}

impl Store for RedisStore {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.query(redis::cmd("GET").arg(self.key(key)))
    }

    fn put(&self, key: &str, bytes: &[u8], ttl: Option<Duration>) -> Result<(), StoreError> {
        match milliseconds(ttl) {
            Some(0) => self.remove(key),
            Some(ttl) => {
                self.query(redis::cmd("SET").arg(self.key(key)).arg(bytes).arg("PX").arg(ttl))
            }
            None => self.query(redis::cmd("SET").arg(self.key(key)).arg(bytes)),
        }
    }

    fn compare_and_put(
        &self,
        key: &str,
        expected: Option<&[u8]>,
        bytes: &[u8],
        ttl: Option<Duration>,
    ) -> Result<bool, StoreError> {
        let ttl = milliseconds(ttl).map_or(-1, u64::cast_signed);
        // It cannot be repeated, so its connection has to be there.
        let _: String = self.query(&redis::cmd("PING"))?;
        let mut script = self.compare.key(self.key(key));
        script.arg(bytes).arg(ttl);
        if let Some(expected) = expected {
            script.arg(expected);
        }
        self.call(|connection| script.invoke(connection))
    }

    fn remove(&self, key: &str) -> Result<(), StoreError> {
        self.query(redis::cmd("DEL").arg(self.key(key)))
    }

    fn keys(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let pattern = pattern_of(&self.key(prefix));
        let mut keys = Vec::new();
        let mut cursor = 0_u64;
        loop {
            let mut scan = redis::cmd("SCAN");
            scan.arg(cursor).arg("MATCH").arg(&pattern).arg("COUNT").arg(1000);
            let (next, found): (u64, Vec<Vec<u8>>) = self.query(&scan)?;
            // Others than text are not of a store.
            let found = found.into_iter().filter_map(|key| String::from_utf8(key).ok());
            keys.extend(found.filter_map(|key| Some(key.strip_prefix(&self.prefix)?.to_owned())));
            if next == 0 {
                break;
            }
            cursor = next;
        }
        keys.sort_unstable();
        keys.dedup();
        Ok(keys)
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

/// Returns whole milliseconds, at least those that were asked for. `None`: no limit.
fn milliseconds(ttl: Option<Duration>) -> Option<u64> {
    let ttl = ttl?.as_nanos().div_ceil(1_000_000);
    u64::try_from(ttl).ok().filter(|ttl| *ttl <= LONGEST)
}

/// Returns the pattern of all keys with this prefix.
fn pattern_of(prefix: &str) -> String {
    let mut pattern = String::with_capacity(prefix.len() + 1);
    for c in prefix.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern + "*"
}

const TIME_LIMIT: Duration = Duration::from_secs(5);
/// A time that Redis can add to the present, in milliseconds: some 140,000 years.
const LONGEST: u64 = 1 << 52;
/// Puts ARGV[1] for ARGV[2] milliseconds (-1: for ever) if ARGV[3] is there, or nothing.
const COMPARE: &str = "
if redis.call('GET', KEYS[1]) ~= (ARGV[3] or false) then return 0 end
local ttl = tonumber(ARGV[2])
if ttl == 0 then redis.call('DEL', KEYS[1])
elseif ttl < 0 then redis.call('SET', KEYS[1], ARGV[1])
else redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end
return 1";
