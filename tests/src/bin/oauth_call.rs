//! Calls a tool of a protected server once, with a token that it gets as the options say, and
//! prints the text of the result.
//!
//!     oauth-call [OPTION]... URL TOOL [PERSON...]
//!
//! `PERSON` is the command that answers an authorization page. Without it, what needs a person
//! fails.
//!
//! ```text
//! --store DIRECTORY            where tokens and registrations are kept
//! --client ID                  a client that was registered beforehand
//! --issuer ISSUER              where it is registered; needed with a secret
//! --secret SECRET              its secret
//! --key FILE                   its key, ES256 or EdDSA, PKCS#8 in PEM
//! --method NAME                how it authenticates: client_secret_post ..
//! --document URL               the client's metadata document
//! --document-key FILE          the key that the document names
//! --dpop FILE                  the key to which tokens are bound
//! --legacy                     a revision with sessions
//! --credentials                grant client_credentials
//! --workload                   grant jwt-bearer
//! --enterprise ISSUER          the same, with an assertion of this identity provider
//! --assertion FILE             the assertion of the platform, or the person's ID token
//! ```

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::{env, fs};

use mcp_sansio::Era;
use mcp_sansio_adapters::asynchronous::client::http::HttpTransport;
use mcp_sansio_adapters::asynchronous::client::http::oauth::{OAuth, OAuthClient, OAuthGrant};
use mcp_sansio_adapters::store::DirectoryStore;
use mcp_sansio_oauth::{Ed25519, Es256, Signer, TokenEndpointAuth, UrlRules};
use mcp_sansio_tests::login::{Person, call};

/// Reads a key, ES256 or EdDSA.
fn key(path: &str) -> Result<Arc<dyn Signer + Send + Sync>, Box<dyn Error>> {
    let pem = fs::read_to_string(path)?;
    Ok(match Es256::from_pkcs8_pem(&pem) {
        Ok(key) => Arc::new(key),
        Err(_) => Arc::new(Ed25519::from_pkcs8_pem(&pem)?),
    })
}

fn method(name: &str) -> Option<TokenEndpointAuth> {
    use TokenEndpointAuth::{Basic, None, Post, PrivateKeyJwt};
    [None, Basic, Post, PrivateKeyJwt].into_iter().find(|method| method.name() == name)
}

fn run() -> Result<String, Box<dyn Error>> {
    let mut oauth = OAuth::new("oauth-call");
    oauth.rules = UrlRules::new().loopback_http(true);
    let (mut client, mut era) = (None::<OAuthClient>, None);
    let mut arguments = env::args().skip(1);
    let url = loop {
        let option =
            arguments.next().ok_or("usage: oauth-call [OPTION]... URL TOOL [PERSON...]")?;
        match &*option {
            "--credentials" => {
                oauth.grant = OAuthGrant::ClientCredentials;
                continue;
            }
            "--workload" => {
                oauth.grant = OAuthGrant::WorkloadIdentity;
                continue;
            }
            "--legacy" => {
                era = Some(Era::Legacy);
                continue;
            }
            _ if !option.starts_with("--") => break option,
            _ => {}
        }
        let value = arguments.next().ok_or_else(|| format!("{option}: no value"))?;
        let none = || format!("{option}: --client comes first");
        match &*option {
            "--store" => oauth = oauth.store(DirectoryStore::open(value, 1 << 20)?),
            "--client" => client = Some(OAuthClient::new(value)),
            "--issuer" => client.as_mut().ok_or_else(none)?.issuer = Some(value),
            "--secret" => client.as_mut().ok_or_else(none)?.secret = Some(value),
            "--key" => client.as_mut().ok_or_else(none)?.key = Some(key(&value)?),
            "--method" => {
                let method = method(&value).ok_or("no such method")?;
                client.as_mut().ok_or_else(none)?.method = Some(method);
            }
            "--document" => oauth.metadata_document = Some(value),
            "--document-key" => oauth.document_key = Some(key(&value)?),
            "--dpop" => oauth.dpop = Some(key(&value)?),
            "--enterprise" => {
                let (token_endpoint, issuer) = (format!("{value}/token"), value);
                let client = client.clone().ok_or_else(none)?;
                oauth.grant = OAuthGrant::Enterprise { issuer, token_endpoint, client };
            }
            "--assertion" => {
                let assertion = fs::read_to_string(value)?.trim().to_owned();
                oauth = oauth.assertion(move |_, _| {
                    let assertion = assertion.clone();
                    async { Ok(assertion) }
                });
            }
            _ => return Err(format!("no option {option}").into()),
        }
    };
    let tool = arguments.next().ok_or("no tool")?;
    let person: Vec<String> = arguments.collect();
    oauth.clients.extend(client);
    if !person.is_empty() {
        oauth = oauth.browser(Person::new(&person));
    }
    let said = call(HttpTransport::new(&url)?.oauth(oauth), era, &tool)?;
    said.ok_or_else(|| format!("there is no tool {tool}").into())
}

fn main() -> ExitCode {
    match run() {
        Ok(said) => println!("{said}"),
        Err(error) => {
            eprintln!("oauth-call: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
