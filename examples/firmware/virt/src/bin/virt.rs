//! The firmware under embassy on a RISC-V: the same application as on the micro:bit, with a future
//! for each slow call.
#![no_std]
#![no_main]

use embassy_executor::Spawner;
use firmware_embassy::Firmware;
use static_cell::StaticCell;
use virt::board::Virt;
use virt::uart::PORT;

static FIRMWARE: StaticCell<Firmware<Virt>> = StaticCell::new();

#[embassy_executor::main]
async fn main(_spawner: Spawner) {
    virt::start();
    let (receiver, sender) = PORT.split();
    firmware_embassy::serve(firmware_embassy::build(&FIRMWARE, Virt), receiver, sender).await;
}
