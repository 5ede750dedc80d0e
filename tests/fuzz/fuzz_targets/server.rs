//! Any bytes, in any chunking, against the server and an application: the body of the seeded test
//! `chaos`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcp_sansio_tests::chaos::server_survives(data));
