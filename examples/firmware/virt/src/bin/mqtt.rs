//! The thermometer behind an MQTT broker, on a RISC-V with a network card.
#![no_std]
#![no_main]

use embassy_executor::Spawner;
use embassy_futures::select::select;
use embassy_net::tcp::TcpSocket;
use embassy_net::{Config, Ipv4Address, Runner, StackResources};
use embassy_time::{Duration, Timer};
use firmware_mqtt::{Buffers, ConfigBuilder, PACKET, Pipe, Session, Topics, carry};
use firmware_thermometer::serve_async;
use mcp_sansio_adapters::embedded_async::{CheckedReader, CheckedWriter};
use static_cell::ConstStaticCell;
use virt::net::Card;
use virt::room::Room;
use virt::uart::PORT;

/// The computer that emulates this board. Not the port of brokers, of which it may have one.
const BROKER: (Ipv4Address, u16) = (Ipv4Address::new(10, 0, 2, 2), 18830);
const TOPICS: Topics<'_> = Topics { input: "mcp/thermometer/in", output: "mcp/thermometer/out" };

static SOCKETS: ConstStaticCell<StackResources<2>> = ConstStaticCell::new(StackResources::new());

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    virt::start();
    let Some(card) = Card::find() else {
        PORT.write_now(b"There is no network card\n");
        return;
    };
    // The numbers of connections are chosen at random, which takes a better source than this one.
    let seed = embassy_time::Instant::now().as_ticks();
    let (stack, runner) =
        embassy_net::new(card, Config::dhcpv4(<_>::default()), SOCKETS.take(), seed);
    if let Ok(task) = run(runner) {
        spawner.spawn(task);
    }
    stack.wait_config_up().await;
    let (mut rx, mut tx) = ([0; PACKET], [0; PACKET]);
    let mut session = Session::new(ConfigBuilder::new(Buffers::new(&mut rx, &mut tx)));
    let (mut receiving, mut sending) = ([0; 1024], [0; 1024]);
    loop {
        let mut socket = TcpSocket::new(stack, &mut receiving, &mut sending);
        socket.set_timeout(Some(Duration::from_secs(30)));
        if socket.connect(BROKER).await.is_ok() {
            let (mut received, mut sent) = (Pipe::new(), Pipe::new());
            let ((reader, received), (sent, writer)) = (received.split(), sent.split());
            let line = serve_async(CheckedReader::new(reader), CheckedWriter::new(writer), Room);
            let _ = select(line, carry(&mut session, socket, TOPICS, &received, &sent)).await;
        }
        PORT.write_now(b"There is no connection to the broker\n");
        Timer::after_secs(1).await;
    }
}

#[embassy_executor::task]
async fn run(mut runner: Runner<'static, Card>) -> ! {
    runner.run().await
}
