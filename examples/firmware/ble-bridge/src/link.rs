//! The Nordic UART service of a device.

use std::pin::Pin;
use std::time::Duration;

use btleplug::api::{
    Central as _, CentralEvent, CentralState, CharPropFlags, Characteristic, Manager as _,
    Peripheral as _, ScanFilter, ValueNotification, WriteType,
};
use btleplug::platform::{Adapter, Manager, Peripheral};
use futures::{Stream, StreamExt as _};
use tokio::time::{Instant, sleep, timeout};

const SERVICE: u128 = 0x6E400001_B5A3_F393_E0A9_E50E24DCCA9E;
/// The characteristic for writing to the device.
const RX: u128 = SERVICE + (1 << 96);
/// The characteristic whose notifications are from the device.
const TX: u128 = SERVICE + (2 << 96);

#[cfg(target_os = "linux")]
const HOW_TO_START: &str = "Does BlueZ run? `systemctl start bluetooth` starts it";
#[cfg(not(target_os = "linux"))]
const HOW_TO_START: &str = "Is Bluetooth on, and may this program use it?";

type Notifications = Pin<Box<dyn Stream<Item = ValueNotification> + Send>>;
type Events = Pin<Box<dyn Stream<Item = CentralEvent> + Send>>;

pub(crate) struct Link {
    sender: Sender,
    receiver: Receiver,
}

pub(crate) struct Sender {
    device: Peripheral,
    rx: Characteristic,
}

pub(crate) struct Receiver {
    device: Peripheral,
    notifications: Notifications,
    events: Events,
}

pub(crate) enum Received {
    Bytes(Vec<u8>),
    /// The device has gone.
    Lost,
}

impl Link {
    /// Looks for the device with this name, and connects to it.
    pub(crate) async fn open(name: &str, wait: Duration) -> Result<Self, String> {
        let adapter = adapter().await?;
        let device = find(&adapter, name, wait).await?;
        let failed = |error| format!("cannot connect to {name}: {error}");
        // A bridge that was killed leaves its connection, whose session is not ours.
        if device.is_connected().await.map_err(failed)? {
            device.disconnect().await.map_err(failed)?;
        }
        device.connect().await.map_err(failed)?;
        match Self::of(&adapter, device.clone()).await {
            Ok(Some(link)) => Ok(link),
            other => {
                let _ = device.disconnect().await;
                Err(other.err().map_or_else(
                    || format!("{name} has no Nordic UART service: is it another device?"),
                    failed,
                ))
            }
        }
    }

    /// `None`: the device is another one.
    async fn of(adapter: &Adapter, device: Peripheral) -> Result<Option<Self>, btleplug::Error> {
        let events = adapter.events().await?;
        device.discover_services().await?;
        let find = |uuid| device.characteristics().into_iter().find(|c| c.uuid.as_u128() == uuid);
        let (Some(rx), Some(tx)) = (find(RX), find(TX)) else { return Ok(None) };
        let notifications = device.notifications().await?;
        device.subscribe(&tx).await?;
        let receiver = Receiver { device: device.clone(), notifications, events };
        Ok(Some(Self { sender: Sender { device, rx }, receiver }))
    }

    pub(crate) fn split(&mut self) -> (&Sender, &mut Receiver) {
        (&self.sender, &mut self.receiver)
    }

    /// Waits for the system, but not for one that hangs.
    pub(crate) async fn close(self) {
        let _ = timeout(Duration::from_secs(3), self.sender.device.disconnect()).await;
    }
}

impl Sender {
    /// Sends bytes. The device answers each part, so that it gets no more than it has room for.
    pub(crate) async fn send(&self, bytes: &[u8]) -> Result<(), String> {
        let kind = if self.rx.properties.contains(CharPropFlags::WRITE) {
            WriteType::WithResponse
        } else {
            WriteType::WithoutResponse
        };
        for part in bytes.chunks(usize::from(self.device.mtu()).saturating_sub(3).max(1)) {
            let written = self.device.write(&self.rx, part, kind).await;
            written.map_err(|error| format!("cannot write to the device: {error}"))?;
        }
        Ok(())
    }
}

impl Receiver {
    pub(crate) async fn next(&mut self) -> Received {
        loop {
            tokio::select! {
                // Bytes that came before the end are read before it.
                biased;
                notification = self.notifications.next() => match notification {
                    Some(notification) if notification.uuid.as_u128() == TX => {
                        return Received::Bytes(notification.value);
                    }
                    Some(_) => {}
                    None => return Received::Lost,
                },
                event = self.events.next() => match event {
                    Some(CentralEvent::DeviceDisconnected(id)) if id == self.device.id() => {
                        return Received::Lost;
                    }
                    Some(_) => {}
                    None => return Received::Lost,
                },
            }
        }
    }
}

async fn adapter() -> Result<Adapter, String> {
    let absent = |error| format!("there is no Bluetooth: {error}. {HOW_TO_START}");
    let manager = Manager::new().await.map_err(absent)?;
    let adapter = manager.adapters().await.map_err(absent)?.into_iter().next();
    let adapter = adapter.ok_or(
        "this computer has no Bluetooth adapter: on Linux `bluetoothctl list` shows those that it has",
    )?;
    // Some systems do not know at first.
    if adapter.adapter_state().await.map_err(absent)? == CentralState::PoweredOff {
        return Err("Bluetooth is off: turn it on, with `bluetoothctl power on` on Linux".into());
    }
    Ok(adapter)
}

async fn find(adapter: &Adapter, name: &str, wait: Duration) -> Result<Peripheral, String> {
    let failed = |error| format!("cannot look for devices: {error}");
    adapter.start_scan(ScanFilter::default()).await.map_err(failed)?;
    let (until, mut seen) = (Instant::now() + wait, Vec::new());
    let found = loop {
        for device in adapter.peripherals().await.map_err(failed)? {
            let Ok(Some(shown)) = device.properties().await else { continue };
            // The system also lists devices that were here once.
            let is_here = shown.rssi.is_some() || device.is_connected().await.unwrap_or(false);
            match shown.local_name {
                Some(other) if is_here && other != name && !seen.contains(&other) => {
                    seen.push(other);
                }
                Some(other) if is_here && other == name => {
                    // Some adapters cannot connect meanwhile.
                    let _ = adapter.stop_scan().await;
                    return Ok(device);
                }
                _ => {}
            }
        }
        if Instant::now() >= until {
            break seen;
        }
        sleep(Duration::from_millis(250)).await;
    };
    let _ = adapter.stop_scan().await;
    let others = if found.is_empty() { "none".into() } else { found.join(", ") };
    Err(format!(
        "no device with the name {name} within {} s: is it on, near, and not connected to another \
         program? Others that are here: {others}",
        wait.as_secs(),
    ))
}
