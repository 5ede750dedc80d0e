//! A client that logs in with a person, and renews its token: the flow alone, without its HTTP.
#![no_std]
#![no_main]

use mcp_sansio_oauth::{AuthorizationState, Setup};
use size::login::{self, ARENA, LINE};

size::figure!("buffer rx", LINE);
size::figure!("buffer arena", ARENA);
size::figure!(
    "size of AuthorizationState, beside its memory",
    size_of::<AuthorizationState<&mut [u8]>>()
);

const SETUP: Setup<'_> = Setup::new("https://mcp.example/mcp", "Panel");

#[size::entry]
fn main() -> ! {
    static mut MEMORY: [u8; ARENA] = [0; ARENA];
    static mut READ: [u8; LINE] = [0; LINE];

    size::board::open();
    login::run(&SETUP, MEMORY, READ)
}
