//! `protected-server` with tokens of an authorization server of our own.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{Ed25519KeyPair, KeyPair as _};

/// An authorization server: its metadata and its keys.
struct Issuer {
    url: String,
    key: Ed25519KeyPair,
}

impl Issuer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let key = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
        let x = URL_SAFE_NO_PAD.encode(key.public_key());
        let keys = format!(r#"{{"keys":[{{"kty":"OKP","crv":"Ed25519","x":"{x}"}}]}}"#);
        let metadata = format!(r#"{{"issuer":"{url}","jwks_uri":"{url}/jwks"}}"#);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut line = String::new();
                BufReader::new(&stream).read_line(&mut line).unwrap();
                let body = if line.contains("/jwks") { &keys } else { &metadata };
                let length = body.len();
                write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}")
                    .unwrap();
                // Reads to the end, so that closing does not reset the connection.
                let _ = stream.shutdown(std::net::Shutdown::Write);
                let _ = stream.read_to_end(&mut Vec::new());
            }
        });
        Self { url, key }
    }

    fn token(&self, audience: &str, subject: &str, scope: &str) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let (header, exp) = (r#"{"alg":"EdDSA","typ":"at+jwt"}"#, now + 60);
        let claims = format!(
            r#"{{"iss":"{}","aud":"{audience}","sub":"{subject}","scope":"{scope}","exp":{exp}}}"#,
            self.url
        );
        let signed = [header, &claims].map(|part| URL_SAFE_NO_PAD.encode(part)).join(".");
        let signature = URL_SAFE_NO_PAD.encode(self.key.sign(signed.as_bytes()));
        format!("{signed}.{signature}")
    }
}

struct Server {
    process: Child,
    resource: String,
}

impl Server {
    fn start(issuer: &str) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_protected-server"))
            .args(["127.0.0.1:0", issuer])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let resource = line.trim().rsplit(' ').next().unwrap_or_default().to_owned();
        assert!(resource.starts_with("http://"), "{line}");
        Self { process, resource }
    }

    /// Calls a tool. Returns the response, with its head.
    fn call(&self, token: Option<&str>, tool: &str, arguments: &str) -> String {
        let host = self.resource.trim_start_matches("http://").trim_end_matches("/mcp");
        let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},"_meta":{meta}}}}}"#
        );
        let token = token.map(|token| format!("Authorization: Bearer {token}\r\n"));
        let mut stream = TcpStream::connect(host).unwrap();
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
             Mcp-Method: tools/call\r\nMcp-Name: {tool}\r\n{}Content-Length: {}\r\n\r\n{body}",
            token.unwrap_or_default(),
            body.len()
        )
        .unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn auth_14_auth_144_a_diary_is_read_and_written_by_its_owner_alone() {
    let issuer = Issuer::start();
    let server = Server::start(&issuer.url);
    let token = |subject, scope| issuer.token(&server.resource, subject, scope);
    let (ada, otto) = (token("ada", "diary:read diary:write"), token("otto", "diary:read"));
    let text = r#"{"text":"Dear diary"}"#;
    let expect = |token: Option<&str>, tool, arguments, status: &str, part: &str| {
        let response = server.call(token, tool, arguments);
        assert!(response.starts_with(&format!("HTTP/1.1 {status}")), "{response}");
        assert!(response.contains(part), "{part}: {response}");
    };
    let metadata = "/.well-known/oauth-protected-resource/mcp\"";
    expect(None, "read", "{}", "401", metadata);
    expect(Some(&ada), "write", text, "200", "Dear diary");
    expect(Some(&ada), "read", "{}", "200", "Dear diary");
    expect(Some(&otto), "read", "{}", "200", r#""text":"""#);
    let insufficient = "error=\"insufficient_scope\"";
    expect(Some(&otto), "write", text, "403", insufficient);
    let elsewhere = issuer.token("http://127.0.0.1/mcp", "ada", "diary:read");
    expect(Some(&elsewhere), "read", "{}", "401", "the token was issued for another server");
    expect(Some(&format!("{ada}x")), "read", "{}", "401", "error=\"invalid_token\"");
}

#[test]
fn auth_156_without_an_authorization_server_it_does_not_start() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_protected-server"))
        .args(["127.0.0.1:0", &format!("http://{free}")])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains("/.well-known/"), "{text}");
}
