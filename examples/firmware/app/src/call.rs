//! Tool calls.

use mcp_sansio::{Instant, RequestHandle, ToolOutput};

use crate::app::{App, Begun};
use crate::board::{Board, Quantity};
use crate::catalog::{NAME, OUTPUT_STATES};
use crate::reply::{Body, Name, Reply};
use crate::sweep::Sweep;
use crate::tools::{Call, Line, Measured, Pin, Stack, Switched, Uptime};

impl<B: Board> App<B> {
    /// Handles a call.
    pub(crate) fn call<'f>(
        &mut self,
        call: Call<'f>,
        request: RequestHandle,
        now: Instant,
    ) -> Begun<'f> {
        let body = match call {
            Call::Measure { quantity } => self.measure(quantity),
            Call::ReadPin { number } => {
                Body::structured(Pin { number, high: self.board.pin(number) })
            }
            Call::Sweep { steps, period } => {
                return Begun::Job(Sweep::new(request, steps, period, now));
            }
            Call::Rename { name } => match Name::new(name) {
                Some(name) => {
                    self.name = name;
                    let reply = Reply::new(request, Body::text("The board has a new name"));
                    return Begun::Reply(reply.changes(NAME).log("renamed"));
                }
                None => Body::Tool(Err("The name is longer than 24 bytes".into())),
            },
            Call::Echo { text } => Body::Tool(Ok(ToolOutput::Text(text))),
            Call::Line => Body::structured(Line { refused: self.refused, faults: self.faults }),
            Call::Stack => {
                let (size, deepest) = self.board.stack();
                Body::structured(Stack { size, deepest })
            }
            Call::Uptime => Body::structured(Uptime { milliseconds: now.as_millis() }),
            Call::Reset => {
                self.reset = Some(now);
                Body::text("The board starts again")
            }
            Call::Switch(switch) => {
                let (output, on) = switch.parts();
                let was = self.set_output(output, on);
                let reply = Reply::new(request, Body::structured(Switched { output, on, was }));
                if was == on {
                    return Begun::Reply(reply);
                }
                let text = if on { "switched on" } else { "switched off" };
                return Begun::Reply(reply.changes(OUTPUT_STATES).log(text));
            }
        };
        Begun::Reply(Reply::new(request, body))
    }

    fn measure<'f>(&mut self, quantity: Quantity) -> Body<'f> {
        match self.board.measure(quantity) {
            Some(value) => Body::structured(Measured { quantity, value, unit: quantity.unit() }),
            None => Body::Tool(Err("The sensor does not answer".into())),
        }
    }
}
