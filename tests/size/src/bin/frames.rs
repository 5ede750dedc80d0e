//! The lowest layer alone: frames and scans lines and writes a response, without the protocol.
#![no_std]
#![no_main]

use mcp_sansio::{Encode, Encoder, Frame, RawJson, Revision, RxBuffer, to_slice};
use size::{RX_BYTES, TX_BYTES, uart::Uart};

size::figure!("buffer rx", RX_BYTES);
size::figure!("buffer tx", TX_BYTES);
size::figure!(
    "size of RxBuffer, beside its bytes",
    size_of::<RxBuffer<[u8; RX_BYTES]>>() - RX_BYTES
);

struct Answer<'f> {
    jsonrpc: &'static str,
    id: RawJson<'f>,
    method: Option<RawJson<'f>>,
    bytes: u32,
}

impl Encode for Answer<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.begin_object();
        to.member("jsonrpc", self.jsonrpc);
        to.member("id", &self.id);
        to.member("method", &self.method.unwrap_or(RawJson::NULL));
        to.member("bytes", &self.bytes);
        to.end_object();
    }
}

#[size::entry]
fn main() -> ! {
    static mut RX: RxBuffer<[u8; RX_BYTES]> = RxBuffer::new([0; RX_BYTES]);
    static mut TX: [u8; TX_BYTES] = [0; TX_BYTES];

    let mut port = Uart::open();
    loop {
        while let Some(frame) = RX.next_frame() {
            if let Frame::Complete(line) = frame
                && let Ok(text) = core::str::from_utf8(line)
                && let Ok(json) = RawJson::parse(text)
                && let Some(id) = json.get("id")
            {
                let answer = Answer {
                    jsonrpc: "2.0",
                    id,
                    method: json.get("method"),
                    bytes: line.len() as u32,
                };
                if let Ok(sent) = to_slice(&answer, Revision::LATEST, TX) {
                    port.write(sent.as_str().as_bytes());
                    port.write(b"\n");
                }
            }
        }
        let read = port.read(RX.spare());
        RX.commit(read);
    }
}
