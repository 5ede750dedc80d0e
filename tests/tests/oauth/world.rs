//! A resource server and an authorization server for the machine, without I/O and with a clock that
//! stands still.

use std::collections::VecDeque;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use mcp_sansio_oauth::form::pairs;
use mcp_sansio_oauth::{Grant, IdentityProvider, Lost, RegisteredClient, Setup};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The URL of the MCP server.
pub(crate) const ENDPOINT: &str = "https://mcp.test/mcp";
/// The issuer of the authorization server.
pub(crate) const ISSUER: &str = "https://as.test";
/// The redirect URI of the client.
pub(crate) const REDIRECT: &str = "http://127.0.0.1:4711/callback";

/// Where the documents and endpoints of both servers are.
pub(crate) const RESOURCE: &str = "https://mcp.test/.well-known/oauth-protected-resource/mcp";
pub(crate) const SERVER: &str = "https://as.test/.well-known/oauth-authorization-server";
pub(crate) const REGISTER: &str = "https://as.test/register";
pub(crate) const TOKEN: &str = "https://as.test/token";

pub(crate) const SETUP: Setup<'_> = Setup::new(ENDPOINT, "Test");
/// A client that was registered beforehand.
pub(crate) const SECRET: RegisteredClient<'_> = RegisteredClient {
    secret: Some("client-secret"),
    issuer: Some(ISSUER),
    ..RegisteredClient::new("id")
};

/// A client that gets tokens for itself.
pub(crate) const SERVICE: Setup<'_> =
    Setup { grant: Grant::ClientCredentials, clients: &[SECRET], ..SETUP };

/// The identity provider of an organization.
pub(crate) const PROVIDER: IdentityProvider<'_> = IdentityProvider::new(
    "https://idp.test",
    "https://idp.test/oauth/token",
    RegisteredClient {
        secret: Some("provider-secret"),
        ..RegisteredClient::new("at-the-provider")
    },
);

/// The answer of a server.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, fields: Vec::new(), body: body.into() }
    }

    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::new(status, body.to_string())
    }

    pub(crate) fn error(status: u16, code: &str) -> Self {
        Self::json(status, &json!({"error": code}))
    }

    /// A status with a field `WWW-Authenticate`.
    pub(crate) fn challenge(status: u16, challenge: &str) -> Self {
        Self::new(status, "").field("www-authenticate", challenge)
    }

    /// A 403 that names the scope which is missing.
    pub(crate) fn needs(scope: &str) -> Self {
        Self::challenge(403, &format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\""))
    }

    /// The fields for the machine.
    pub(crate) fn borrowed(&self) -> Vec<(&str, &str)> {
        self.fields.iter().map(|(name, value)| (&name[..], &value[..])).collect()
    }

    pub(crate) fn field(mut self, name: &str, value: &str) -> Self {
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// A request as a server sees it.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Asked {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(other, _)| other == name).map(|(_, value)| &value[..])
    }

    /// Returns a member of the form, or of the query of a URL for a person.
    pub(crate) fn form(&self, name: &str) -> Option<String> {
        form(&self.body, name)
    }
}

/// Returns a value of a form.
pub(crate) fn form(body: &str, name: &str) -> Option<String> {
    let mut found = pairs(body).filter(|(other, _)| *other == *name);
    let value = found.next().map(|(_, value)| value.to_string());
    assert!(found.next().is_none(), "{name} twice in {body}");
    value
}

/// Makes another query of one.
type ChangeQuery = Box<dyn Fn(&str) -> String>;

/// Both servers. What they answer is changed by tests: the documents, and answers put in front.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) now: u64,
    random: u64,
    /// Documents by URL; all other URLs are 404.
    pub(crate) documents: Vec<(String, Value)>,
    /// Answers that come before those of the servers, for URLs that begin like this.
    pub(crate) queued: VecDeque<(String, Answer)>,
    /// Requests that get no answer, for URLs that begin like this, in this order.
    pub(crate) lost: Vec<(&'static str, Lost)>,
    /// The field `WWW-Authenticate` of a 401.
    pub(crate) challenge: String,
    /// The scope that the MCP server demands.
    pub(crate) needs: &'static str,
    /// The access tokens that the MCP server takes, with their scope.
    pub(crate) valid: Vec<(String, String)>,
    /// The refresh token that is good.
    pub(crate) refresh: Option<String>,
    /// Whether tokens come with a refresh token.
    pub(crate) gives_refresh: bool,
    pub(crate) token_type: &'static str,
    /// The scope that token responses say, if it is another than the one that was asked for.
    pub(crate) grants: Option<&'static str>,
    /// Scope of the last assertion of the identity provider.
    assertion_scope: String,
    pub(crate) expires_in: Option<u64>,
    /// Makes another query of the one with which the browser returns.
    pub(crate) redirect: Option<ChangeQuery>,
    /// The answer of a registration without its id.
    pub(crate) registration: Value,
    /// Clients that were registered.
    pub(crate) clients: u32,
    tokens: u32,
    /// The open authorization requests: code, challenge, redirect URI, scope, client.
    codes: Vec<[String; 5]>,
    pub(crate) asked: Vec<Asked>,
    pub(crate) shown: Vec<String>,
}

