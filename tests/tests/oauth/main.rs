//! Authorization of clients: the machine against a resource server and an authorization server.

mod attacks;
mod discovery;
mod grants;
mod keys;
mod outcomes;
mod person;
mod program;
mod refresh;
mod rules;
mod step_up;
mod world;
