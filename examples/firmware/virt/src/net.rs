//! The network card: virtio over memory-mapped registers, for embassy-net.

use core::cell::{RefCell, UnsafeCell};
use core::ops::Range;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::Context;

use embassy_net_driver::{Capabilities, Driver, HardwareAddress, LinkState, RxToken, TxToken};
use embassy_sync::waitqueue::AtomicWaker;
use registers::Register;
use static_cell::ConstStaticCell;
use virtio_drivers::device::net::VirtIONetRaw;
use virtio_drivers::transport::mmio::MmioTransport;
use virtio_drivers::transport::{DeviceType, Transport as _};
use virtio_drivers::{BufferDirection, Hal, PAGE_SIZE, PhysAddr};

use crate::uart;

type Device = VirtIONetRaw<Memory, MmioTransport<'static>, QUEUE>;

/// The card. It has one packet in each direction.
pub struct Card {
    device: RefCell<Device>,
    received: &'static mut [u8; PACKET],
    /// The number by which the device knows that packet.
    token: u16,
    sent: &'static mut [u8; PACKET],
}

impl Card {
    /// Finds the card among the devices of the board. `None` if QEMU was started without one.
    pub fn find() -> Option<Self> {
        (0..SLOTS).find_map(Self::at)
    }

    fn at(slot: usize) -> Option<Self> {
        let base = FIRST + slot * SLOT_BYTES;
        // SAFETY: here is a slot of the board, which nothing else uses.
        let transport =
            unsafe { MmioTransport::new(NonNull::new(base as *mut _)?, SLOT_BYTES) }.ok()?;
        if transport.device_type() != DeviceType::Network {
            return None;
        }
        let mut device = Device::new(transport).ok()?;
        let (received, sent) = (RECEIVED.try_take()?, SENT.try_take()?);
        // SAFETY: nothing uses the packet before the device has completed it.
        let token = unsafe { device.receive_begin(received) }.ok()?;
        device.enable_interrupts();
        BASE.store(base, Ordering::Relaxed);
        uart::enable(slot as u32 + 1);
        Some(Self { device: RefCell::new(device), received, token, sent })
    }
}

/// Handles an interrupt: a packet has come.
pub(crate) fn interrupt() {
    let base = BASE.load(Ordering::Relaxed);
    // SAFETY: these are registers of the card.
    let [status, acknowledge] = [0x60, 0x64].map(|at| unsafe { Register::<u32>::at(base + at) });
    acknowledge.write(status.read());
    WAKER.wake();
}

impl Driver for Card {
    type RxToken<'a> = Received<'a>;
    type TxToken<'a> = Sending<'a>;

    fn receive(&mut self, cx: &mut Context<'_>) -> Option<(Received<'_>, Sending<'_>)> {
        WAKER.register(cx.waker());
        let Self { device, received, token, sent } = self;
        device.borrow().poll_receive()?;
        // SAFETY: it is the packet of this token.
        let (head, len) =
            unsafe { device.borrow_mut().receive_complete(*token, *received) }.ok()?;
        let range = head..head + len;
        Some((
            Received { device, packet: received, range, token },
            Sending { device, packet: sent },
        ))
    }

    fn transmit(&mut self, _: &mut Context<'_>) -> Option<Sending<'_>> {
        Some(Sending { device: &self.device, packet: self.sent })
    }

    fn link_state(&mut self, cx: &mut Context<'_>) -> LinkState {
        WAKER.register(cx.waker());
        LinkState::Up
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::default();
        capabilities.max_transmission_unit = 1514;
        capabilities.max_burst_size = Some(1);
        capabilities
    }

    fn hardware_address(&self) -> HardwareAddress {
        HardwareAddress::Ethernet(self.device.borrow().mac_address())
    }
}

/// A packet that has come.
pub struct Received<'c> {
    device: &'c RefCell<Device>,
    packet: &'c mut [u8; PACKET],
    range: Range<usize>,
    token: &'c mut u16,
}

impl RxToken for Received<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, read: F) -> R {
        let Self { device, packet, range, token } = self;
        let result = read(packet.get_mut(range).unwrap_or_default());
        // SAFETY: nothing uses the packet before the device has completed it.
        if let Ok(next) = unsafe { device.borrow_mut().receive_begin(packet) } {
            *token = next;
        }
        result
    }
}

/// Room for a packet to send.
pub struct Sending<'c> {
    device: &'c RefCell<Device>,
    packet: &'c mut [u8; PACKET],
}

impl TxToken for Sending<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, write: F) -> R {
        let packet = self.packet.get_mut(..len).unwrap_or_default();
        let result = write(packet);
        // A packet that is lost is sent again by TCP.
        let _ = self.device.borrow_mut().send(packet);
        result
    }
}

/// Memory that the card and the program share: the queues.
struct Memory;

#[repr(C, align(4096))]
struct Pages(UnsafeCell<[[u8; PAGE_SIZE]; PAGES]>);

// SAFETY: each page is given out once.
unsafe impl Sync for Pages {}

// SAFETY: pages are given out once, are never given back, and addresses of the card are those of
// the program, since there is no MMU.
unsafe impl Hal for Memory {
    fn dma_alloc(pages: usize, _: BufferDirection) -> (PhysAddr, NonNull<u8>) {
        let first = TAKEN.fetch_add(pages, Ordering::Relaxed);
        let place = DMA.0.get().cast::<u8>().wrapping_add(first * PAGE_SIZE);
        // Address 0 says that there is no memory.
        let address = if first + pages <= PAGES { place.expose_provenance() } else { 0 };
        (address as PhysAddr, NonNull::new(place).unwrap_or(NonNull::dangling()))
    }

    unsafe fn dma_dealloc(_: PhysAddr, _: NonNull<u8>, _: usize) -> i32 {
        0
    }

    unsafe fn mmio_phys_to_virt(address: PhysAddr, _: usize) -> NonNull<u8> {
        NonNull::new(core::ptr::with_exposed_provenance_mut(address as usize))
            .unwrap_or(NonNull::dangling())
    }

    unsafe fn share(buffer: NonNull<[u8]>, _: BufferDirection) -> PhysAddr {
        buffer.as_ptr().cast::<u8>().expose_provenance() as PhysAddr
    }

    unsafe fn unshare(_: PhysAddr, _: NonNull<[u8]>, _: BufferDirection) {}
}

static DMA: Pages = Pages(UnsafeCell::new([[0; PAGE_SIZE]; PAGES]));
static TAKEN: AtomicUsize = AtomicUsize::new(0);
static RECEIVED: ConstStaticCell<[u8; PACKET]> = ConstStaticCell::new([0; PACKET]);
static SENT: ConstStaticCell<[u8; PACKET]> = ConstStaticCell::new([0; PACKET]);
static WAKER: AtomicWaker = AtomicWaker::new();
/// Address of the registers of the card.
static BASE: AtomicUsize = AtomicUsize::new(0);

/// The slots of virtio devices. That of number `n` has interrupt `n + 1`.
const FIRST: usize = 0x1000_1000;
const SLOT_BYTES: usize = 0x1000;
const SLOTS: usize = 8;
/// A packet of Ethernet, with the head that virtio puts before it.
const PACKET: usize = 1536;
/// Number of places in each queue. A packet to send takes two.
const QUEUE: usize = 4;
/// Pages of both queues.
const PAGES: usize = 4;
