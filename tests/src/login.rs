//! Logging in to a protected server, and calling its tools.

use std::error::Error;
use std::io;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_sansio::types::{CallToolResult, ContentBlock, Implementation};
use mcp_sansio::{ClientConfig, ClientFeatures, Era, RawJson};
use mcp_sansio_adapters::asynchronous::client::http::HttpTransport;
use mcp_sansio_adapters::asynchronous::client::http::oauth::Browser;
use mcp_sansio_adapters::blocking::client::{BlockingHttpTransport, Connector};

static CONFIG: ClientConfig<'_> =
    ClientConfig::new(Implementation::new("login-client", "1"), ClientFeatures::NONE)
        .call_timeout(Duration::from_secs(30));

/// A command that answers an authorization page, whose URL follows as its last argument, and prints
/// where the browser is sent then.
#[derive(Clone)]
pub struct Person {
    command: Arc<[String]>,
    asked: Arc<AtomicUsize>,
}

impl Person {
    /// Creates a person who was not asked yet.
    pub fn new(command: &[String]) -> Self {
        Self { command: command.into(), asked: Arc::default() }
    }

    /// Returns the number of pages that the person was shown.
    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

impl Browser for Person {
    /// Where nothing listens: the person does not go there.
    fn redirect_uri(&self, _last: Option<&str>) -> io::Result<String> {
        Ok("http://127.0.0.1:9/callback".to_owned())
    }

    async fn show(&self, page: String) -> io::Result<String> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let output = Command::new(&self.command[0]).args(&self.command[1..]).arg(page).output()?;
        let sent = String::from_utf8_lossy(&output.stdout);
        let query = sent.trim().split_once('?').map(|(_, query)| query.to_owned());
        query.ok_or_else(|| io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()))
    }
}

/// Calls a tool on a connection of its own, and returns its text; `None` without such a tool.
pub fn call(
    transport: HttpTransport,
    era: Option<Era>,
    tool: &str,
) -> Result<Option<String>, Box<dyn Error>> {
    let connector = Connector::new(&CONFIG).era(era);
    let mut client = connector.connect(BlockingHttpTransport::new(transport))?;
    let mut is_there = false;
    for offered in client.list_tools()?.iter() {
        is_there |= offered?.name == tool;
    }
    let mut said = None;
    if is_there {
        let result = client.call_tool(tool, &RawJson::from_static("{}"))?;
        for block in result.to::<CallToolResult<'_>>()?.content {
            if let ContentBlock::Text(text) = block? {
                said = Some(text.text.to_string());
            }
        }
    }
    client.close()?;
    Ok(said)
}
