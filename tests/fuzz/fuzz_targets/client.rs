//! Any bytes, in any chunking, against a client in one of several states: the body of the seeded
//! test `chaos`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcp_sansio_tests::chaos::client_survives(data));
