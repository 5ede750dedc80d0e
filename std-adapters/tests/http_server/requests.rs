//! Requests on connections: several on one, streams without output, shutdown.

use std::future::ready;
use std::time::Duration;

use mcp_sansio::Change;
use mcp_sansio_adapters::asynchronous::Limits;
use mcp_sansio_adapters::asynchronous::http::{
    AuthorizationError, Credentials, HttpOptions, ProtectedResource,
};

use crate::site::{Site, get, limits, modern, principal, request};

#[test]
fn a_connection_serves_one_request_after_the_other_and_those_that_were_sent_ahead() {
    let site = Site::new();
    let mut client = site.connect();
    for _ in 0..3 {
        client.write(&modern("echo"));
        let answer = client.answer();
        assert_eq!(
            (answer.status, answer.field("content-type"), answer.text().as_str()),
            (200, Some("application/json"), "done")
        );
    }
    client.write(
        &(modern("steps")
            + &modern("echo")
            + &request("GET", "/nowhere", &[], "")
            + &modern("echo")),
    );
    assert_eq!(client.answer().body.matches("notifications/progress").count(), 3);
    assert_eq!(client.answer().text(), "done");
    assert_eq!(client.answer().status, 404);
    assert_eq!(client.answer().text(), "done");
    client.write(&modern("echo").replace("Host:", "Connection: close\r\nHost:"));
    assert_eq!(client.answer().field("connection"), Some("close"));
    assert!(client.is_closed());
}

#[test]
fn a_client_that_expects_100_continue_gets_it_before_the_body() {
    let site = Site::new();
    let request = modern("echo").replace("Host:", "Expect: 100-continue\r\nHost:");
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let mut client = site.begin(&format!("{head}\r\n\r\n"));
    assert_eq!(client.head().status, 100);
    client.write(body);
    assert_eq!(client.answer().text(), "done");
    // The body need not be sent if the head is rejected.
    let mut client = site
        .begin(&format!("{}\r\n\r\n", head.replace("Host: localhost", "Host: evil.example.com")));
    assert_eq!(client.answer().status, 403);
}

#[test]
fn s4_the_response_to_a_head_request_has_no_body() {
    let resource =
        ProtectedResource::new("https://mcp.example.com/mcp", "https://auth.example.com");
    let deny = |credentials: Credentials| {
        ready(credentials.token().map(principal).ok_or_else(AuthorizationError::missing_token))
    };
    let options = || HttpOptions { sse_path: Some("/sse"), ..HttpOptions::new() };
    let guarded = options().protected_resource(resource).authorize(deny);
    let (open, guarded) = (Site::with(options()), Site::with(guarded));
    let metadata = "/.well-known/oauth-protected-resource";
    for (site, target, status) in [
        (&open, "/mcp", 405),
        (&open, "/nothing", 404),
        (&open, "/sse", 405),
        (&open, "http://localhost/mcp", 405),
        (&guarded, "/mcp", 401),
        (&guarded, "/sse", 401),
        (&guarded, metadata, 200),
    ] {
        let mut client = site.connect();
        // The next bytes on the connection are the next response.
        client.write(&(request("HEAD", target, &[], "") + &request("GET", "/nothing", &[], "")));
        let head = client.head();
        assert_eq!(head.status, status, "{target}");
        assert_eq!(client.answer().status, 404, "{target}");
        if !matches!(target, "/sse" | "http://localhost/mcp") {
            let get = site.send(&request("GET", target, &[], ""));
            assert_eq!(
                (get.status, get.field("content-length")),
                (status, head.field("content-length")),
                "{target}"
            );
        }
    }
}

#[test]
fn r3_l3_the_host_beside_an_absolute_url_is_ignored_unless_it_is_none() {
    let site = Site::new();
    let own = modern("echo").replace(" /mcp ", " http://localhost:80/mcp ");
    let with = |host: &str| own.replace("Host: localhost", host);
    for host in ["Host: localhost:1", "Host: evil.example.com"] {
        assert_eq!(site.send(&with(host)).text(), "done", "{host}");
    }
    let twice = "Host: localhost\r\nHost: localhost";
    for host in ["Host: a@localhost", "Host: localhost:x", twice] {
        assert!(matches!(site.send(&with(host)).status, 400 | 403), "{host}");
    }
}

#[test]
fn s7_a_target_may_be_an_absolute_url_of_the_host() {
    let site = Site::with(HttpOptions { sse_path: Some("/sse"), ..HttpOptions::new() });
    let port = site.addresses[0].port();
    let host = format!("localhost:{port}");
    let whole = |request: String| request.replace("Host: localhost", &format!("Host: {host}"));
    let target = format!(" http://{host}/mcp ");
    assert_eq!(site.send(&whole(modern("echo")).replace(" /mcp ", &target)).text(), "done");
    let foreign = modern("echo").replace(" /mcp ", " http://evil.example.com/mcp ");
    assert_eq!(site.send(&foreign).status, 403);
    assert_eq!(
        site.send(&foreign.replace("Host: localhost", "Host: evil.example.com")).status,
        403
    );
    assert_eq!(
        site.send(&whole(modern("echo")).replace(" /mcp ", &format!(" http://{host} "))).status,
        404
    );
    // The HTTP+SSE stream names the path for messages.
    let mut stream = site.stream(&whole(request("GET", &format!("http://{host}/sse"), &[], "")));
    let event = stream.chunk().unwrap();
    let path = event.split_once("data: ").unwrap().1.trim();
    assert!(path.starts_with("/sse?session="), "{event}");
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    assert_eq!(
        site.send(&whole(request("POST", &format!("http://{host}{path}"), &[], ping))).status,
        202
    );
}

#[test]
fn s8_a_time_limit_of_the_longest_duration_never_passes() {
    let options = HttpOptions {
        read_timeout: Duration::MAX,
        keep_alive: Duration::MAX,
        idle_timeout: Duration::MAX,
        retry: Duration::MAX,
        ..HttpOptions::new()
    };
    let site = Site::with(options);
    assert_eq!(site.send(&modern("echo")).text(), "done");
    assert_eq!(site.send(&modern("later")).text(), "kept");
    let session = site.open("2025-11-25");
    assert_eq!(site.call(&session, 2, "steps").status, 200);
    let mut stream = site.stream(&get(&session, &[]));
    site.hub.publish(Change::tools());
    while !stream.chunk().unwrap().contains("tools/list_changed") {}
    let mut refused = site.begin("nonsense\r\n\r\n");
    assert_eq!(refused.answer().status, 400);
    assert!(refused.is_closed());
}

#[test]
fn shutdown_finishes_open_requests_and_closes_idle_connections() {
    let limits = Limits { shutdown_timeout: Duration::from_secs(60), ..limits() };
    let mut site = Site::start(HttpOptions::new(), limits, None);
    let mut idle = site.connect();
    let mut busy = site.stream(&modern("steps"));
    site.shut_down();
    assert!(idle.is_closed());
    let mut rest = String::new();
    while let Some(chunk) = busy.chunk() {
        rest += &chunk;
    }
    assert!(rest.contains("\"done\""), "{rest}");
}
