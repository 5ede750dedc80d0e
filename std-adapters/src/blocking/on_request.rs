//! The handler of an [`App`].

use std::cell::Cell;
use std::panic::resume_unwind;

use mcp_sansio::{Request, ResponseKind, RpcError, ServerEvent, Target};

use super::{App, Context, Error, Handler, RequestContext};
use crate::observer::{Ended, Observation, Observed, Refusal};

pub(super) struct OnRequest<'c, F> {
    pub(super) app: App<'c>,
    pub(super) on_request: F,
    pub(super) observation: Option<Observation<'c>>,
}

impl<F> Handler for OnRequest<'_, F>
where
    F: FnMut(&mut RequestContext<'_, '_>) -> Result<(), Error>,
{
    fn on_event(&mut self, event: ServerEvent<'_>, ctx: &mut Context<'_>) -> Result<(), Error> {
        let Self { app, on_request, observation } = self;
        match (event, observation) {
            (ServerEvent::Request(request), None) => respond(app, on_request, &request, None, ctx),
            (ServerEvent::Request(request), Some(observation)) => {
                let info = observation.began(ctx.server(), &request);
                let (hooks, how) = (observation.hooks, Cell::new(None));
                let observed = Observed { hooks, request: &info, how: &how };
                match hooks.run(&info, || respond(app, on_request, &request, Some(observed), ctx)) {
                    Ok(done) => {
                        observation.responded(ctx.server(), request.handle, how.get());
                        done
                    }
                    Err(panic) => {
                        hooks.panicked(Some(&info), &panic);
                        observation.ended(request.handle, Ended::Panicked);
                        resume_unwind(Box::new(panic.0))
                    }
                }
            }
            (event, Some(observation)) => {
                observation.event(&event);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Responds to a request: by the catalog, or by the function of the application.
fn respond(
    app: &App<'_>,
    on_request: &mut impl FnMut(&mut RequestContext<'_, '_>) -> Result<(), Error>,
    request: &Request<'_>,
    observed: Option<Observed<'_>>,
    ctx: &mut Context<'_>,
) -> Result<(), Error> {
    let target = match app.catalog {
        #[cfg(feature = "derive")]
        Some(catalog) => ctx.respond_from(&catalog.checked_when_read(), request)?,
        #[cfg(not(feature = "derive"))]
        Some(catalog) => ctx.respond_from(catalog, request)?,
        None => Target::Other,
    };
    let refused = |ctx: &mut Context<'_>| match observed {
        Some(observed) if ctx.server().response_kind(request.handle) != ResponseKind::Result => {
            observed.refused(Refusal::InvalidParams);
        }
        _ => {}
    };
    if matches!(target, Target::Responded) {
        refused(ctx);
        return Ok(());
    }
    let mut context = RequestContext {
        request,
        target,
        unread: Cell::new(app.catalog),
        protector: app.protector,
        observed,
        connection: ctx,
    };
    match on_request(&mut context) {
        Ok(()) | Err(Error::InvalidArguments) => {}
        Err(error) => return Err(error),
    }
    if ctx.asking.is_waiting(request.handle) || !ctx.server().is_request_open(request.handle) {
        return Ok(());
    }
    // The function may have got none, because they are invalid.
    if let Some(catalog) = app.catalog
        && matches!(ctx.respond_from(catalog, request)?, Target::Responded)
    {
        refused(ctx);
        return Ok(());
    }
    // Nothing would respond to it later.
    let error = RpcError::internal("The application sent no response");
    ctx.respond_error(request.handle, &error)
}
