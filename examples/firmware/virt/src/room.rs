//! The board of the thermometer.

use core::future::Future;

use embassy_time::Timer;
use firmware_thermometer::Board;
use mcp_sansio::Instant;
use mcp_sansio_adapters::embedded_async::Clock;

/// A room that grows warmer by a tenth of a degree each second, since this board has no sensor.
#[derive(Clone, Copy, Debug)]
pub struct Room;

impl Clock for Room {
    fn now(&self) -> Instant {
        Instant::from_millis(embassy_time::Instant::now().as_millis())
    }

    fn sleep_until(&self, at: Instant) -> impl Future<Output = ()> {
        Timer::at(embassy_time::Instant::from_millis(at.as_millis()))
    }
}

impl Board for Room {
    fn temperature(&self) -> i16 {
        200 + (embassy_time::Instant::now().as_secs() % 100) as i16
    }

    // Of the loop without an executor.
    fn wait(&self) -> Instant {
        self.now()
    }
}
