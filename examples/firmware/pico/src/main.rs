//! The thermometer on a Raspberry Pi Pico. Its USB is a serial port of the class CDC ACM, for which
//! Linux, macOS and Windows have a driver.
#![no_std]
#![no_main]

mod board;
mod packets;

use core::future::pending;
use core::panic::PanicInfo;

use embassy_executor::Spawner;
use embassy_futures::join::join;
use embassy_futures::select::select;
use embassy_rp::peripherals::USB;
use embassy_rp::usb::{Driver, InterruptHandler};
use embassy_usb::class::cdc_acm::{CdcAcmClass, ControlChanged, State};
use embassy_usb::{Builder, Config};
use firmware_thermometer::serve_async;

use board::Pico;
use packets::{Reader, Writer};

embassy_rp::bind_interrupts!(struct Interrupts {
    USBCTRL_IRQ => InterruptHandler<USB>;
});

/// Bytes of a packet, the most of a bulk endpoint at full speed.
const PACKET: usize = 64;

#[embassy_executor::main]
async fn main(_spawner: Spawner) {
    let peripherals = embassy_rp::init(<_>::default());
    let pico = Pico::open(peripherals.ADC, peripherals.ADC_TEMP_SENSOR);

    // A pair of numbers for tests, which no product may use.
    let mut config = Config::new(0x1209, 0x0001);
    config.product = Some("Thermometer");
    // The computer names the port after it: /dev/serial/by-id/usb-...Thermometer_1-if00.
    config.serial_number = Some("1");
    let (mut descriptors, mut bos, mut control) = ([0; 128], [0; 32], [0; 64]);
    let mut packet = [0; PACKET];
    let mut state = State::new();
    let driver = Driver::new(peripherals.USB, Interrupts);
    let mut usb = Builder::new(driver, config, &mut descriptors, &mut bos, &mut [], &mut control);
    let port = CdcAcmClass::new(&mut usb, &mut state, PACKET as u16);
    let (sender, receiver, control) = port.split_with_control();
    let (mut reader, mut writer) =
        (Reader(receiver.into_buffered(&mut packet)), Writer::new(sender));
    let mut device = usb.build();

    // A program that closes the port ends its connection, so that the next one gets no rest of it.
    let connections = async {
        loop {
            open(&control, true).await;
            let line = async {
                let _ = writer.end_line().await;
                let _ = serve_async(&mut reader, &mut writer, pico).await;
                // A port that fails is served again once it has been closed.
                pending::<()>().await
            };
            select(line, open(&control, false)).await;
        }
    };
    join(device.run(), connections).await;
}

/// Waits until a program opens the port, or closes it. To unplug it closes it, too.
async fn open(control: &ControlChanged<'_>, is_open: bool) {
    while control.dtr() != is_open {
        control.control_changed().await;
    }
}

/// The computer sees the device leave and come back.
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    cortex_m::peripheral::SCB::sys_reset()
}
