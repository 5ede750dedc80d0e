//! The names of the board: `board.local`, and a service for who looks for one (mDNS, DNS-SD).

use core::net::Ipv6Addr;

use edge_mdns::domain::base::Ttl;
use edge_mdns::host::{Host, Service, ServiceAnswers};
use edge_mdns::{HostAnswersMdnsHandler, MdnsHandler, MdnsRequest, MdnsResponse};
use embassy_futures::select::select;
use embassy_net::udp::{PacketMetadata, UdpSocket};
use embassy_net::{IpAddress, IpEndpoint, Ipv4Address, Stack};
use embassy_time::{Instant, Timer};

use crate::{NAME, PORT};

const SERVICE: Service<'_> = Service {
    name: NAME,
    priority: 0,
    weight: 0,
    service: "_mcp",
    protocol: "_tcp",
    port: PORT,
    service_subtypes: &[],
    txt_kvs: &[("path", "/mcp")],
};

/// Says who it is, and answers who asks for its name or for the service. Never completes.
pub async fn be_found(stack: Stack<'_>) {
    let (mut rx, mut tx) = ([0; PACKET], [0; PACKET]);
    let (mut rx_meta, mut tx_meta) = ([PacketMetadata::EMPTY; 4], [PacketMetadata::EMPTY; 2]);
    let mut socket = UdpSocket::new(stack, &mut rx_meta, &mut rx, &mut tx_meta, &mut tx);
    // A packet that a router has passed on is refused.
    socket.set_hop_limit(Some(255));
    let _ = socket.bind(EVERYBODY.1);
    loop {
        stack.wait_config_up().await;
        let _ = stack.join_multicast_group(EVERYBODY.0);
        select(answer_all(stack, &mut socket), stack.wait_config_down()).await;
    }
}

async fn answer_all(stack: Stack<'_>, socket: &mut UdpSocket<'_>) {
    let (mut query, mut response) = ([0; PACKET], [0; PACKET]);
    // The second time for those that have missed the first.
    for _ in 0..2 {
        if let Some((all, _)) = answer(stack, MdnsRequest::None, &mut response) {
            let _ = socket.send_to(all, EVERYBODY).await;
        }
        Timer::after_secs(1).await;
    }
    loop {
        // One that is too long is none.
        let Ok((len, from)) = socket.recv_from(&mut query).await else { continue };
        let (data, asker) = (query.get(..len).unwrap_or_default(), from.endpoint);
        // One that comes from elsewhere could have the answer sent to anybody.
        if !stack.config_v4().is_some_and(|own| own.address.contains_addr(&address(asker))) {
            continue;
        }
        // A program that is no responder itself, and gets the answer alone.
        let legacy = asker.port != EVERYBODY.1;
        let request = MdnsRequest::Request { legacy, multicast: true, data };
        let Some((data, is_shared)) = answer(stack, request, &mut response) else { continue };
        if legacy {
            let _ = socket.send_to(data, asker).await;
            continue;
        }
        if is_shared {
            // Others answer, too: not all at the same time.
            Timer::after_millis(20 + Instant::now().as_ticks() % 100).await;
        }
        let _ = socket.send_to(data, EVERYBODY).await;
    }
}

/// Returns the answer of this board, if it has one, and whether others may have one, too.
fn answer<'a>(
    stack: Stack<'_>,
    request: MdnsRequest<'_>,
    response: &'a mut [u8],
) -> Option<(&'a [u8], bool)> {
    let host = Host {
        hostname: NAME,
        ipv4: stack.config_v4()?.address.address(),
        ipv6: Ipv6Addr::UNSPECIFIED,
        ttl: Ttl::from_secs(120),
    };
    let mut handler = HostAnswersMdnsHandler::new(ServiceAnswers::new(&host, &SERVICE));
    match handler.handle(request, response) {
        Ok(MdnsResponse::Reply { data, delay }) => Some((data, delay)),
        Ok(MdnsResponse::None) | Err(_) => None,
    }
}

const fn address(endpoint: IpEndpoint) -> Ipv4Address {
    let IpAddress::Ipv4(address) = endpoint.addr;
    address
}

/// Address and port of all that answer.
const EVERYBODY: (Ipv4Address, u16) = (Ipv4Address::new(224, 0, 0, 251), 5353);
/// Maximum length of a query and of an answer, in bytes. All records of this board take 241.
const PACKET: usize = 512;
