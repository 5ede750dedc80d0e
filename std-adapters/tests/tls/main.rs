//! HTTPS: a real client and server on a loopback socket, with certificates of an own authority.

#[path = "../asynchronous/door.rs"]
mod door;
mod server;

use std::future::Future;
use std::io;

use futures_lite::future;
use mcp_sansio::types::{CallToolParams, Implementation};
use mcp_sansio::{CallOptions, ClientConfig, ClientFeatures};
use mcp_sansio_adapters::asynchronous::client::Connector;
use mcp_sansio_adapters::asynchronous::client::http::{
    BoxedStream, Connect, Dial, HttpTransport, Tls,
};

use server::{Authority, Server, trusting};

static CLIENT: ClientConfig<'_> =
    ClientConfig::new(Implementation::new("client", "1"), ClientFeatures::NONE);

/// Calls a tool. Returns the result, or the error of the connection.
async fn call(url: String, connector: impl Connect) -> Result<String, String> {
    call_over(HttpTransport::with_connector(&url, connector).unwrap()).await
}

async fn call_over(http: HttpTransport) -> Result<String, String> {
    let (client, connection) = Connector::new(&CLIENT).connect(http);
    let work = async move {
        let greet = CallToolParams::new("greet");
        let result = client.request("tools/call", &greet, CallOptions::new()).await;
        result.map(|result| result.as_json().as_str().to_owned()).map_err(|error| error.to_string())
    };
    match future::zip(work, connection).await {
        (Ok(result), _) if result.contains("Hello over TLS") => Ok("Hello over TLS".to_owned()),
        (_, Err(why)) => Err(why.to_string()),
        (result, _) => result,
    }
}

/// Connections of a client that trusts this authority.
fn trusts(authority: &Authority) -> Tls {
    Tls::with_config(trusting(authority).with_no_client_auth())
}

/// Runs the work in both runtimes.
fn in_both<F: Future<Output = Result<String, String>>>(work: impl Fn() -> F) -> [F::Output; 2] {
    [
        smol::block_on(work()),
        #[cfg(feature = "tokio")]
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
            .block_on(work()),
        #[cfg(not(feature = "tokio"))]
        smol::block_on(work()),
    ]
}

/// Returns the error of a client that trusts the authority.
fn error(server: &Server, authority: &Authority, host: &str) -> String {
    let [smol, tokio] = in_both(|| call(server.url(host), trusts(authority)));
    assert_eq!(smol, tokio);
    smol.expect_err("the certificate is not accepted")
}

#[test]
fn a_server_with_a_good_certificate_is_called_in_both_runtimes() {
    let authority = Authority::new();
    let server = Server::start(authority.issue(&["localhost", "127.0.0.1"]), &["h2", "http/1.1"]);
    for host in ["localhost", "127.0.0.1"] {
        for result in in_both(|| call(server.url(host), trusts(&authority))) {
            assert_eq!(result.as_deref(), Ok("Hello over TLS"));
        }
    }
    // Of the two protocols that the server offers, the client speaks one.
    assert!(server.protocols().iter().all(|protocol| protocol == "http/1.1"));
    // A server that knows no ALPN is as good.
    let server = Server::start(authority.issue(&["localhost"]), &[]);
    let result = smol::block_on(call(server.url("localhost"), trusts(&authority)));
    assert_eq!(result.as_deref(), Ok("Hello over TLS"));
}

#[test]
fn what_is_wrong_with_a_server_is_reported() {
    let authority = Authority::new();
    let localhost = |from, until| authority.issue_for(&["localhost"], from, until);
    let other_host = [
        "certificate of localhost is not accepted: it is for another host",
        "other.example",
        "check the URL",
    ];
    for (identity, protocol, said) in [
        (localhost(2020, 2999), "h2", &["does not support HTTP/1.1: enable it there"][..]),
        (authority.issue(&["other.example"]), "http/1.1", &other_host),
        (localhost(2001, 2002), "http/1.1", &["it has expired", "to renew it"]),
        (localhost(2998, 2999), "http/1.1", &["not valid yet; the clock"]),
    ] {
        let error = error(&Server::start(identity, &[protocol]), &authority, "localhost");
        assert!(said.iter().all(|said| error.contains(said)), "{error}");
    }
}

