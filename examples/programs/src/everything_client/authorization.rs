//! The scenarios of authorization: what a client brings to them, and a person without a browser.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;

use mcp_sansio::http::client::Origin;
use mcp_sansio_adapters::asynchronous::client::http::oauth::{
    Browser, OAuth, OAuthClient, OAuthGrant,
};
use mcp_sansio_oauth::{Es256, UrlRules};
use serde_json::Value;

/// Returns how the client logs in to the server at this URL, in this scenario. The suite passes
/// what it has agreed on with the authorization server.
pub(crate) fn oauth(scenario: &str, url: &str) -> io::Result<OAuth> {
    let context: Value = match std::env::var("MCP_CONFORMANCE_CONTEXT") {
        Ok(context) => serde_json::from_str(&context)?,
        Err(_) => Value::Null,
    };
    let given = |name: &str| context[name].as_str().map(str::to_owned);
    // The servers of the suite are on this machine.
    let rules = UrlRules::new().loopback_http(true).inner_addresses(true);
    let mut oauth = OAuth { rules, ..OAuth::new("everything-client").browser(Person) };
    if let Some(id) = given("client_id") {
        let mut client = OAuthClient::new(id);
        client.secret = given("client_secret");
        client.issuer = given("issuer");
        if client.secret.is_some() && client.issuer.is_none() {
            client.issuer = Some(named_issuer(url)?);
        }
        if let Some(pem) = given("private_key_pem") {
            client.key = Some(Arc::new(Es256::from_pkcs8_pem(&pem).map_err(io::Error::other)?));
        }
        oauth.clients.push(client);
    }
    Ok(match scenario {
        "auth/basic-cimd" => {
            oauth.metadata_document = Some(METADATA_DOCUMENT.to_owned());
            oauth
        }
        "auth/client-credentials-basic" | "auth/client-credentials-jwt" => {
            oauth.grant = OAuthGrant::ClientCredentials;
            oauth
        }
        "auth/dpop" | "auth/dpop-nonce" => {
            let key = Es256::from_bytes(&[7; 32]).map_err(io::Error::other)?;
            oauth.dpop = Some(Arc::new(key));
            oauth
        }
        "auth/enterprise-managed-authorization" => {
            let [id, issuer, token_endpoint, token] =
                ["idp_client_id", "idp_issuer", "idp_token_endpoint", "idp_id_token"]
                    .map(|name| given(name).unwrap_or_default());
            let client = OAuthClient::new(id);
            oauth.grant = OAuthGrant::Enterprise { issuer, token_endpoint, client };
            oauth.assertion(move |_, _| std::future::ready(Ok(token.clone())))
        }
        "auth/wif-jwt-bearer" => {
            let token = given("valid_jwt").unwrap_or_default();
            oauth.grant = OAuthGrant::WorkloadIdentity;
            oauth.assertion(move |_, _| std::future::ready(Ok(token.clone())))
        }
        _ => oauth,
    })
}

/// A person who permits everything: the authorization server of the suite redirects at once.
struct Person;

impl Browser for Person {
    fn redirect_uri(&self, _: Option<&str>) -> io::Result<String> {
        Ok("http://127.0.0.1:3000/callback".into())
    }

    async fn show(&self, url: String) -> io::Result<String> {
        smol::unblock(move || redirected(&url)).await
    }
}

/// Returns the issuer that the server names. A program must not do this: whoever runs the server
/// then chooses who gets the secret. Some scenarios have a secret and do not say whose it is.
fn named_issuer(url: &str) -> io::Result<String> {
    let (origin, path) = Origin::parse(url).map_err(io::Error::other)?;
    let response = get(&origin, &format!("/.well-known/oauth-protected-resource{path}"))?;
    let body = response.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let metadata: Value = serde_json::from_str(body)?;
    let issuer = metadata["authorization_servers"][0].as_str().map(str::to_owned);
    issuer.ok_or_else(|| io::Error::other("the server names no authorization server"))
}

/// Returns the query of the redirect, which is not followed.
fn redirected(url: &str) -> io::Result<String> {
    let (origin, target) = Origin::parse(url).map_err(io::Error::other)?;
    let response = get(&origin, target)?;
    let location = response.lines().take_while(|line| !line.is_empty()).find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("location").then_some(value.trim())
    });
    let query = location.and_then(|location| location.split_once('?')).map(|(_, query)| query);
    query.map(str::to_owned).ok_or_else(|| io::Error::other("the page did not redirect"))
}

/// Returns the whole response, whose body is not chunked.
fn get(origin: &Origin<'_>, target: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect((origin.host, origin.port))?;
    let host = origin.authority;
    write!(stream, "GET {target} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n")?;
    let mut response = String::new();
    stream.take(MAX_RESPONSE).read_to_string(&mut response)?;
    Ok(response)
}

/// The suite fixes it, and never fetches it.
const METADATA_DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";
const MAX_RESPONSE: u64 = 1 << 20;
