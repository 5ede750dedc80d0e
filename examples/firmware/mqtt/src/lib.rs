//! A line over MQTT 5: each topic carries one direction of it, and a message some of its bytes.
//!
//! Messages are sent at most once. A broker may drop one, so that both ends need lines with
//! checksums; sent at least once, a call could be executed twice.
#![no_std]
#![forbid(unsafe_code)]

use core::convert::Infallible;

use embassy_futures::select::{Either, select};
use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::pipe;
use embassy_time::{Duration, with_timeout};
pub use minimq::{Buffers, ConfigBuilder, Session};
use minimq::{Io, PubError, Publication, TopicFilter};

/// The bytes of one direction that wait.
pub type Pipe = pipe::Pipe<NoopRawMutex, 1024>;
pub type Reader<'p> = pipe::Reader<'p, NoopRawMutex, 1024>;
pub type Writer<'p> = pipe::Writer<'p, NoopRawMutex, 1024>;

/// Bytes of the longest message.
pub const MESSAGE: usize = 512;

/// Bytes of a buffer of the session: a message with its topic. The broker is told, and sends none
/// that are longer.
pub const PACKET: usize = MESSAGE + 128;

/// The longest time that a message waits for room in the pipe. Then it is lost: an end that does
/// not read for longer does not hear from the broker either, and is taken for dead.
const PATIENCE: Duration = Duration::from_secs(10);

/// The topics of one end of the line. Those of the other end are these the other way round.
#[derive(Clone, Copy, Debug)]
pub struct Topics<'t> {
    /// The topic that this end receives.
    pub input: &'t str,
    /// The topic that this end sends.
    pub output: &'t str,
}

/// Moves bytes between the topics and two pipes, until the connection is lost.
pub async fn carry<IO: Io>(
    session: &mut Session<'_>,
    io: IO,
    topics: Topics<'_>,
    received: &Writer<'_>,
    to_send: &Reader<'_>,
) -> Result<Infallible, minimq::Error<IO::Error>> {
    let mut broker = session.connect(io).await?;
    let subscription = broker.subscribe(&[TopicFilter::new(topics.input)], &[]).await?;
    while broker.is_pending(&subscription) {
        broker.poll().await?;
    }
    let (mut message, mut chunk) = ([0; PACKET], [0; MESSAGE]);
    // The part of the message that the pipe has not taken.
    let mut rest = 0..0;
    loop {
        // Both go on without each other: a server whose output waits takes no input.
        let receive = async {
            if rest.is_empty() {
                if let Some(publish) = broker.poll().await? {
                    let payload = publish.payload();
                    rest = 0..payload.len().min(PACKET);
                    message[rest.clone()].copy_from_slice(&payload[rest.clone()]);
                }
            } else {
                let taken = with_timeout(PATIENCE, received.write(&message[rest.clone()])).await;
                rest.start += taken.unwrap_or(rest.len());
            }
            Ok::<_, minimq::Error<IO::Error>>(())
        };
        match select(receive, to_send.read(&mut chunk)).await {
            Either::First(done) => done?,
            Either::Second(len) => {
                let publication = Publication::bytes(topics.output, &chunk[..len]);
                broker.publish(publication).await.map_err(|error| match error {
                    PubError::Session(error) => error,
                    PubError::Payload(_) => minimq::Error::InvalidRequest,
                })?;
            }
        }
    }
}
