//! Notifications of servers: changes, log messages, others.

use std::sync::{Arc, Mutex};

use futures_lite::{StreamExt, future};
use mcp_sansio::types::{Implementation, LoggingLevel, SubscriptionFilter, Text};
use mcp_sansio::{
    CallOptions, Change as Published, Changed, ClientConfig, ClientEvent, ClientFeatures,
    LogMessage, RequestHandle, ServerEvent,
};
use mcp_sansio_adapters::asynchronous::client::{CallError, Change, ConnectionEnd, Connector};

use crate::pipe::pipe;
use crate::script::{Session, call, echo, play, run, serve, tool};
use crate::{CLIENT, LEGACY, MODERN};

const URIS: [Text<'_>; 1] = [Text::new("test://r")];
const ALL: SubscriptionFilter<'_> = SubscriptionFilter::new()
    .tools_list_changed(true)
    .resources_list_changed(true)
    .resource_subscriptions(&URIS);

/// A server that changes the list that a call names.
fn script(listen: &Mutex<Option<RequestHandle>>) -> impl FnMut(&ServerEvent<'_>, &mut Session) {
    move |event, session| match event {
        ServerEvent::Listening { request } => *listen.lock().unwrap() = Some(*request),
        ServerEvent::RequestCancelled { request, .. } => {
            let mut listen = listen.lock().unwrap();
            assert_eq!(*listen, Some(*request));
            *listen = None;
        }
        ServerEvent::Request(request) => {
            let mut publish = |mut change: Published<'_>| {
                while session.server.publish(&mut change, &mut session.tx).unwrap().is_more() {}
            };
            match tool(request).as_str() {
                "tools" => publish(Published::tools()),
                "prompts" => publish(Published::prompts()),
                "resources" => publish(Published::resources()),
                "resource" => publish(Published::resource("test://r")),
                "end" => {
                    let listen = listen.lock().unwrap().unwrap();
                    while session.server.end_listen(listen, &mut session.tx).unwrap().is_more() {}
                }
                _ => {}
            }
            session.text(request.handle, "done");
        }
        _ => {}
    }
}

#[test]
fn a_listen_is_a_stream_of_changes_in_both_eras() {
    for config in [&MODERN, &LEGACY] {
        let listen = Mutex::default();
        play(Connector::new(&CLIENT), config, script(&listen), async |client| {
            let mut listening = client.listen(&ALL, CallOptions::new()).await.unwrap();
            let mut told = Vec::new();
            for change in ["tools", "prompts", "resources", "resource"] {
                call(&client, change).await.unwrap();
                // Changes of prompts are not subscribed to.
                if change != "prompts" {
                    told.push(listening.next().await.unwrap());
                }
            }
            assert_eq!(
                told,
                [Change::Tools, Change::Resources, Change::Resource("test://r".into())]
            );
        });
    }
}

#[test]
fn repeated_changes_are_reported_once() {
    for config in [&MODERN, &LEGACY] {
        let listen = Mutex::default();
        play(Connector::new(&CLIENT), config, script(&listen), async |client| {
            let mut listening = client.listen(&ALL, CallOptions::new()).await.unwrap();
            for change in ["tools", "resource", "tools", "resource", "tools"] {
                call(&client, change).await.unwrap();
            }
            client.close();
            let told: Vec<_> = (&mut listening).collect().await;
            assert_eq!(told, [Change::Tools, Change::Resource("test://r".into())]);
            assert!(matches!(listening.error(), Some(CallError::Closed)));
        });
    }
}

#[test]
fn a_listen_that_is_dropped_is_cancelled() {
    let listen = Mutex::default();
    play(Connector::new(&CLIENT), &MODERN, script(&listen), async |client| {
        let listening = client.listen(&ALL, CallOptions::new()).await.unwrap();
        assert!(listening.acknowledged().get("toolsListChanged").is_some());
        assert!(listen.lock().unwrap().is_some());
        drop(listening);
        call(&client, "nothing").await.unwrap();
        assert!(listen.lock().unwrap().is_none());
    });
}

#[test]
fn a_listen_that_the_server_ends_is_over() {
    let listen = Mutex::default();
    play(Connector::new(&CLIENT), &MODERN, script(&listen), async |client| {
        let mut listening = client.listen(&ALL, CallOptions::new()).await.unwrap();
        call(&client, "tools").await.unwrap();
        call(&client, "end").await.unwrap();
        let told: Vec<_> = (&mut listening).collect().await;
        assert_eq!(told, [Change::Tools]);
        assert!(listening.error().is_none());
    });
}

#[test]
fn a_listen_keeps_the_connection_open() {
    let listen = Mutex::default();
    let ((), end) = play(Connector::new(&CLIENT), &MODERN, script(&listen), async |client| {
        let mut listening = client.listen(&ALL, CallOptions::new()).await.unwrap();
        let late = client.clone();
        drop(client);
        call(&late, "tools").await.unwrap();
        drop(late);
        assert_eq!(listening.next().await, Some(Change::Tools));
        assert!(listen.lock().unwrap().is_some());
    });
    assert!(matches!(end, ConnectionEnd::Closed), "{end:?}");
}

