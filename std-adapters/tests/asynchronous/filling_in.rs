//! Handlers that ask with typed forms, and keep typed state, in both eras.

use mcp_sansio::typed::{Input, Output};
use mcp_sansio::types::{InputRequest, Text, TextResult};
use mcp_sansio_adapters::asynchronous::{Context, HandlerResult};
use serde_json::{Value, json};

use crate::client::{WIDE, converse, modern, talk};
use crate::serving;

#[derive(Input)]
struct Guest<'a> {
    /// Your name
    #[arg(length = 1..=8)]
    name: Text<'a>,
}

#[derive(Input)]
struct Party {
    #[arg(range = 1..=9)]
    people: u8,
}

#[derive(Input, Output)]
struct Round {
    number: u32,
}

/// The values of all forms are alive at once.
async fn invite(ctx: Context) -> HandlerResult {
    let request = ctx.request()?;
    let tool = ctx.tool(&request);
    let round = tool.request_state_as::<Round>()?.map_or(1, |round| round.number + 1);
    tool.set_request_state_as(&Round { number: round })?;
    let ask = |key, message| tool.request_input(key, InputRequest::form::<Guest>(message));
    let first = ask("first", "Who?").await?;
    let Some(first) = first.to_form::<Guest>()? else {
        return ctx.reply(&TextResult::new("no one"));
    };
    let second = ask("second", "Who else?").await?;
    let second = second.to_form::<Guest>()?.map_or(Text::new("no one else"), |guest| guest.name);
    let [party] =
        tool.request_inputs([("party", InputRequest::form::<Party>("How many?"))]).await?;
    let people = party.to_form::<Party>()?.map_or(0, |party| party.people);
    ctx.reply(&TextResult::new(&format!("{} {second} {people} {round}", first.name)))
}

/// Plays the conversation with these responses. Returns the last response of the server.
fn play(is_modern: bool, answers: &[Value]) -> Value {
    let app = serving(invite);
    let mut answers = answers.iter();
    let next = |_: &Value| answers.next().expect("more is asked than there are answers").clone();
    converse(&app, WIDE, is_modern, next).0
}

fn accept(content: Value) -> Value {
    json!({"action": "accept", "content": content})
}

#[test]
fn forms_are_filled_in_and_values_borrow_from_them() {
    let answers = [
        accept(json!({"name": "A\"d\na"})),
        accept(json!({"name": "Bo", "unasked": true})),
        accept(json!({"people": 9})),
    ];
    for (is_modern, rounds) in [(false, 1), (true, 4)] {
        let done = play(is_modern, &answers);
        assert_eq!(done["result"]["content"][0]["text"], format!("A\"d\na Bo 9 {rounds}"));
    }
}

#[test]
fn what_does_not_fit_the_form_fails_the_tool_or_in_2026_07_28_the_request() {
    let answers = [accept(json!({"name": ""}))];
    let words = "Invalid response to input request first: name: must be a string of 1 to 8 characters, has 0";
    let failed = play(false, &answers);
    assert_eq!(failed["result"]["isError"], true);
    assert_eq!(failed["result"]["content"][0]["text"], words);
    let failed = play(true, &answers);
    assert_eq!(failed["error"], json!({"code": -32602, "message": words}));
}

#[test]
fn state_that_does_not_fit_is_refused() {
    let app = serving(invite);
    talk(&app, WIDE, async |mut client| {
        for (id, kept) in
            [(1, r#"{\"number\":-1}"#), (2, "x"), (3, "{}"), (4, r#"{\"number\":1,\"more\":2}"#)]
        {
            let state = format!("{{\"answers\":{{}},\"kept\":\"{kept}\"}}");
            let params = json!({"name": "ask", "requestState": state});
            let refused = client.ask(&modern(id, "tools/call", params)).await;
            let error = json!({"code": -32602, "message": "Invalid requestState"});
            assert_eq!(refused["error"], error, "{kept}");
        }
    });
}
