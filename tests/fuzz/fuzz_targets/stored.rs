//! Any bytes in a store of tasks: they are a record or are refused, and nothing panics. The body of
//! the seeded test in `payload`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcp_sansio_tests::stored::survives(data));
