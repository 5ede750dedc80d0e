//! An authorization server that says what the test wants.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

use futures_lite::future;
use futures_lite::io::{AsyncRead, AsyncReadExt as _, Cursor, repeat};

use crate::asynchronous::JoinedIo;
use crate::asynchronous::client::http::{BoxedStream, Connect, Dial};

/// The answer at a URL.
#[derive(Clone)]
pub(crate) enum Answer {
    /// 200 with this body.
    Json(String),
    /// A status without a body.
    Status(u16),
    /// 200, and as many bytes.
    Long(u64),
    /// Nothing, ever.
    Silence,
    /// No connection.
    Refused,
}

/// The server. Clones are the same server.
#[derive(Clone, Default)]
pub(crate) struct Server(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    answers: BTreeMap<String, Answer>,
    asked: Vec<(String, Option<piper::Reader>)>,
    kept: Vec<piper::Writer>,
}

impl Server {
    pub(crate) fn at(self, url: &str, answer: Answer) -> Self {
        self.set(url, answer);
        self
    }

    pub(crate) fn set(&self, url: &str, answer: Answer) {
        self.0.lock().unwrap().answers.insert(url.to_owned(), answer);
    }

    /// Returns the URLs that were asked for since the last call.
    pub(crate) fn asked(&self) -> Vec<String> {
        let asked = std::mem::take(&mut self.0.lock().unwrap().asked);
        asked.into_iter().map(|(url, _)| url).collect()
    }

    /// Returns the requests since the last call, with head and body.
    pub(crate) fn requests(&self) -> Vec<String> {
        let asked = std::mem::take(&mut self.0.lock().unwrap().asked);
        let read = asked.into_iter().filter_map(|(_, reader)| {
            let (mut reader, mut text) = (reader?, String::new());
            future::block_on(reader.read_to_string(&mut text)).unwrap();
            Some(text)
        });
        read.collect()
    }

    pub(crate) fn connector(&self) -> impl Connect + use<> {
        let server = self.clone();
        move |dial: Dial| {
            let stream = server.stream(dial);
            async move { stream }
        }
    }

    fn stream(&self, dial: Dial) -> io::Result<BoxedStream> {
        let mut state = self.0.lock().unwrap();
        let answer = state.answers.get(&dial.url).cloned().unwrap_or(Answer::Status(404));
        let (reader, writer) = piper::pipe(1 << 20);
        state.asked.push((dial.url, Some(reader)));
        let head = |status, length| {
            let text = format!("HTTP/1.1 {status} x\r\ncontent-length: {length}\r\n\r\n");
            Cursor::new(text.into_bytes())
        };
        let body: Box<dyn AsyncRead + Send + Unpin> = match answer {
            Answer::Json(body) => {
                Box::new(head(200, body.len() as u64).chain(Cursor::new(body.into_bytes())))
            }
            Answer::Status(status) => Box::new(head(status, 0)),
            Answer::Long(bytes) => Box::new(head(200, bytes).chain(repeat(b' ').take(bytes))),
            Answer::Silence => {
                let (silent, kept) = piper::pipe(1);
                state.kept.push(kept);
                Box::new(silent)
            }
            Answer::Refused => return Err(io::ErrorKind::ConnectionRefused.into()),
        };
        Ok(Box::new(JoinedIo::new(body, writer)))
    }
}
