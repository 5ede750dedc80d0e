//! HTTP/1.1 for those who have nothing but a socket: heads and bodies, both roles.
