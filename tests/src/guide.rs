//! The code of the guide in `docs/`, as documentation tests.

macro_rules! chapters {
    ($($(#[$cfg:meta])? $name:ident $file:literal;)*) => {$(
        $(#[$cfg])?
        #[doc = include_str!(concat!("../../docs/", $file))]
        mod $name {}
    )*};
}

chapters! {
    contents "README.md";
    server "server.md";
    client "client.md";
    event_loop "event-loop.md";
    http "http.md";
    #[cfg(feature = "auth")]
    authorization "authorization.md";
    firmware "firmware.md";
    deployment "deployment.md";
    limits "limits.md";
    troubleshooting "troubleshooting.md";
    rmcp "rmcp.md";
}
