//! The firmware over HTTP, on a RISC-V with a network card: any host reaches it by its URL.
#![no_std]
#![no_main]

use embassy_executor::Spawner;
use embassy_net::{Runner, Stack, StackResources};
use firmware_network::{CONNECTIONS, Firmware, SOCKETS};
use static_cell::StaticCell;
use virt::board::Virt;
use virt::net::Card;
use virt::uart::PORT;

static FIRMWARE: StaticCell<Firmware<Virt>> = StaticCell::new();
static RESOURCES: StaticCell<StackResources<SOCKETS>> = StaticCell::new();

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    virt::start();
    let Some(card) = Card::find() else {
        PORT.write_now(b"There is no network card\n");
        return;
    };
    // The numbers of connections are chosen at random, which takes a better source than this one.
    let seed = embassy_time::Instant::now().as_ticks();
    let resources = RESOURCES.init_with(StackResources::new);
    let (stack, runner) = embassy_net::new(card, firmware_network::config(), resources, seed);
    if let Ok(task) = run(runner) {
        spawner.spawn(task);
    }
    stack.wait_config_up().await;
    PORT.write_now(b"The address is known\n");
    let firmware = firmware_network::build(&FIRMWARE, Virt);
    for _ in 0..CONNECTIONS {
        if let Ok(task) = connection(firmware, stack) {
            spawner.spawn(task);
        }
    }
    if let Ok(task) = be_found(stack) {
        spawner.spawn(task);
    }
    firmware.handler().housekeeping().await;
}

#[embassy_executor::task]
async fn run(mut runner: Runner<'static, Card>) -> ! {
    runner.run().await
}

#[embassy_executor::task(pool_size = CONNECTIONS)]
async fn connection(firmware: &'static Firmware<Virt>, stack: Stack<'static>) {
    firmware_network::serve(firmware, stack).await;
}

#[embassy_executor::task]
async fn be_found(stack: Stack<'static>) {
    firmware_network::be_found(stack).await;
}
