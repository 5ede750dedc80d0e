//! The thermometer over Bluetooth LE, on a RISC-V whose serial port leads to a controller.
#![no_std]
#![no_main]

use bt_hci::controller::ExternalController;
use bt_hci_serial::SerialTransport;
use embassy_executor::Spawner;
use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use firmware_ble::{Address, serve};
use firmware_thermometer::serve_async;
use mcp_sansio_adapters::embedded_async::{CheckedReader, CheckedWriter};
use virt::room::Room;
use virt::uart::PORT;

/// A random static address, which a product takes from its chip.
const ADDRESS: [u8; 6] = [0x01, 0x00, 0x00, 0x00, 0x00, 0xC0];

#[embassy_executor::main]
async fn main(_spawner: Spawner) {
    virt::start();
    let (receiver, sender) = PORT.split();
    let transport = SerialTransport::<NoopRawMutex, _, _>::new(receiver, sender);
    let controller = ExternalController::<_, 4>::new(transport);
    let _ = serve(controller, Address::random(ADDRESS), "thermometer", async |reader, writer| {
        let _ = serve_async(CheckedReader::new(reader), CheckedWriter::new(writer), Room).await;
    })
    .await;
    // The controller has failed.
    virt::board::reset();
}
