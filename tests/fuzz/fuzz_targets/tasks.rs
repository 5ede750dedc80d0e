//! Any script of tasks between a client and a server: each call ends once, as its task did. The
//! body of a seeded test in `chaos`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcp_sansio_tests::chaos::tasks_survive(data));
