//! Any bytes as HTTP/1.1: nothing panics, and chunking changes nothing. The body of the seeded test
//! in `http_codec`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcp_sansio_tests::codec::survives(data));
