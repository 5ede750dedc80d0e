//! HTTP without an allocator: packets that are lost, late or there twice, and clients that lose
//! their power.

use embassy_net::Stack;
use embassy_time::{Duration, Instant, Timer};

use crate::board::{ask, board, connect, post, read_to, send, switch};
use crate::lan::{Fate, Lan};

#[test]
fn each_packet_of_a_call_may_be_lost_late_or_there_twice() {
    let packets = call_with(|_| Fate::Arrives);
    for fate in [Fate::IsLost, Fate::IsLate, Fate::ComesTwice] {
        for unlucky in 0..packets {
            call_with(move |number| if number == unlucky { fate } else { Fate::Arrives });
        }
    }
}

/// Calls a tool, which is executed once. Returns the number of packets that it took.
fn call_with(fate: impl FnMut(usize) -> Fate + 'static) -> usize {
    let mut lan = Lan::new().fate(fate);
    let pins = board(&mut lan);
    let (client, _) = lan.station(2);
    let answer = lan.run(ask(client, &switch(true)));
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains(r#""on":true"#), "{answer}");
    assert_eq!(pins.switched.get(), 1);
    lan.packets()
}

#[test]
fn a_long_list_is_whole_after_a_bad_line() {
    let good = list_with(|_| Fate::Arrives);
    assert!(good.len() > 20_000 && good.contains("output_30"), "{good}");
    let bad = list_with(|number| match number % 10 {
        3 => Fate::IsLost,
        6 => Fate::IsLate,
        8 => Fate::ComesTwice,
        _ => Fate::Arrives,
    });
    assert_eq!(good, bad);
}

fn list_with(fate: impl FnMut(usize) -> Fate + 'static) -> String {
    let mut lan = Lan::new().fate(fate);
    board(&mut lan);
    let (client, _) = lan.station(2);
    lan.run(ask(client, &post("tools/list", "", "")))
}

#[test]
fn a_client_that_loses_its_power_while_it_connects_keeps_its_place_for_30_s() {
    let gone = |client| async move {
        // Its first packet is on its way, and the response is not yet here.
        let connected = embassy_time::with_timeout(Duration::from_millis(3), connect(client)).await;
        assert!(connected.is_err());
    };
    assert_eq!(served_after(4, gone, &switch(true)), 30);
}

#[test]
fn a_client_that_loses_its_power_in_a_request_keeps_its_place_for_22_s() {
    let gone = |client| async move {
        let mut socket = connect(client).await.expect("there is room");
        send(&mut socket, &switch(true).as_bytes()[..100]).await;
        Timer::after_millis(10).await;
    };
    // For the rest of the request, for its response to arrive, for the end of the connection.
    assert_eq!(served_after(4, gone, &switch(true)), 10 + 10 + 2);
}

#[test]
fn a_client_that_loses_its_power_before_it_has_the_response_keeps_its_place_for_12_s() {
    let gone = |client| async move {
        let mut socket = connect(client).await.expect("there is room");
        send(&mut socket, switch(true).as_bytes()).await;
        // The stack confirms bytes a little later.
        read_to(&mut socket, 1, "structuredContent").await;
    };
    assert_eq!(served_after(4, gone, &switch(true)), 10 + 2);
}

#[test]
fn a_client_that_loses_its_power_between_requests_keeps_no_place_from_another() {
    let gone = |client| async move {
        let mut socket = connect(client).await.expect("there is room");
        send(&mut socket, switch(true).replace("connection: close\r\n", "").as_bytes()).await;
        read_to(&mut socket, 1, "structuredContent").await;
        Timer::after_millis(20).await;
    };
    assert_eq!(served_after(4, gone, &switch(true)), 0);
}

#[test]
fn subscribers_that_lose_their_power_make_room_for_others_after_25_s() {
    let gone = |client| async move {
        let mut socket = connect(client).await.expect("there is room");
        send(&mut socket, listen().as_bytes()).await;
        read_to(&mut socket, 1, "acknowledged").await;
        Timer::after_millis(20).await;
    };
    // Nothing is to be sent for 15 s, and then no packet is confirmed.
    assert_eq!(served_after(3, gone, &listen()), 15 + 10);
}

#[test]
fn a_subscriber_is_told_over_a_bad_line_and_hears_when_nothing_changes() {
    let fate = |number| if number % 5 == 4 { Fate::IsLost } else { Fate::Arrives };
    let mut lan = Lan::new().fate(fate);
    board(&mut lan);
    let (subscriber, _) = lan.station(2);
    let (other, _) = lan.station(3);
    lan.run(async {
        let mut stream = connect(subscriber).await.expect("there is room");
        send(&mut stream, listen().as_bytes()).await;
        read_to(&mut stream, 1, "acknowledged").await;
        for number in 0..10 {
            ask(other, &switch(number % 2 == 0)).await;
        }
        read_to(&mut stream, 10, r#""uri":"board://outputs""#).await;
        read_to(&mut stream, 1, "\n:").await;
        let began = Instant::now();
        read_to(&mut stream, 2, "\n:").await;
        // A packet that is lost is sent again after a second.
        assert!((29..=31).contains(&began.elapsed().as_secs()));
    });
}

/// A subscription to the outputs.
fn listen() -> String {
    let wanted = r#","notifications":{"resourceSubscriptions":["board://outputs"]}"#;
    post("subscriptions/listen", "", wanted)
}

/// Returns after how many seconds a client is served that tries again and again, while others have
/// lost their power.
fn served_after<F: Future + 'static>(
    others: u8,
    gone: impl Fn(Stack<'static>) -> F + Copy + 'static,
    request: &str,
) -> u64 {
    let mut lan = Lan::new();
    board(&mut lan);
    for other in 0..others {
        let (stack, plug) = lan.station(3 + other);
        lan.spawn(async move {
            gone(stack).await;
            plug.pull();
            // A socket that is dropped would say so.
            std::future::pending::<()>().await;
        });
    }
    let (client, _) = lan.station(2);
    lan.run(async {
        Timer::after_millis(50).await;
        loop {
            if let Ok(mut socket) = connect(client).await {
                send(&mut socket, request.as_bytes()).await;
                if read_to(&mut socket, 1, "\r\n").await.starts_with("HTTP/1.1 200 ") {
                    return Instant::now().as_secs();
                }
            }
            Timer::after_millis(100).await;
        }
    })
}