impl World {
    pub(crate) fn new() -> Self {
        let documents = vec![
            (RESOURCE.to_owned(), json!({"resource": ENDPOINT, "authorization_servers": [ISSUER]})),
            (SERVER.to_owned(), server_metadata(ISSUER)),
        ];
        Self {
            now: 1_800_000_000,
            random: 1,
            documents,
            challenge: "Bearer".to_owned(),
            gives_refresh: true,
            token_type: "bearer",
            expires_in: Some(3600),
            registration: json!({}),
            ..Self::default()
        }
    }

    /// Changes a document, or removes it.
    pub(crate) fn document(&mut self, url: &str) -> &mut Value {
        if !self.documents.iter().any(|(other, _)| other == url) {
            self.documents.push((url.to_owned(), json!({})));
        }
        let found = self.documents.iter_mut().find(|(other, _)| other == url);
        &mut found.unwrap().1
    }

    pub(crate) fn resource(&mut self) -> &mut Value {
        self.document(RESOURCE)
    }

    pub(crate) fn server(&mut self) -> &mut Value {
        self.document(SERVER)
    }

    /// Adds an authorization server, and returns its metadata.
    pub(crate) fn add_server(&mut self, issuer: &str) -> &mut Value {
        let metadata = self.document(&format!("{issuer}/.well-known/oauth-authorization-server"));
        *metadata = server_metadata(issuer);
        metadata
    }

    /// Adds an authorization server, and lets the resource name it alone.
    pub(crate) fn move_to(&mut self, issuer: &str) {
        self.add_server(issuer);
        self.resource()["authorization_servers"] = json!([issuer]);
    }

    /// Ends all tokens.
    pub(crate) fn end_tokens(&mut self) {
        self.valid.clear();
        self.refresh = None;
    }

    /// Returns the requests for URLs that end like this.
    pub(crate) fn requests(&self, end: &str) -> Vec<&Asked> {
        self.asked.iter().filter(|asked| asked.url.ends_with(end)).collect()
    }

    /// Lets the next request for a URL that begins like this have another answer.
    pub(crate) fn answer_next(&mut self, url: &str, answer: Answer) {
        self.queued.push_back((url.to_owned(), answer));
    }

    /// Lets the next requests for URLs that begin like this have other answers.
    pub(crate) fn answer_each(&mut self, url: &str, answers: impl IntoIterator<Item = Answer>) {
        answers.into_iter().for_each(|answer| self.answer_next(url, answer));
    }

    /// Returns a parameter of the n-th page that the person was shown.
    pub(crate) fn page(&self, n: usize, name: &str) -> Option<String> {
        form(self.shown[n].split_once('?').unwrap().1, name)
    }

    /// Fills memory with bytes that are the same in each run.
    pub(crate) fn random(&mut self, out: &mut [u8]) {
        for byte in out {
            self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *byte = (self.random >> 56) as u8;
        }
    }

    pub(crate) fn answer(&mut self, asked: Asked) -> Answer {
        let queued = self.queued.iter().position(|(url, _)| asked.url.starts_with(url.as_str()));
        let answer = match queued {
            Some(at) => self.queued.remove(at).unwrap().1,
            None if asked.url == ENDPOINT => self.mcp(&asked),
            None if asked.url.ends_with("/register") => self.register(&asked),
            None if asked.url.ends_with("/token") => self.token(&asked),
            None => {
                let found = self.documents.iter().find(|(url, _)| *url == asked.url);
                found.map_or(Answer::new(404, "<html>"), |(_, json)| Answer::json(200, json))
            }
        };
        self.asked.push(asked);
        answer
    }

    fn mcp(&self, asked: &Asked) -> Answer {
        let token = asked.field("authorization").and_then(|field| {
            let token = field.strip_prefix("Bearer ").or_else(|| field.strip_prefix("DPoP "));
            self.valid.iter().find(|(valid, _)| Some(&valid[..]) == token)
        });
        let Some((_, scope)) = token else {
            return Answer::challenge(401, &self.challenge);
        };
        let has = |needed: &str| scope.split(' ').any(|other| other == needed);
        if self.needs.split_whitespace().all(has) {
            return Answer::new(200, "");
        }
        Answer::needs(self.needs)
    }

