//! The sensor and the clock of the RP2040.

use core::cell::RefCell;
use core::future::Future;

use embassy_rp::Peri;
use embassy_rp::adc::{Adc, Blocking, Channel, Config};
use embassy_rp::peripherals::{ADC, ADC_TEMP_SENSOR};
use embassy_time::Timer;
use firmware_thermometer::Board;
use mcp_sansio::Instant;
use mcp_sansio_adapters::embedded_async::Clock;
use static_cell::StaticCell;

type Sensor = RefCell<(Adc<'static, Blocking>, Channel<'static>)>;

static SENSOR: StaticCell<Sensor> = StaticCell::new();

#[derive(Clone, Copy)]
pub(crate) struct Pico(&'static Sensor);

impl Pico {
    pub(crate) fn open(adc: Peri<'static, ADC>, sensor: Peri<'static, ADC_TEMP_SENSOR>) -> Self {
        let adc = Adc::new_blocking(adc, Config::default());
        Self(SENSOR.init(RefCell::new((adc, Channel::new_temp_sensor(sensor)))))
    }
}

impl Clock for Pico {
    fn now(&self) -> Instant {
        Instant::from_millis(embassy_time::Instant::now().as_millis())
    }

    fn sleep_until(&self, at: Instant) -> impl Future<Output = ()> {
        Timer::at(embassy_time::Instant::from_millis(at.as_millis()))
    }
}

impl Board for Pico {
    fn temperature(&self) -> i16 {
        let (adc, channel) = &mut *self.0.borrow_mut();
        // 4,096 steps of 3.3 V. 0.706 V are 27 degrees, and 1.721 mV less are a degree more.
        let steps = u32::from(adc.blocking_read(channel).unwrap_or_default());
        let microvolts = (steps * 825_000 / 1024).cast_signed();
        i16::try_from(270 - (microvolts - 706_000) / 172).unwrap_or_default()
    }

    // Of the loop without an executor.
    fn wait(&self) -> Instant {
        cortex_m::asm::wfi();
        self.now()
    }
}
