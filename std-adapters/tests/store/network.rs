//! A store over the network: what its implementor writes, and a server for the tests.
//!
//! A call is a line of JSON with its name and its arguments, bytes in Base64. So is its reply, with
//! what the call returned, or nothing because the store is full.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_STANDARD as BASE64};
use mcp_sansio_adapters::store::{Store, StoreError};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// A store at this address, and connections to it that no call uses.
pub(crate) struct NetworkStore(SocketAddr, Mutex<Vec<BufReader<TcpStream>>>);

/// A call that has no reply after this time has failed: a thread waits for it.
const TIME_LIMIT: Duration = Duration::from_secs(60);

impl NetworkStore {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self(address, Mutex::default())
    }

    fn call<T: DeserializeOwned>(&self, call: &Value) -> Result<T, StoreError> {
        let exchange = || -> io::Result<Result<T, ()>> {
            let idle = self.1.lock().unwrap().pop();
            let connect = || TcpStream::connect_timeout(&self.0, TIME_LIMIT).map(BufReader::new);
            let mut stream = idle.map_or_else(connect, Ok)?;
            stream.get_ref().set_read_timeout(Some(TIME_LIMIT))?;
            let mut line = call.to_string() + "\n";
            stream.get_mut().write_all(line.as_bytes())?;
            line.clear();
            stream.read_line(&mut line)?;
            let reply = serde_json::from_str(&line)?;
            // Without a reply the connection ends here, since a late one would be that of the next.
            self.1.lock().unwrap().push(stream);
            Ok(reply)
        };
        match exchange() {
            Ok(reply) => reply.map_err(|()| StoreError::Full),
            Err(error) => Err(StoreError::Unavailable(error.into())),
        }
    }
}

impl Store for NetworkStore {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let found: Option<String> = self.call(&json!(["get", key]))?;
        let decoded = found.map(|text| BASE64.decode(text)).transpose();
        decoded.map_err(|error| StoreError::Failed(error.into()))
    }

    fn put(&self, key: &str, bytes: &[u8], ttl: Option<Duration>) -> Result<(), StoreError> {
        self.call(&json!(["put", key, BASE64.encode(bytes), ttl]))
    }

    fn compare_and_put(
        &self,
        key: &str,
        expected: Option<&[u8]>,
        bytes: &[u8],
        ttl: Option<Duration>,
    ) -> Result<bool, StoreError> {
        let expected = expected.map(|expected| BASE64.encode(expected));
        self.call(&json!(["compare and put", key, BASE64.encode(bytes), ttl, expected]))
    }

    fn remove(&self, key: &str) -> Result<(), StoreError> {
        self.call(&json!(["remove", key]))
    }

    fn keys(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        self.call(&json!(["keys", prefix]))
    }
}

/// Serves the store, each connection on a thread of its own.
pub(crate) fn serve(store: Arc<dyn Store>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let store = Arc::clone(&store);
            thread::spawn(move || reply(&*store, &stream.unwrap()));
        }
    });
    address
}

fn reply(store: &dyn Store, stream: &TcpStream) {
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        let call: Value = serde_json::from_str(&line).unwrap();
        let bytes = |place: usize| call[place].as_str().map(|text| BASE64.decode(text).unwrap());
        let (key, put) = (call[1].as_str().unwrap(), bytes(2).unwrap_or_default());
        let ttl = serde_json::from_value(call[3].clone()).unwrap();
        let reply = match call[0].as_str().unwrap() {
            "get" => line_of(store.get(key).map(|found| found.map(|bytes| BASE64.encode(bytes)))),
            "put" => line_of(store.put(key, &put, ttl)),
            "remove" => line_of(store.remove(key)),
            "keys" => line_of(store.keys(key)),
            _ => line_of(store.compare_and_put(key, bytes(4).as_deref(), &put, ttl)),
        };
        // Nobody waits for it if this fails.
        let _ = (&mut &*stream).write_all(reply.as_bytes());
    }
}

fn line_of<T: Serialize>(returned: Result<T, StoreError>) -> String {
    serde_json::to_string(&returned.map_err(drop)).unwrap() + "\n"
}
