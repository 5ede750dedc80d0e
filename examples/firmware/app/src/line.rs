//! The application on a [`Connection`](mcp_sansio_adapters::embedded::Connection).

use embedded_io::Write;
use mcp_sansio::ServerEvent;
use mcp_sansio_adapters::embedded::{Context, Error, Handler};

use crate::{App, Board, IN_FLIGHT, Reply, SUBSCRIPTIONS};

type Line<'c, P, const TX: usize> = Context<'c, P, TX, IN_FLIGHT, SUBSCRIPTIONS>;

impl<B: Board, P: Write, const TX: usize> Handler<P, TX, IN_FLIGHT, SUBSCRIPTIONS> for App<B> {
    fn on_event(
        &mut self,
        event: ServerEvent<'_>,
        ctx: &mut Line<'_, P, TX>,
    ) -> Result<(), Error<P::Error>> {
        let now = ctx.now();
        App::event(self, event, now).map_or(Ok(()), |reply| send(reply, ctx))
    }

    fn on_poll(&mut self, ctx: &mut Line<'_, P, TX>) -> Result<bool, Error<P::Error>> {
        let now = ctx.now();
        App::work(self, &ctx.server(), now)
            .map_or(Ok(false), |reply| send(reply, ctx).map(|()| true))
    }

    fn on_read_error(
        &mut self,
        _: P::Error,
        _: &mut Line<'_, P, TX>,
    ) -> Result<(), Error<P::Error>> {
        App::fault(self);
        Ok(())
    }
}

fn send<P: Write, const TX: usize>(
    mut reply: Reply<'_>,
    ctx: &mut Line<'_, P, TX>,
) -> Result<(), Error<P::Error>> {
    ctx.send(|server, tx| reply.send(server, tx))
}
