//! `oauth` with tokens that are bound to a key: proofs of possession, signed with ES256.
#![no_std]
#![no_main]

use mcp_sansio_oauth::{Es256, Setup};
use size::login::{self, ARENA, LINE};

size::figure!("buffer rx", LINE);
size::figure!("buffer arena", ARENA);
size::figure!("size of Es256", size_of::<Es256<'_>>());

const SETUP: Setup<'_> = Setup::new("https://mcp.example/mcp", "Panel");
/// The key of RFC 7515, A.3. A board has one of its own.
static KEY: [u8; 32] = [
    142, 155, 16, 158, 113, 144, 152, 191, 152, 4, 135, 223, 31, 93, 119, 233, 203, 41, 96, 110,
    190, 210, 38, 59, 95, 87, 194, 19, 223, 132, 244, 178,
];

#[size::entry]
fn main() -> ! {
    static mut MEMORY: [u8; ARENA] = [0; ARENA];
    static mut READ: [u8; LINE] = [0; LINE];

    size::board::open();
    match Es256::from_bytes(&KEY) {
        Ok(key) => login::run(&Setup { dpop: Some(&key), ..SETUP }, MEMORY, READ),
        Err(_) => login::run(&SETUP, MEMORY, READ),
    }
}
