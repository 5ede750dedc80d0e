//! A line over Bluetooth LE: the Nordic UART service. What the client writes goes to a reader, and
//! what is written to a writer leaves as notifications.
//!
//! A write without response is lost if the board has no room for it, and the client's system may
//! lose a notification, so that both ends need lines with checksums. A write with response waits.
#![no_std]
#![forbid(unsafe_code)]

use core::convert::Infallible;

use embassy_futures::select::{Either, select, select3};
use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::pipe;
use embassy_time::Timer;
pub use trouble_host::{Address, Controller};
use trouble_host::{BleHostError, HostResources, prelude::*};

/// The bytes of one direction that wait.
type Pipe = pipe::Pipe<NoopRawMutex, 1024>;
pub type Reader<'p> = pipe::Reader<'p, NoopRawMutex, 1024>;
pub type Writer<'p> = pipe::Writer<'p, NoopRawMutex, 1024>;

type Server<'n> = AttributeServer<'n, NoopRawMutex, DefaultPacketPool, ATTRIBUTES, 1>;
type Client<'s> = GattConnection<'s, 's, DefaultPacketPool>;

/// The service, as it is written: `6E400001-B5A3-F393-E0A9-E50E24DCCA9E`.
const SERVICE: u128 = 0x6E400001_B5A3_F393_E0A9_E50E24DCCA9E;
/// The characteristic that the client writes.
const RX: u128 = SERVICE + (1 << 96);
/// The characteristic that notifies the client.
const TX: u128 = SERVICE + (2 << 96);

/// Attributes of the service beside those that each device has: the service, two characteristics
/// with their values, and whether the client wants notifications.
const ATTRIBUTES: usize = GAP_SERVICE_ATTRIBUTE_COUNT + 6;

/// Bytes of the longest write or notification: a packet of the pool without its two headers.
const CHUNK: usize = DefaultPacketPool::MTU - 4 - 3;

/// Serves one client after the other, under a name of at most 22 bytes. Each has a line of its own:
/// `session` is dropped when it leaves.
pub async fn serve<C: Controller>(
    controller: C,
    address: Address,
    name: &str,
    session: impl AsyncFn(Reader<'_>, Writer<'_>),
) -> Result<Infallible, BleHostError<C::Error>> {
    let mut resources: HostResources<DefaultPacketPool, 1, 2> = HostResources::new();
    let stack = trouble_host::new(controller, &mut resources).set_random_address(address).build();
    let (mut runner, mut peripheral) = (stack.runner(), stack.peripheral());

    let mut table = AttributeTable::new();
    let config = GapConfig::default(name);
    config.build(&mut table).map_err(|_| Error::InvalidValue)?;
    let mut service = table.add_service(Service::new(SERVICE));
    let writes = [CharacteristicProp::Write, CharacteristicProp::WriteWithoutResponse];
    let rx = service.add_characteristic_small(RX, writes, [0; 0]).build();
    let tx = service.add_characteristic_small(TX, [CharacteristicProp::Notify], [0; 0]).build();
    let server = Server::new(table);

    let (mut advertised, mut asked_for) = ([0; 31], [0; 31]);
    let shown = [
        AdStructure::Flags(LE_GENERAL_DISCOVERABLE | BR_EDR_NOT_SUPPORTED),
        AdStructure::CompleteLocalName(name.as_bytes()),
    ];
    let shown = AdStructure::encode_slice(&shown, &mut advertised).map_err(Error::from)?;
    let services = [AdStructure::CompleteServiceUuids128(&[SERVICE.to_le_bytes()])];
    let services = AdStructure::encode_slice(&services, &mut asked_for).map_err(Error::from)?;

    let clients = async {
        loop {
            let data = Advertisement::ConnectableScannableUndirected {
                adv_data: &advertised[..shown],
                scan_data: &asked_for[..services],
            };
            let advertiser = peripheral.advertise(&<_>::default(), data).await?;
            let client = advertiser.accept().await?.with_attribute_server(&server)?;
            let (mut received, mut sent) = (Pipe::new(), Pipe::new());
            let ((reader, received), (to_send, writer)) = (received.split(), sent.split());
            // The first that ends is the end of the others: what it has not sent is for nobody.
            select3(
                session(reader, writer),
                receive(&client, rx.handle, received),
                send(&client, &tx, to_send),
            )
            .await;
        }
    };
    match select(runner.run(), clients).await {
        Either::First(end) => Err(end.err().unwrap_or(Error::InvalidState.into())),
        Either::Second(end) => end,
    }
}

/// Hands on what the client writes, until it leaves.
async fn receive(client: &Client<'_>, rx: u16, to: Writer<'_>) {
    let mut chunk = [0; CHUNK];
    loop {
        let event = match client.next().await {
            GattConnectionEvent::Disconnected { .. } => return,
            GattConnectionEvent::Gatt { event } => event,
            _ => continue,
        };
        let reply = match event {
            GattEvent::Write(write) if write.handle() == rx => {
                let len = write.with_data(|_, data| {
                    let len = data.len().min(CHUNK);
                    chunk[..len].copy_from_slice(&data[..len]);
                    len
                });
                let mut rest = &chunk[..len];
                while !rest.is_empty() {
                    // The response waits for room, and with it the client's next request. If the
                    // client leaves meanwhile, there is nothing to wait for.
                    match select(to.write(rest), client.raw().next()).await {
                        Either::First(taken) => rest = &rest[taken..],
                        Either::Second(ConnectionEvent::Disconnected { .. }) => return,
                        Either::Second(_) => {}
                    }
                }
                write.accept_unprocessed()
            }
            event => event.accept(),
        };
        if let Ok(reply) = reply {
            reply.send().await;
        }
    }
}

/// Sends what is written as notifications, as long as the client has agreed to.
async fn send(client: &Client<'_>, tx: &Characteristic<[u8; 0]>, from: Reader<'_>) {
    let tx = tx.to_raw();
    let mut chunk = [0; CHUNK];
    loop {
        let most = usize::from(client.raw().att_mtu()).saturating_sub(3).min(CHUNK);
        let len = from.read(&mut chunk[..most]).await;
        while let Err(error) = tx.notify_raw(client, &chunk[..len], false).await {
            match error {
                // All packets of the pool wait for the radio.
                Error::OutOfMemory => Timer::after_millis(5).await,
                _ => return,
            }
        }
    }
}
