//! The firmware over HTTP as a program for Linux, on a tap device: its network stack is that of a
//! board, and this computer is another one on the same network.
//!
//! ```sh
//! sudo ip tuntap add board0 mode tap user "$USER"
//! sudo ip address add 10.77.0.1/24 dev board0 && sudo ip link set board0 up
//! network board0      # serves http://10.77.0.2/mcp
//! ```

#[path = "../board.rs"]
mod board;

use board::SimulatedBoard;
use embassy_executor::Spawner;
use embassy_net::{Config, Ipv4Address, Ipv4Cidr, Runner, Stack, StackResources, StaticConfigV4};
use embassy_net_tuntap::TunTapDevice;
use firmware_network::{CONNECTIONS, Firmware, SOCKETS};
use static_cell::StaticCell;

static FIRMWARE: StaticCell<Firmware<SimulatedBoard>> = StaticCell::new();
static RESOURCES: StaticCell<StackResources<SOCKETS>> = StaticCell::new();

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    let name = std::env::args().nth(1).expect("usage: network DEVICE");
    let card = TunTapDevice::new(&name).expect("the device is there, and yours");
    // There is no router that gives one.
    let config = Config::ipv4_static(StaticConfigV4 {
        address: Ipv4Cidr::new(Ipv4Address::new(10, 77, 0, 2), 24),
        gateway: None,
        dns_servers: Default::default(),
    });
    // Another one after each start: the computer remembers the connections of the last run.
    let seed = std::process::id().into();
    let resources = RESOURCES.init_with(StackResources::new);
    let (stack, runner) = embassy_net::new(card, config, resources, seed);
    spawner.spawn(run(runner).expect("the first"));
    let firmware = firmware_network::build(&FIRMWARE, SimulatedBoard::default());
    for _ in 0..CONNECTIONS {
        spawner.spawn(connection(firmware, stack).expect("one of the pool"));
    }
    spawner.spawn(be_found(stack).expect("the first"));
    firmware.handler().housekeeping().await;
}

#[embassy_executor::task]
async fn run(mut runner: Runner<'static, TunTapDevice>) -> ! {
    runner.run().await
}

#[embassy_executor::task(pool_size = CONNECTIONS)]
async fn connection(firmware: &'static Firmware<SimulatedBoard>, stack: Stack<'static>) {
    firmware_network::serve(firmware, stack).await;
}

#[embassy_executor::task]
async fn be_found(stack: Stack<'static>) {
    firmware_network::be_found(stack).await;
}
