//! The flow with a person, from the 401 to the token.

use mcp_sansio_oauth::Setup;

use super::program::Program;
use super::world::ENDPOINT;

const SETUP: Setup<'_> = Setup::new(ENDPOINT, "Test");

#[test]
fn auth_17_auth_51_a_401_leads_to_a_token_and_the_request_again() {
    let mut program = Program::new(SETUP);
    assert_eq!(program.request(), Ok(200));
    assert_eq!(
        program.trace(),
        "mcp 401
GET https://mcp.test/.well-known/oauth-protected-resource/mcp 200
GET https://as.test/.well-known/oauth-authorization-server 200
POST https://as.test/register 201
keep
show -
POST https://as.test/token authorization_code 200
keep
ready
mcp 200"
    );
    assert_eq!(program.allocations, 0);
    // The token is kept.
    program.restart();
    assert_eq!(program.request(), Ok(200));
    assert_eq!(program.trace(), "mcp 200");
}
