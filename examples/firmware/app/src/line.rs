//! The application on a [`Link`](mcp_sansio_adapters::embedded::Link).

use embedded_io::Write;
use mcp_sansio::ServerEvent;
use mcp_sansio_adapters::embedded::{Error, Handler, Session};

use crate::{App, Board, IN_FLIGHT, Reply, SUBSCRIPTIONS};

type Line<'c, P, const TX: usize> = Session<'c, P, TX, IN_FLIGHT, SUBSCRIPTIONS>;

impl<B: Board, P: Write, const TX: usize> Handler<P, TX, IN_FLIGHT, SUBSCRIPTIONS> for App<B> {
    fn event(
        &mut self,
        event: ServerEvent<'_>,
        session: &mut Line<'_, P, TX>,
    ) -> Result<(), Error<P::Error>> {
        let now = session.now();
        App::event(self, event, now).map_or(Ok(()), |reply| send(reply, session))
    }

    fn work(&mut self, session: &mut Line<'_, P, TX>) -> Result<bool, Error<P::Error>> {
        let now = session.now();
        App::work(self, session.server(), now)
            .map_or(Ok(false), |reply| send(reply, session).map(|()| true))
    }

    fn fault(&mut self, _: P::Error, _: &mut Line<'_, P, TX>) -> Result<(), Error<P::Error>> {
        App::fault(self);
        Ok(())
    }
}

fn send<P: Write, const TX: usize>(
    mut reply: Reply<'_>,
    session: &mut Line<'_, P, TX>,
) -> Result<(), Error<P::Error>> {
    session.send(|server, tx| reply.send(server, tx))
}
