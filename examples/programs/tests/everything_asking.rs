//! Tools that ask the client for input, in both eras.

mod common;

use serde_json::{Value, json};

use common::{Output, Server, modern};

#[test]
fn a_modern_result_contains_input_requests_and_the_next_call_the_responses() {
    let mut client = Client::modern();
    let first = client.call("test_input_required_result_multi_round", json!({}));
    assert_eq!(first["result"]["inputRequests"]["step1"]["method"], "elicitation/create");
    let second = client.retry(
        "test_input_required_result_multi_round",
        &first,
        json!({"step1": accept(json!({"name": "Ada"}))}),
    );
    assert_ne!(second["result"]["requestState"], first["result"]["requestState"]);
    // The state carries the first response, so it is not sent again.
    let third = client.retry(
        "test_input_required_result_multi_round",
        &second,
        json!({"step2": accept(json!({"color": "red"}))}),
    );
    assert_eq!(text(&third), "accepted: name = Ada; accepted: color = red");
}

#[test]
fn a_request_state_is_valid_only_unchanged_and_for_its_tool() {
    let mut client = Client::modern();
    let tool = "test_input_required_result_tampered_state";
    let first = client.call(tool, json!({}));
    let answers = json!({"confirm": accept(json!({"ok": true}))});
    assert!(text(&client.retry(tool, &first, answers.clone())).starts_with("state-ok"));

    let other = client.retry("test_input_required_result_multi_round", &first, answers.clone());
    assert_eq!(other["error"]["code"], -32602, "{other}");
    let state = first["result"]["requestState"].as_str().unwrap();
    for forged in
        [format!("{state}0"), state.replacen('{', "{ ", 1), state.to_uppercase(), String::new()]
    {
        let forged = json!({"result": {"requestState": forged}});
        let refused = client.retry(tool, &forged, answers.clone());
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    let without = client.call(tool, json!({"inputResponses": answers}));
    assert_eq!(without["result"]["resultType"], "input_required", "{without}");
}

#[test]
fn invalid_input_responses_are_rejected_and_missing_ones_requested_again() {
    let mut client = Client::modern();
    let tool = "test_input_required_result_elicitation";
    for unusable in [
        json!(null),
        json!(7),
        json!({"action": "shrug"}),
        accept(json!({})),
        accept(json!({"name": 7})),
    ] {
        let refused = client.call(tool, json!({"inputResponses": {"user_name": unusable}}));
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    let missing =
        client.call(tool, json!({"inputResponses": {"another": accept(json!({"name": "Ada"}))}}));
    assert_eq!(missing["result"]["resultType"], "input_required", "{missing}");
    let declined =
        client.call(tool, json!({"inputResponses": {"user_name": {"action": "decline"}}}));
    assert_eq!(text(&declined), "declined");
}

#[test]
fn input_requests_respect_the_capabilities_of_the_client() {
    let mut client = Client { capabilities: json!({}), ..Client::modern() };
    for (tool, needed) in [
        ("test_missing_capability", json!({"sampling": {}})),
        ("test_input_required_result_elicitation", json!({"elicitation": {"form": {}}})),
        ("test_input_required_result_list_roots", json!({"roots": {}})),
    ] {
        let refused = client.call(tool, json!({}));
        assert_eq!(refused["error"]["code"], -32021, "{refused}");
        assert_eq!(refused["error"]["data"]["requiredCapabilities"], needed);
    }
    client.capabilities = json!({"roots": {}});
    let first = client.call("test_input_required_result_capabilities", json!({}));
    assert_eq!(first["result"]["inputRequests"]["client_roots"]["method"], "roots/list", "{first}");
}

#[test]
fn a_legacy_client_gets_requests_and_its_responses_are_combined() {
    let mut client = Client::legacy();
    client.send_call("test_input_required_result_multiple_inputs", json!({}));
    let asked = [client.next(), client.next(), client.next()];
    let method = |message: &Value| message["method"].as_str().unwrap_or_default().to_owned();
    assert_eq!(
        asked.each_ref().map(method),
        ["elicitation/create", "sampling/createMessage", "roots/list"]
    );
    let answers = [
        accept(json!({"name": "Ada"})),
        json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "Hello"}}),
        json!({"roots": [{"uri": "file:///srv"}]}),
    ];
    // In another order than the requests.
    for (request, answer) in asked.iter().zip(answers).rev() {
        client.server.send(&json!({"jsonrpc": "2.0", "id": request["id"], "result": answer}));
    }
    assert_eq!(text(&client.next()), "accepted: name = Ada; m says: Hello; 1 roots: file:///srv");
}