#[test]
fn sub_11_a_subscription_goes_on_after_a_reconnect_in_both_eras() {
    for config in [&MODERN, &LEGACY] {
        let listen = Mutex::default();
        let (ours, theirs) = pipe(1 << 20, 1 << 20);
        let (client, connection) = Connector::new(&CLIENT).connect(ours);
        let first = connection.drive(client.listen(&ALL, CallOptions::new()));
        let (listening, ()) = run(future::zip(first, serve(theirs, config, script(&listen))));
        let mut listening = listening.unwrap();
        assert_eq!(run(listening.next()), None);
        assert!(matches!(listening.error(), Some(CallError::Closed)));
        assert!(matches!(run(call(&client, "tools")), Err(CallError::Closed)));
        let (ours, theirs) = pipe(1 << 20, 1 << 20);
        let again = client.reconnect(ours).drive(async {
            assert_eq!(listening.next().await, Some(Change::Missed));
            call(&client, "resource").await.unwrap();
            assert_eq!(listening.next().await, Some(Change::Resource("test://r".into())));
            assert!(listening.error().is_none());
        });
        run(future::zip(again, serve(theirs, config, script(&listen))));
        assert_eq!(run(listening.next()), None);
    }
}

#[test]
fn a_connection_that_another_one_replaces_is_closed_and_its_calls_end() {
    let nothing = |_: &ServerEvent<'_>, _: &mut Session| {};
    let [first, second] = [(); 2].map(|()| pipe(1 << 20, 1 << 20));
    let (client, connection) = Connector::new(&CLIENT).connect(first.0);
    let replaced = async { connection.await.unwrap() };
    let waits = async { call(&client, "slow").await };
    let work = async {
        client.connected().await.unwrap();
        let connection = client.reconnect(second.0);
        let last = connection.drive(async { call(&client, "fast").await });
        future::zip(last, serve(second.1, &MODERN, echo)).await.0
    };
    let servers_and_replaced = future::zip(serve(first.1, &MODERN, nothing), replaced);
    let (((), end), (slow, fast)) =
        run(future::zip(servers_and_replaced, future::zip(waits, work)));
    assert!(matches!(end, ConnectionEnd::Closed), "{end:?}");
    assert!(matches!(slow, Err(CallError::Closed)), "{slow:?}");
    fast.unwrap();
}

#[test]
fn events_that_belong_to_no_call_reach_on_event() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sees = Arc::clone(&seen);
    let connector = Connector::new(&CLIENT).on_event(move |event| {
        let what = match event {
            ClientEvent::Log { params } => params.get("data").unwrap().as_str().to_owned(),
            ClientEvent::Changed { listen: None, what: Changed::Tools } => "tools".to_owned(),
            ClientEvent::Notification { method, .. } => method.to_string(),
            other => panic!("{other:?}"),
        };
        sees.lock().unwrap().push(what);
    });
    let script = |event: &ServerEvent<'_>, session: &mut Session| {
        let ServerEvent::Request(request) = event else { return };
        let Session { server, tx } = session;
        let _ = server.log_unrelated(&LogMessage::new(LoggingLevel::Error, "a line"), tx).unwrap();
        let mut change = Published::tools();
        while server.publish(&mut change, tx).unwrap().is_more() {}
        server
            .notify("notifications/own", &mcp_sansio::Json(Vec::<u8>::new()), tx)
            .unwrap_or_default();
        session.text(request.handle, "done");
    };
    play(connector, &LEGACY, script, async |client| call(&client, "talk").await.map(drop).unwrap());
    assert_eq!(seen.lock().unwrap()[..2], ["\"a line\"", "tools"]);
}

#[test]
fn root_01_a_legacy_server_is_told_that_the_roots_have_changed() {
    static ROOTS: ClientConfig<'_> =
        ClientConfig::new(Implementation::new("client", "1"), ClientFeatures::ROOTS_LIST_CHANGED);
    for (config, told) in [(&LEGACY, 1), (&MODERN, 0)] {
        let mut changes = 0;
        let script = |event: &ServerEvent<'_>, session: &mut Session| match event {
            ServerEvent::Notification { method, .. } => {
                assert!(*method == *"notifications/roots/list_changed");
                changes += 1;
            }
            ServerEvent::Request(request) => session.text(request.handle, "done"),
            _ => {}
        };
        play(Connector::new(&ROOTS), config, script, async |client| {
            client.connected().await.unwrap();
            assert_eq!(client.roots_changed().await.is_ok(), told == 1);
            call(&client, "any").await.unwrap();
        });
        assert_eq!(changes, told);
    }
}
