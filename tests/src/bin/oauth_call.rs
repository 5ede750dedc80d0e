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
//! --secret SECRET              its secret
//! --key FILE                   its key, PKCS#8 in PEM
//! --method NAME                how it authenticates: client_secret_post ..
//! --document URL               the client's metadata document
//! --document-key FILE          the key that the document names
//! --dpop FILE                  the key to which tokens are bound
//! --legacy                     a revision with sessions
//! --credentials                grant client_credentials
//! --workload FILE              grant jwt-bearer with the assertion in the file
//! ```

use std::error::Error;
use std::process::ExitCode;
use std::{env, fs};

use mcp_sansio::Era;
use mcp_sansio::oauth::{Es256, TokenEndpointAuth, UrlRules};
use mcp_sansio_adapters::asynchronous::client::http::HttpTransport;
use mcp_sansio_adapters::asynchronous::client::http::oauth::{OAuth, OAuthClient};
use mcp_sansio_adapters::store::DirectoryStore;
use mcp_sansio_tests::login::{Person, call};

fn key(path: &str) -> Result<Es256<'static>, Box<dyn Error>> {
    Ok(Es256::from_pkcs8_pem(&fs::read_to_string(path)?)?)
}

fn method(name: &str) -> Option<TokenEndpointAuth> {
    use TokenEndpointAuth::{Basic, None, Post, PrivateKeyJwt};
    [None, Basic, Post, PrivateKeyJwt].into_iter().find(|method| method.name() == name)
}

fn run() -> Result<String, Box<dyn Error>> {
    let mut oauth = OAuth::new("oauth-call").rules(UrlRules::new().loopback_http(true));
    let (mut client, mut era) = (None, None);
    let mut arguments = env::args().skip(1);
    let url = loop {
        let option =
            arguments.next().ok_or("usage: oauth-call [OPTION]... URL TOOL [PERSON...]")?;
        match &*option {
            "--credentials" => {
                oauth = oauth.client_credentials();
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
        let mut of_client = |change: &dyn Fn(OAuthClient) -> OAuthClient| {
            let client: Option<OAuthClient> = client.take();
            client.map(change).ok_or_else(|| format!("{option}: --client comes first"))
        };
        match &*option {
            "--store" => oauth = oauth.store(DirectoryStore::open(value, 1 << 20)?),
            "--client" => client = Some(OAuthClient::new(value)),
            "--secret" => client = Some(of_client(&|client| client.secret(&value))?),
            "--key" => {
                let key = key(&value)?;
                client = Some(of_client(&|client| client.key(key.clone()))?);
            }
            "--method" => {
                let method = method(&value).ok_or("no such method")?;
                client = Some(of_client(&|client| client.method(method))?);
            }
            "--document" => oauth = oauth.metadata_document(value),
            "--document-key" => oauth = oauth.document_key(key(&value)?),
            "--dpop" => oauth = oauth.dpop(key(&value)?),
            "--workload" => {
                let assertion = fs::read_to_string(value)?.trim().to_owned();
                oauth = oauth.workload_identity().assertion(move |_, _| {
                    let assertion = assertion.clone();
                    async { Ok(assertion) }
                });
            }
            _ => return Err(format!("no option {option}").into()),
        }
    };
    let tool = arguments.next().ok_or("no tool")?;
    let person: Vec<String> = arguments.collect();
    if let Some(client) = client {
        oauth = oauth.client(client);
    }
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
