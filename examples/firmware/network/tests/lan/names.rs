//! The names of the board: by mDNS, from the service, and by the router.

use std::net::Ipv4Addr;

use edge_mdns::domain::base::Message;
use edge_mdns::domain::rdata::AllRecordData;
use embassy_net::udp::{PacketMetadata, UdpSocket};
use embassy_net::{Config, Stack};
use embassy_time::{Duration, Timer, with_timeout};

use crate::lan::Lan;

const A: u16 = 1;
const PTR: u16 = 12;
const EVERYBODY: (Ipv4Addr, u16) = (Ipv4Addr::new(224, 0, 0, 251), 5353);
const NAME: &str = "Answer board.local. 120 IN A 10.0.0.1";

#[test]
fn who_asks_for_the_name_gets_the_address() {
    asked_by([10, 0, 0, 2], async |asker| {
        let mut socket = socket(asker, 5353);
        socket.send_to(&query(&["board", "local"], A), EVERYBODY).await.expect("room");
        assert_eq!(heard(&mut socket).await[0], NAME);
        socket.send_to(&query(&["kettle", "local"], A), EVERYBODY).await.expect("room");
        assert!(nothing_comes(&mut socket).await);
    });
}

#[test]
fn who_looks_for_a_server_gets_its_name_port_path_and_address() {
    asked_by([10, 0, 0, 2], async |asker| {
        let mut socket = socket(asker, 5353);
        socket.send_to(&query(&["_mcp", "_tcp", "local"], PTR), EVERYBODY).await.expect("room");
        let found = [
            "Answer _mcp._tcp.local. 120 IN PTR board._mcp._tcp.local.",
            "Additional board.local. 120 IN A 10.0.0.1",
            "Additional board._mcp._tcp.local. 120 IN SRV 0 0 80 board.local",
            r#"Additional board._mcp._tcp.local. 120 IN TXT "path=/mcp""#,
        ];
        assert_eq!(heard(&mut socket).await, found);
    });
}

#[test]
fn a_program_with_any_port_gets_the_answer_alone_with_the_id_of_its_question() {
    asked_by([10, 0, 0, 2], async |asker| {
        let (mut others, own) = (socket(asker, 5353), socket(asker, 4242));
        let mut question = query(&["board", "local"], A);
        question[..2].copy_from_slice(&[7, 9]);
        own.send_to(&question, EVERYBODY).await.expect("room");
        let mut answer = [0; 512];
        let (len, from) = own.recv_from(&mut answer).await.expect("a packet");
        assert_eq!((&answer[..2], from.endpoint.port), (&[7, 9][..], 5353));
        assert_eq!(records(&answer[..len])[0], NAME);
        assert!(nothing_comes(&mut others).await);
    });
}

#[test]
fn nobody_of_another_network_gets_an_answer() {
    asked_by([10, 0, 7, 2], async |asker| {
        let mut socket = socket(asker, 5353);
        socket.send_to(&query(&["board", "local"], A), EVERYBODY).await.expect("room");
        assert!(nothing_comes(&mut socket).await);
    });
}

#[test]
fn broken_questions_do_not_disturb() {
    asked_by([10, 0, 0, 2], async |asker| {
        let mut socket = socket(asker, 5353);
        let whole = query(&["board", "local"], A);
        for cut in 0..whole.len() {
            socket.send_to(&whole[..cut], EVERYBODY).await.expect("room");
            // Another number of questions, a pointer to itself, a length beyond the end.
            for byte in [0, 1, 0xC0, 0xFF] {
                let mut broken = whole.clone();
                broken[cut] = byte;
                socket.send_to(&broken, EVERYBODY).await.expect("room");
                Timer::after_millis(5).await;
            }
        }
        let mut long = whole.clone();
        long.resize(1000, 0);
        socket.send_to(&long, EVERYBODY).await.expect("room");
        while !nothing_comes(&mut socket).await {}
        socket.send_to(&whole, EVERYBODY).await.expect("room");
        assert_eq!(heard(&mut socket).await[0], NAME);
    });
}

#[test]
fn the_board_says_twice_that_it_is_there() {
    let mut lan = Lan::new();
    let (listener, _) = lan.station(2);
    listener.join_multicast_group(EVERYBODY.0).expect("room");
    let mut socket = socket(listener, 5353);
    let (board, _) = lan.station(1);
    lan.spawn(firmware_network::be_found(board));
    lan.run(async {
        for _ in 0..2 {
            let all = heard(&mut socket).await;
            assert!(all.contains(&NAME.into()) && all.len() == 5, "{all:?}");
        }
        assert!(nothing_comes(&mut socket).await);
    });
}

#[test]
fn the_router_is_told_the_name() {
    let mut lan = Lan::new();
    lan.with(1, firmware_network::config());
    let (router, _) = lan.station(2);
    let socket = socket(router, 67);
    let mut packet = [0; 1024];
    let (len, _) = lan.run(socket.recv_from(&mut packet)).expect("a packet");
    // Option 12 of DHCP: the name of the host.
    assert!(packet[..len].windows(7).any(|option| option == b"\x0C\x05board"));
}

/// Runs a station with this address beside the board, after the board has said that it is there.
fn asked_by(address: [u8; 4], asks: impl AsyncFnOnce(Stack<'static>)) {
    let mut lan = Lan::new();
    let (board, _) = lan.station(1);
    lan.spawn(firmware_network::be_found(board));
    let (asker, _) = lan.with(2, Config::ipv4_static(crate::lan::fixed(address)));
    asker.join_multicast_group(EVERYBODY.0).expect("room");
    lan.run(async {
        Timer::after_secs(3).await;
        asks(asker).await;
    });
}

fn socket(stack: Stack<'static>, port: u16) -> UdpSocket<'static> {
    let (rx, tx) = (Box::leak(Box::new([0; 4096])), Box::leak(Box::new([0; 4096])));
    let metadata = || Box::leak(Box::new([PacketMetadata::EMPTY; 8]));
    let mut socket = UdpSocket::new(stack, metadata(), rx, metadata(), tx);
    socket.bind(port).expect("a free port");
    socket
}

fn query(name: &[&str], of: u16) -> Vec<u8> {
    let mut query = vec![0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name {
        query.push(label.len() as u8);
        query.extend_from_slice(label.as_bytes());
    }
    query.push(0);
    query.extend_from_slice(&of.to_be_bytes());
    query.extend_from_slice(&[0, 1]);
    query
}

/// Returns the records of the next packet that the board sends to all.
async fn heard(socket: &mut UdpSocket<'_>) -> Vec<String> {
    let mut packet = [0; 1024];
    let (len, _) = socket.recv_from(&mut packet).await.expect("a packet");
    records(&packet[..len])
}

async fn nothing_comes(socket: &mut UdpSocket<'_>) -> bool {
    with_timeout(Duration::from_secs(2), heard(socket)).await.is_err()
}

fn records(packet: &[u8]) -> Vec<String> {
    let message = Message::from_octets(packet).expect("a message");
    let mut records = Vec::new();
    for record in message.iter() {
        let (record, section) = record.expect("a record");
        let record = record.into_any_record::<AllRecordData<_, _>>().expect("known data");
        records.push(format!("{section:?} {record}"));
    }
    records
}