    fn register(&mut self, asked: &Asked) -> Answer {
        let body: Value = serde_json::from_str(&asked.body).unwrap();
        assert_eq!(asked.field("content-type"), Some("application/json"));
        assert!(body["redirect_uris"][0].is_string() && body["client_name"].is_string());
        self.clients += 1;
        let mut answer = self.registration.clone();
        answer["client_id"] = format!("client-{}", self.clients).into();
        Answer::json(201, &answer)
    }

    /// Returns the query with which the browser comes back: the person agrees.
    pub(crate) fn agree(&mut self, url: &str) -> String {
        self.shown.push(url.to_owned());
        let (_, query) = url.split_once('?').unwrap();
        let get = |name| form(query, name).unwrap_or_default();
        let expected = ("code".into(), "S256".into());
        assert_eq!((get("response_type"), get("code_challenge_method")), expected);
        let code = format!("code-{}", self.shown.len());
        self.codes.push([
            code.clone(),
            get("code_challenge"),
            get("redirect_uri"),
            get("scope"),
            get("client_id"),
        ]);
        let query = format!("code={code}&state={}", get("state"));
        self.redirect.as_ref().map_or_else(|| query.clone(), |change| change(&query))
    }

    fn token(&mut self, asked: &Asked) -> Answer {
        let get = |name| asked.form(name);
        assert_eq!(asked.field("content-type"), Some("application/x-www-form-urlencoded"));
        let scope = match get("grant_type").as_deref() {
            Some("authorization_code") => {
                let code = get("code").unwrap();
                let Some(at) = self.codes.iter().position(|known| known[0] == code) else {
                    return Answer::error(400, "invalid_grant");
                };
                let [_, challenge, redirect, scope, client] = self.codes.remove(at);
                let digest = Sha256::digest(get("code_verifier").unwrap().as_bytes());
                let mut decoded = [0; 40];
                let len = URL_SAFE_NO_PAD.decode_slice(challenge, &mut decoded).unwrap();
                assert_eq!(decoded[..len], digest[..]);
                assert_eq!(get("redirect_uri").unwrap(), redirect);
                assert_eq!(client_of(asked).0, client);
                scope
            }
            Some("refresh_token") => {
                if self.refresh.is_none() || get("refresh_token") != self.refresh {
                    return Answer::error(400, "invalid_grant");
                }
                String::new()
            }
            Some("client_credentials") => get("scope").unwrap_or_default(),
            Some(JWT_BEARER) => get("scope").unwrap_or_else(|| self.assertion_scope.clone()),
            Some(TOKEN_EXCHANGE) => {
                self.assertion_scope = get("scope").unwrap_or_default();
                return Answer::json(200, &id_jag());
            }
            _ => return Answer::error(400, "unsupported_grant_type"),
        };
        assert!(get("resource").is_some());
        self.give(&scope)
    }

    /// Makes out new tokens. Older refresh tokens end.
    pub(crate) fn give(&mut self, scope: &str) -> Answer {
        self.tokens += 1;
        let access = format!("access-secret-{}", self.tokens);
        self.valid.push((access.clone(), self.grants.unwrap_or(scope).to_owned()));
        let mut answer = json!({"access_token": access, "token_type": self.token_type});
        if let Some(scope) = self.grants {
            answer["scope"] = scope.into();
        }
        if let Some(expires_in) = self.expires_in {
            answer["expires_in"] = expires_in.into();
        }
        if self.gives_refresh {
            let refresh = format!("refresh-secret-{}", self.tokens);
            answer["refresh_token"] = refresh.clone().into();
            self.refresh = Some(refresh);
        }
        Answer::json(200, &answer)
    }
}

/// Returns how the client has authenticated: its id and secret.
pub(crate) fn client_of(asked: &Asked) -> (String, Option<String>) {
    let Some(basic) = asked.field("authorization") else {
        return (asked.form("client_id").unwrap(), asked.form("client_secret"));
    };
    assert_eq!(asked.form("client_id"), None, "two ways at once");
    let mut decoded = [0; 200];
    let len = STANDARD.decode_slice(basic.strip_prefix("Basic ").unwrap(), &mut decoded).unwrap();
    let basic = str::from_utf8(&decoded[..len]).unwrap();
    let (id, secret) = basic.split_once(':').unwrap();
    let decoded = |text| form(&format!("x={text}"), "x").unwrap();
    (decoded(id), Some(decoded(secret)))
}

/// Returns the answer of an identity provider.
pub(crate) fn id_jag() -> Value {
    json!({
        "access_token": "jag-secret",
        "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag",
        "token_type": "N_A",
    })
}

pub(crate) fn server_metadata(issuer: &str) -> Value {
    json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
        "registration_endpoint": format!("{issuer}/register"),
        "code_challenge_methods_supported": ["S256"],
    })
}

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
