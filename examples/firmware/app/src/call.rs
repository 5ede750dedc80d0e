//! Tool calls. Arguments are checked against the schema and then parsed.

use mcp_sansio::types::Text;
use mcp_sansio::{Entry, Instant, JsonStr, RawJson, Request};
use serde::Deserialize;

use crate::app::{App, Begun};
use crate::board::{Board, Quantity};
use crate::catalog::{NAME, OUTPUT_STATES};
use crate::outputs;
use crate::reply::{Body, Data, Reply};
use crate::sweep::Sweep;

#[derive(Deserialize)]
struct ReadPin {
    number: u8,
}

#[derive(Deserialize)]
struct Switch {
    on: bool,
}

#[derive(Deserialize)]
struct SweepArguments {
    steps: u16,
    period: Option<u16>,
}

impl<B: Board> App<B> {
    /// Handles a `tools/call`.
    pub(crate) fn call<'f>(
        &mut self,
        tool: &Entry<'f>,
        request: &Request<'f>,
        now: Instant,
    ) -> Begun<'f> {
        let arguments = request.arguments();
        let answer = |body| Begun::Reply(Reply::new(request.handle, body));
        let string = |key| arguments.get(key).and_then(RawJson::as_string);
        let bad = Body::Failure("The arguments are not what the tool takes");
        let name = tool.key.as_plain().unwrap_or_default();
        match name {
            "measure" => answer(self.measure(string("quantity"))),
            "read_pin" => answer(match arguments.to() {
                Ok(ReadPin { number }) => {
                    Body::Data(Data::Pin { number, high: self.board.pin(number) })
                }
                Err(_) => bad,
            }),
            "sweep" => match arguments.to() {
                Ok(SweepArguments { steps, period }) => {
                    Begun::Job(Sweep::new(request.handle, steps, period.unwrap_or(100), now))
                }
                Err(_) => answer(bad),
            },
            "rename" => {
                let copied = string("name")
                    .and_then(|name| name.copy_to(&mut self.name.bytes).map(str::len));
                let Some(len) = copied else {
                    return answer(Body::Failure("The name is longer than 24 bytes"));
                };
                self.name.len = len;
                Begun::Changed(
                    Reply::new(request.handle, Body::Text("The board has a new name".into()))
                        .changes(NAME)
                        .log("renamed"),
                )
            }
            "echo" => answer(Body::Text(string("text").map_or(Text::default(), Text::from))),
            "line" => answer(Body::Data(Data::Line { refused: self.refused, faults: self.faults })),
            "stack" => {
                let (size, deepest) = self.board.stack();
                answer(Body::Data(Data::Stack { size, deepest }))
            }
            "uptime" => answer(Body::Data(Data::Uptime { milliseconds: now.as_millis() })),
            "reset" => {
                self.reset = Some(now);
                answer(Body::Text("The board starts again".into()))
            }
            _ => match (outputs::of(name), arguments.to()) {
                (Some(output), Ok(Switch { on })) => {
                    let was = self.set_output(output, on);
                    let reply =
                        Reply::new(request.handle, Body::Data(Data::Output { output, on, was }));
                    if was == on {
                        Begun::Reply(reply)
                    } else {
                        let text = if on { "switched on" } else { "switched off" };
                        Begun::Changed(reply.changes(OUTPUT_STATES).log(text))
                    }
                }
                _ => answer(bad),
            },
        }
    }

    fn measure<'f>(&mut self, quantity: Option<JsonStr<'f>>) -> Body<'f> {
        let quantity = Quantity::ALL
            .into_iter()
            .find(|known| quantity.is_some_and(|quantity| quantity == known.name()));
        match quantity.and_then(|quantity| Some((quantity, self.board.measure(quantity)?))) {
            Some((quantity, value)) => Body::Data(Data::Measured {
                quantity: quantity.name(),
                value,
                unit: quantity.unit(),
            }),
            None => Body::Failure("The sensor does not answer"),
        }
    }
}
