//! The code of the guide in `docs/`, and of READMEs of packages, as documentation tests.

macro_rules! chapters {
    ($($(#[$cfg:meta])? $name:ident $file:literal;)*) => {$(
        $(#[$cfg])?
        #[doc = include_str!(concat!("../../docs/", $file))]
        mod $name {}
    )*};
}

chapters! {
    contents "README.md";
    first_tool "tutorial/1-first-tool.md";
    arguments "tutorial/2-arguments.md";
    results "tutorial/3-results.md";
    slow_tools "tutorial/4-slow-tools.md";
    resources_and_prompts "tutorial/5-resources-and-prompts.md";
    test_and_ship "tutorial/6-test-and-ship.md";
    server "server.md";
    skills "skills.md";
    pages "pages.md";
    recipes "recipes.md";
    testing "testing.md";
    revisions "revisions.md";
    middleware "middleware.md";
    gateway "gateway.md";
    hosts "hosts.md";
    client "client.md";
    event_loop "event-loop.md";
    http "http.md";
    site "site.md";
    #[cfg(feature = "auth")]
    authorization "authorization.md";
    firmware "firmware.md";
    from_c "c.md";
    deployment "deployment.md";
    fleet "fleet.md";
    limits "limits.md";
    security "security.md";
    troubleshooting "troubleshooting.md";
    rmcp "rmcp.md";
    compare "compare.md";
}

#[doc = include_str!("../../core/README.md")]
mod core_readme {}

#[doc = include_str!("../../std-adapters/README.md")]
mod adapters_readme {}
