//! Any bytes as an event stream: nothing panics, chunking changes nothing, and no event is lost.
//! The body of the seeded test in `http_sse`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcp_sansio_tests::codec::events_survive(data));