#[test]
fn a_certificate_of_an_unknown_authority_is_not_accepted() {
    let (authority, other) = (Authority::new(), Authority::new());
    let server = Server::start(other.issue(&["localhost"]), &["http/1.1"]);
    let unknown = error(&server, &authority, "localhost");
    assert!(unknown.contains("its issuer is unknown; if you trust it, install"), "{unknown}");
    // Nor is one that is trusted by this computer, unless the authority is installed in it.
    let result = smol::block_on(call(server.url("localhost"), Tls::new()));
    let unknown = result.expect_err("the authority is not installed");
    assert!(unknown.contains("issuer") || unknown.contains("CA certificates"), "{unknown}");
    assert!(server.protocols().is_empty(), "a handshake has succeeded");
}

#[test]
fn a_server_without_tls_is_told_apart() {
    let server = Server::without_tls();
    let authority = Authority::new();
    let error = error(&server, &authority, "localhost");
    assert!(error.contains("may have to start with http://"), "{error}");
    // One connector serves both kinds of URLs.
    let url = server.url("localhost").replace("https", "http");
    let result = smol::block_on(call(url, trusts(&authority)));
    assert_eq!(result.as_deref(), Ok("Hello over TLS"));
}

#[test]
fn the_connections_below_can_be_of_any_kind() {
    let authority = Authority::new();
    let server = Server::start(authority.issue(&["mcp.example"]), &["http/1.1"]);
    let port = server.port;
    let below = move |dial: Dial| async move {
        assert!(!dial.is_secure && dial.host == "mcp.example");
        let tcp = smol::Async::<std::net::TcpStream>::connect(([127, 0, 0, 1], port)).await?;
        io::Result::Ok(Box::new(tcp) as BoxedStream)
    };
    let tls = trusts(&authority).over(below);
    let result = smol::block_on(call("https://mcp.example/mcp".to_owned(), tls));
    assert_eq!(result.as_deref(), Ok("Hello over TLS"));
}

#[test]
fn a_server_can_require_a_certificate_of_the_client() {
    let authority = Authority::new();
    let server = Server::for_certified_clients(authority.issue(&["localhost"]), &authority);
    let error = error(&server, &authority, "localhost");
    assert!(error.contains("CertificateRequired"), "{error}");
    let (chain, key) = authority.issue(&["client"]);
    let certified = trusting(&authority).with_client_auth_cert(chain, key).unwrap();
    let certified = Tls::with_config(certified);
    let result = smol::block_on(call(server.url("localhost"), certified));
    assert_eq!(result.as_deref(), Ok("Hello over TLS"));
}

/// The URL that a process is to call.
const URL: &str = "TLS_URL";

#[test]
#[ignore = "is a process that another test starts"]
fn child() {
    let http = HttpTransport::new(&std::env::var(URL).unwrap()).unwrap();
    assert_eq!(smol::block_on(call_over(http)).as_deref(), Ok("Hello over TLS"));
}

/// Of macOS and Windows the authorities cannot be replaced.
#[cfg(all(unix, not(target_vendor = "apple")))]
#[test]
fn the_authorities_of_the_operating_system_are_trusted() {
    let (installed, other) = (Authority::new(), Authority::new());
    let server = Server::start(installed.issue(&["localhost"]), &["http/1.1"]);
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = file.join(format!("authorities-{}.pem", std::process::id()));
    for (authority, is_trusted) in [(&installed, true), (&other, false)] {
        std::fs::write(&file, authority.pem()).unwrap();
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child", "--ignored"])
            .env(URL, server.url("localhost"))
            .env("SSL_CERT_FILE", &file)
            .env_remove("SSL_CERT_DIR")
            .output()
            .unwrap();
        assert_eq!(child.status.success(), is_trusted, "{child:?}");
        let said = String::from_utf8_lossy(&child.stdout).contains("its issuer is unknown");
        assert_eq!(said, !is_trusted, "{child:?}");
    }
    std::fs::remove_file(file).unwrap();
}