#[test]
fn a_declined_or_invalid_response_fails_the_tool_not_the_session() {
    let mut client = Client::legacy();
    for answer in [
        json!({"error": {"code": -1, "message": "no"}}),
        json!({"result": {"action": "accept", "content": {"username": "ada", "email": "nowhere"}}}),
        json!({"result": {}}),
    ] {
        client.send_call("test_elicitation", json!({"arguments": {"message": "Who?"}}));
        let mut message = json!({"jsonrpc": "2.0", "id": client.next()["id"]});
        message.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
        client.server.send(&message);
        let failed = client.next();
        assert_eq!(failed["result"]["isError"], true, "{failed}");
    }
}

#[test]
fn cancelling_a_tool_cancels_its_request() {
    let mut client = Client::legacy();
    client.send_call("test_elicitation", json!({"arguments": {"message": "Who?"}}));
    let question = client.next();
    client.server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": client.calls}}));
    let withdrawn = client.next();
    assert_eq!(withdrawn["method"], "notifications/cancelled");
    assert_eq!(withdrawn["params"]["requestId"], question["id"]);
    // The response may have been on its way.
    client
        .server
        .send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "cancel"}}));
    assert!(client.call("test_simple_text", json!({}))["result"].is_object());
}

#[test]
fn no_request_is_sent_before_the_handshake_is_complete() {
    let mut client = Client::legacy_before_initialized();
    let failed = client.call("test_elicitation", json!({"arguments": {"message": "Who?"}}));
    assert_eq!(failed["result"]["isError"], true, "{failed}");
}

struct Client {
    server: Server,
    output: Output,
    capabilities: Value,
    is_modern: bool,
    calls: u32,
}

impl Client {
    fn modern() -> Self {
        let mut server = Server::start();
        let output = server.output();
        Self {
            server,
            output,
            capabilities: json!({"elicitation": {}, "sampling": {}, "roots": {}}),
            is_modern: true,
            calls: 100,
        }
    }

    fn legacy() -> Self {
        let mut client = Self::legacy_before_initialized();
        client.server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn legacy_before_initialized() -> Self {
        let mut client = Self { is_modern: false, ..Self::modern() };
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": client.capabilities,
            "clientInfo": {"name": "test", "version": "1"},
        });
        client
            .server
            .send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}));
        assert!(client.next()["result"].is_object());
        client
    }

    /// Calls a tool, with `more` members of `params`, and returns the next message.
    fn call(&mut self, tool: &str, more: Value) -> Value {
        self.send_call(tool, more);
        self.next()
    }

    /// Repeats the call with responses and the state of `before`.
    fn retry(&mut self, tool: &str, before: &Value, answers: Value) -> Value {
        self.call(
            tool,
            json!({"inputResponses": answers, "requestState": before["result"]["requestState"]}),
        )
    }

    fn send_call(&mut self, tool: &str, mut params: Value) {
        self.calls += 1;
        params["name"] = json!(tool);
        let message = if self.is_modern {
            let mut message = modern(self.calls, "tools/call", params);
            message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
                self.capabilities.clone();
            message
        } else {
            json!({"jsonrpc": "2.0", "id": self.calls, "method": "tools/call", "params": params})
        };
        self.server.send(&message);
    }

    fn next(&mut self) -> Value {
        self.output.next()
    }
}

fn accept(content: Value) -> Value {
    json!({"action": "accept", "content": content})
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {answer}"))
}
