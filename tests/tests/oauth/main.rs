//! Authorization of clients: the machine against a resource server and an authorization server.

mod attacks;
mod discovery;
mod flow;
mod program;
mod refresh;
mod world;
