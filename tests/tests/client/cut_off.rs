//! Requests that were only partly sent.

use std::collections::BTreeMap;

use mcp_sansio::types::Implementation;
use mcp_sansio::{
    CallOptions, CallOutcome, Client, ClientConfig, ClientEvent, ClientFeatures, ClientState,
    Connection, Era, Frame, Instant, InvalidPayload, Json, Messages, RawJson, RxBuffer, SendError,
    Step, Tx, TxBuffer,
};
use mcp_sansio_tests::line::Line;
use mcp_sansio_tests::memory::new_client;
use serde::ser::Error as _;
use serde::{Serialize, Serializer};

static CONFIG: ClientConfig<'_> =
    ClientConfig::new(Implementation::new("c", "1"), ClientFeatures::NONE);
const NOW: Instant = Instant::from_millis(0);

fn open() -> Client<'static> {
    let mut client = new_client::<2>(&CONFIG);
    client.set_era(Some(Era::Modern));
    client.connect(NOW, &mut TxBuffer::new([0; 8])).unwrap();
    client
}

fn send(
    client: &mut Client<'_>,
    params: &(impl Serialize + ?Sized),
    tx: &mut Tx<'_>,
) -> Result<mcp_sansio::Call, SendError> {
    client.request(NOW, "own/method", &Json(params), CallOptions::new(), tx)
}

/// Returns everything written when the open line is cut off by `cut` and another request is sent.
fn cut_off(
    first: &impl Serialize,
    cut: impl FnOnce(&mut Client<'_>, &mut TxBuffer<Vec<u8>>),
) -> (Client<'static>, mcp_sansio::Call, String) {
    let (mut client, mut line) = (open(), Line::new(64));
    assert_eq!(send(&mut client, first, &mut line.tx), Err(SendError::Full));
    line.drain();
    cut(&mut client, &mut line.tx);
    let call = line.send(|tx| send(&mut client, &RawJson::EMPTY, tx)).unwrap();
    (client, call, line.take())
}

fn the_line_is_cut_off_and_its_id_is_unused(
    mut client: Client<'static>,
    call: mcp_sansio::Call,
    sent: &str,
) {
    let lines: Vec<_> = sent.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(RawJson::parse(lines[0]).is_err() && lines[0].contains("\"id\":1,"), "{}", lines[0]);
    assert_eq!(RawJson::parse(lines[1]).unwrap().get("id").unwrap().as_i64(), Some(2));
    // A server may find the id in the rest of the line and respond to it.
    let mut tx = TxBuffer::new([0; 64]);
    let mut take = |line: &'static str| {
        let mut messages = Messages::new(Frame::Complete(line.as_bytes()));
        client.next_event(NOW, &mut messages, &mut tx).unwrap()
    };
    assert!(
        take(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32700,"message":"noise"}}"#).is_none()
    );
    let event = take(r#"{"jsonrpc":"2.0","id":2,"result":{}}"#);
    let Some(ClientEvent::CallFinished { call: ended, outcome: CallOutcome::Result(_) }) = event
    else {
        panic!("{event:?}")
    };
    assert_eq!(ended, call);
}

#[test]
fn an_abandoned_request_frees_the_line_and_its_id_is_unused() {
    let (client, call, sent) = cut_off(
        &[("long", "x".repeat(200))].into_iter().collect::<BTreeMap<_, _>>(),
        |client, tx| {
            assert_eq!(client.abort_frame(tx), Ok(()));
            assert!(!tx.is_mid_frame());
            assert_eq!(client.abort_frame(tx), Ok(()));
        },
    );
    the_line_is_cut_off_and_its_id_is_unused(client, call, &sent);
}

#[test]
fn a_request_is_abandoned_when_there_is_room_for_the_end_of_the_line() {
    let (mut client, mut tx) = (open(), TxBuffer::new([0; 64]));
    assert_eq!(client.abort_frame(&mut tx), Ok(()));
    assert!(tx.pending().is_empty());
    let long = [("long", "x".repeat(200))].into_iter().collect::<BTreeMap<_, _>>();
    assert_eq!(send(&mut client, &long, &mut tx), Err(SendError::Full));
    assert_eq!(client.abort_frame(&mut tx), Err(SendError::Full));
    tx.advance(1);
    assert_eq!(client.abort_frame(&mut tx), Ok(()));
    assert_eq!(tx.pending().last(), Some(&b'\n'));
}

/// Serializes once, then fails.
struct Failing(std::cell::Cell<u32>);

impl Serialize for Failing {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.set(self.0.get() + 1);
        if self.0.get() > 2 {
            Err(S::Error::custom("gone"))
        } else {
            serializer.collect_map([("long", "x".repeat(200))])
        }
    }
}

#[test]
fn parameters_that_fail_half_way_cut_the_line_off_as_well() {
    let failing = Failing(0.into());
    let (client, call, sent) = cut_off(&failing, |client, tx| {
        failing.0.set(9);
        assert_eq!(send(client, &failing, tx), Err(SendError::Invalid(InvalidPayload::Serialize)));
    });
    the_line_is_cut_off_and_its_id_is_unused(client, call, &sent);
}

#[test]
fn the_id_of_a_line_that_its_connection_breaks_off_is_unused() {
    let (rx, tx) = (RxBuffer::new([0; 64]), TxBuffer::new([0; 64]));
    let mut connection: Connection<'_, _, _, _> =
        Connection::new(&CONFIG, ClientState::<2>::new(), rx, tx);
    let mut sent = Vec::new();
    for text in ["", &"x".repeat(200), "x"] {
        let mut turn = connection.turn(NOW);
        let (client, tx) = turn.parts();
        if text.is_empty() {
            client.set_era(Some(Era::Modern));
            client.connect(NOW, tx).unwrap();
            continue;
        }
        let fits = send(client, &[("text", text)].into_iter().collect::<BTreeMap<_, _>>(), tx);
        assert_eq!(fits.err(), Some(SendError::Full));
        loop {
            match connection.next(NOW) {
                Step::Io { write: [], .. } => break,
                Step::Io { write, .. } => {
                    sent.extend_from_slice(write);
                    let n = write.len();
                    connection.wrote(n);
                }
                Step::Again => {}
                _ => unreachable!("nothing was received"),
            }
        }
    }
    let sent = String::from_utf8(sent).unwrap();
    let ids: Vec<_> = sent.lines().map(|line| &line[..24]).collect();
    assert_eq!(ids, [r#"{"jsonrpc":"2.0","id":1,"#, r#"{"jsonrpc":"2.0","id":2,"#]);
}
