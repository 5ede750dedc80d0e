//! Logs in to a protected server with the official Rust SDK's client, and calls its tools.
//!
//!     rmcp-login URL PERSON...
//!
//! PERSON is the command that answers an authorization URL, which follows as its last argument.

use std::env;
use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::auth::{AuthClient, AuthorizationManager, AuthorizationRequest, OAuthState};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use tokio::process::Command;
use tokio::time::timeout;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// An address at which nothing listens: the person does not go there.
const REDIRECT: &str = "http://127.0.0.1:9/callback";

/// The SDK asks for `offline_access` only where the program does.
const NOT_OFFERED: &str = "it was given no refresh token";

struct Login {
    url: String,
    person: Vec<String>,
}

impl Login {
    async fn authorized(&self) -> Outcome<AuthorizationManager> {
        let mut oauth = OAuthState::Unauthorized(
            AuthorizationManager::new_allowing_private_addresses(&self.url).await?,
        );
        let request = AuthorizationRequest::new(REDIRECT).with_client_name("interop");
        oauth.start_authorization(request).await?;
        let page = oauth.get_authorization_url().await?;
        let went = Command::new(&self.person[0]).args(&self.person[1..]).arg(page).output().await?;
        oauth.handle_callback_url(String::from_utf8(went.stdout)?.trim()).await?;
        oauth.into_authorization_manager().ok_or_else(|| "not authorized".into())
    }

    /// Connects anew, and calls.
    async fn call(&self, manager: AuthorizationManager, tool: &'static str) -> Outcome<String> {
        let transport = StreamableHttpClientTransport::with_client(
            AuthClient::new(reqwest::Client::new(), manager),
            StreamableHttpClientTransportConfig::with_uri(self.url.as_str()),
        );
        let service = ().serve(transport).await?;
        let result = service.call_tool(CallToolRequestParams::new(tool)).await?;
        service.cancel().await?;
        let text = result.content.first().and_then(|content| content.as_text());
        Ok(text.ok_or("no text")?.text.clone())
    }

    async fn logs_in(&self) -> Outcome {
        is_alice(&self.call(self.authorized().await?, "whoami").await?)
    }

    async fn refreshes(&self) -> Outcome {
        let manager = self.authorized().await?;
        let (_, granted) = manager.get_credentials().await?;
        if serde_json::to_value(granted)?["refresh_token"].is_null() {
            return Err(NOT_OFFERED.into());
        }
        let before = manager.get_access_token().await?;
        manager.refresh_token().await?;
        if manager.get_access_token().await? == before {
            return Err("the token is the same".into());
        }
        is_alice(&self.call(manager, "whoami").await?)
    }
}

fn is_alice(said: &str) -> Outcome {
    said.starts_with("alice: ").then_some(()).ok_or_else(|| said.into())
}

#[tokio::main]
async fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let (Some(url), person @ [_, ..]) = (arguments.next(), &arguments.collect::<Vec<_>>()[..])
    else {
        eprintln!("usage: rmcp-login URL PERSON...");
        return ExitCode::from(2);
    };
    let login = Login { url, person: person.to_vec() };
    let mut code = ExitCode::SUCCESS;
    let limit = Duration::from_secs(30);
    for (name, outcome) in [
        ("logs in", timeout(limit, login.logs_in()).await),
        ("refreshes its token", timeout(limit, login.refreshes()).await),
    ] {
        match outcome.unwrap_or_else(|_| Err("30 s".into())) {
            Ok(()) => println!("PASS rmcp: {name}"),
            Err(error) if error.to_string() == NOT_OFFERED => {
                println!("N/A rmcp: {name} -- {NOT_OFFERED}")
            }
            Err(error) => {
                println!("FAIL rmcp: {name} -- {error:?}");
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}
