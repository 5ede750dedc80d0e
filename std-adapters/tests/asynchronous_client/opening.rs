//! Connecting, and its failures.

use mcp_sansio::{Revision, ServerFeatures};
use mcp_sansio_adapters::asynchronous::client::{
    CallError, ConnectError, ConnectionEnd, Connector,
};

use crate::pipe::pipe;
use crate::script::{call, echo, play, play_on, speak};
use crate::task_script::error;
use crate::{CLIENT, LEGACY, MODERN};

#[test]
fn the_servers_era_is_found_out_and_can_be_kept() {
    for (config, revision) in [(&MODERN, Revision::LATEST), (&LEGACY, Revision::V2025_11_25)] {
        let (era, end) = play(Connector::new(&CLIENT), config, echo, async |client| {
            assert_eq!(client.era(), None);
            let opened = client.connected().await.unwrap();
            assert_eq!(opened.revision, revision);
            assert!(opened.capabilities.unwrap().contains(ServerFeatures::TOOLS));
            assert_eq!(client.connected().await.unwrap().revision, revision);
            client.era()
        });
        assert_eq!(era, Some(revision.era()));
        assert!(matches!(end, ConnectionEnd::Closed), "{end:?}");
    }
}

#[test]
fn if_connecting_fails_all_calls_and_the_connection_end_with_the_reason() {
    let refusing = |pipe| speak(pipe, |message| vec![error(message, -32603)]);
    let ((), end) =
        play_on(Connector::new(&CLIENT), pipe(1 << 16, 1 << 16), refusing, async |client| {
            let (first, second) =
                futures_lite::future::zip(call(&client, "a"), client.connected()).await;
            for error in [
                first.map(drop).unwrap_err(),
                second.map(drop).unwrap_err(),
                call(&client, "b").await.map(drop).unwrap_err(),
            ] {
                let CallError::ConnectFailed { why: ConnectError::Refused(refusal), .. } = &error
                else {
                    panic!("{error:?}")
                };
                assert_eq!((refusal.code, refusal.message.as_str()), (-32603, "no"));
                assert_eq!(
                    error.to_string(),
                    "cannot connect: the server rejected the connection: no (code -32603)"
                );
            }
        });
    assert!(matches!(end, ConnectionEnd::ConnectFailed(ConnectError::Refused(_))), "{end:?}");
}
