//! A client that logs in at servers that answer at random. The body of the seeded test in
//! `scripted`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcp_sansio_tests::chaos::login_survives(data));
