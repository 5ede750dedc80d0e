//! Servers and clients for harnesses that own one: their memory is never freed.

use mcp_sansio::{Client, ClientConfig, ClientState, Server, ServerConfig, ServerState};

/// Creates a server with `N` open requests and `S` subscribed URIs.
pub fn new_server<'c, const N: usize, const S: usize>(config: &'c ServerConfig<'c>) -> Server<'c> {
    Box::leak(Box::new(ServerState::<N, S>::new())).server(config)
}

/// Creates a client with `N` open calls.
pub fn new_client<'c, const N: usize>(config: &'c ClientConfig<'c>) -> Client<'c> {
    Box::leak(Box::new(ClientState::<N>::new())).client(config)
}
