//! Any bytes as challenges, metadata, tokens, redirects and URLs: they are read or refused, and
//! nothing panics. The body of the seeded test in `payload`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcp_sansio_tests::oauth::survives(data));
