//! The tools of the component.

use std::time::Duration;

use mcp_sansio::typed::Tools;
use mcp_sansio::types::Implementation;
use mcp_sansio::{
    Catalog, CatalogResponse, Instant, NoOutput, Progress, Request, ServerConfig, Target,
    ToolOutput,
};
use mcp_sansio_engine::site::{Site, SiteRequest, SiteTurn};

pub(crate) static CONFIG: ServerConfig =
    ServerConfig::new(Implementation::new("wasi-server", "0.1.0"), CATALOG.features());
static CATALOG: Catalog = Catalog::new().tools_of::<Call>();

#[derive(Tools)]
enum Call {
    /// Echoes the text
    #[tool(read_only)]
    Echo { text: String },
    /// Adds two numbers
    #[tool(read_only)]
    Add { a: f64, b: f64 },
    /// Counts down, with progress at each step
    #[tool(read_only)]
    CountDown {
        #[arg(range = 1..=100)]
        from: u32,
        /// Milliseconds between two steps
        #[arg(range = 1..=1000, default = 100)]
        pause: u32,
    },
}

/// Response to a request.
pub(crate) type Reply = Result<ToolOutput<'static, NoOutput>, CatalogResponse<'static>>;

/// A countdown that goes on.
pub(crate) struct CountDown {
    request: SiteRequest,
    from: u32,
    left: u32,
    pause: Duration,
    /// The time of the next step.
    pub(crate) due: Instant,
}

/// Answers a request, or returns the countdown that will.
pub(crate) fn begin(request: &Request<'_>, turn: &mut SiteTurn<'_, Reply>) -> Option<CountDown> {
    let call = match CATALOG.target(request) {
        Ok(Target::Tool(_)) => Call::from_request(request),
        _ => None,
    };
    let reply = match call {
        Some(Ok(Call::Echo { text })) => Ok(text.into()),
        Some(Ok(Call::Add { a, b })) => Ok((a + b).to_string().into()),
        Some(Ok(Call::CountDown { from, pause })) => {
            let (request, due) = (turn.request_key(request.handle), turn.now());
            let pause = Duration::from_millis(pause.into());
            return Some(CountDown { request, from, left: from, pause, due });
        }
        // Lists, unknown names, and arguments that are not valid.
        _ => Err(CATALOG.response(request)),
    };
    turn.answer(request.handle, reply);
    None
}

impl CountDown {
    /// Takes the step that is due. Returns whether more follow.
    pub(crate) fn step(&mut self, site: &mut Site<'_, Reply>, now: Instant) -> bool {
        if self.left == 0 {
            site.answer(self.request, Ok("Lift-off".into()));
            return false;
        }
        let Some(mut turn) = site.turn(now, self.request.server) else { return false };
        let progress = Progress::of(self.from - self.left).total(self.from);
        let (mut server, tx) = turn.parts(self.request.request);
        // Without room, the next step says more.
        let _ = server.progress(now, self.request.request, &progress, tx);
        (self.left, self.due) = (self.left - 1, now.saturating_add(self.pause));
        true
    }
}
