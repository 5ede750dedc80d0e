//! `oauth` with tokens that are bound to a key: proofs of possession, signed with EdDSA.
#![no_std]
#![no_main]

use mcp_sansio_oauth::{Ed25519, Setup};
use size::login::{self, ARENA, LINE};

size::figure!("buffer rx", LINE);
size::figure!("buffer arena", ARENA);
size::figure!("size of Ed25519", size_of::<Ed25519<'_>>());

const SETUP: Setup<'_> = Setup::new("https://mcp.example/mcp", "Panel");
/// The key of RFC 8037, A.1. A board has one of its own.
static KEY: [u8; 32] = [
    157, 97, 177, 157, 239, 253, 90, 96, 186, 132, 74, 244, 146, 236, 44, 196, 68, 73, 197, 105,
    123, 50, 105, 25, 112, 59, 172, 3, 28, 174, 127, 96,
];

#[size::entry]
fn main() -> ! {
    static mut MEMORY: [u8; ARENA] = [0; ARENA];
    static mut READ: [u8; LINE] = [0; LINE];

    size::board::open();
    login::run(&Setup { dpop: Some(&Ed25519::from_bytes(&KEY)), ..SETUP }, MEMORY, READ)
}
