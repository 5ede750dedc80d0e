//! Rules for sampling, elicitation, roots, and `InputRequiredResult`.

use mcp_sansio::types::*;
use mcp_sansio::{ClientFeatures, RawJson, ReadError, Revision};
use serde_json::{Value, json};

use super::support::{raw, value_of, written};

/// Returns the error of a conversation, given as (role, content) pairs: that of the messages as
/// JSON, which is the same for values of the application.
fn conversation(messages: Value) -> Result<(), SamplingError> {
    let messages: Vec<Value> = messages
        .as_array()
        .expect("a list")
        .iter()
        .map(|pair| json!({"role": pair[0], "content": pair[1]}))
        .collect();
    let text = json!({"messages": messages, "maxTokens": 5}).to_string();
    let params: CreateMessageParams = raw(&text).to().expect("params");
    let verdict = params.validate();
    let read = params.messages.iter().map(|message| {
        let message = message?;
        Ok((message.role, message.content.iter().collect::<Result<Vec<_>, _>>()?))
    });
    if let Ok(read) = read.collect::<Result<Vec<_>, ReadError>>() {
        let own = read.iter().map(|(role, blocks)| match &blocks[..] {
            [block] => SamplingMessage::new(*role, SamplingMessageContent::One(*block)),
            blocks => SamplingMessage::new(*role, SamplingMessageContent::many(blocks)),
        });
        let own: Vec<_> = own.collect();
        assert_eq!(CreateMessageParams::new(&own, 5).validate(), verdict);
    }
    verdict
}

fn used(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "n", "input": {}})
}

fn result(id: &str) -> Value {
    json!({"type": "tool_result", "toolUseId": id, "content": []})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

#[test]
fn samp_03_results_of_tools_stand_alone() {
    let mixed =
        conversation(json!([["assistant", used("1")], ["user", [result("1"), text("and")]]]));
    assert_eq!(mixed, Err(SamplingError::MixedToolResults { message: 1 }));
    let words = "message 1 mixes tool results with other content";
    assert_eq!(mixed.unwrap_err().to_string(), words);
    let of_the_model = conversation(json!([["assistant", used("1")], ["assistant", result("1")]]));
    assert_eq!(of_the_model, Err(SamplingError::MixedToolResults { message: 1 }));
    assert_eq!(
        conversation(json!([["assistant", [text("I look"), used("1")]], ["user", [result("1")]]])),
        Ok(())
    );
}

#[test]
fn samp_04_each_tool_use_has_its_result_in_the_next_message() {
    let unanswered = |message| Err(SamplingError::MissingToolResult { message });
    let expected = unanswered(1);
    assert_eq!(conversation(json!([["user", text("hi")], ["assistant", used("1")]])), expected);
    assert_eq!(
        conversation(json!([["assistant", used("1")], ["user", text("hi")], ["user", text("ho")]])),
        unanswered(0)
    );
    let expected = "a tool use in message 0 has no result in the next message";
    assert_eq!(unanswered(0).unwrap_err().to_string(), expected);
    let one_of_two = json!([["assistant", [used("1"), used("2")]], ["user", [result("2")]]]);
    assert_eq!(conversation(one_of_two), unanswered(0));
    let both = json!([
        ["assistant", [used("1"), used("2")]],
        ["user", [result("2"), result("1")]],
        ["assistant", text("so")]
    ]);
    assert_eq!(conversation(both), Ok(()));
    let same_id = json!([["assistant", [used("1"), used("1")]], ["user", [result("1")]]]);
    assert_eq!(conversation(same_id), Ok(()));
    assert_eq!(conversation(json!([["user", text("hi")]])), Ok(()));
    assert_eq!(conversation(json!([])), Ok(()));
}

#[test]
fn samp_05_results_belong_to_a_use_of_a_tool() {
    let unknown = |message| Err(SamplingError::UnknownToolUse { message });
    assert_eq!(
        unknown(0).unwrap_err().to_string(),
        "message 0 has a tool result without a tool use in the previous message, or a tool use of \
         the user"
    );
    assert_eq!(conversation(json!([["user", result("1")]])), unknown(0));
    assert_eq!(conversation(json!([["assistant", used("1")], ["user", result("2")]])), unknown(1));
    assert_eq!(conversation(json!([["user", used("1")], ["user", result("1")]])), unknown(0));
    let escaped = r#"{"messages":[{"role":"assistant","content":{"type":"tool_use","id":"\u0031","name":"n","input":{}}},
        {"role":"user","content":[{"type":"tool_result","toolUseId":"1","content":[]}]}],"maxTokens":1}"#;
    assert_eq!(raw(escaped).to::<CreateMessageParams>().expect("params").validate(), Ok(()));
    for content in [json!([7]), json!(null), json!({"type": "text"})] {
        let verdict = conversation(json!([["user", content]]));
        assert!(matches!(verdict, Err(SamplingError::Read(_))), "{content}");
    }
}

#[test]
fn samp_04_w1_a_message_has_so_many_tool_uses_at_most() {
    let of_length = |len: usize| {
        let ids: Vec<_> = (0..len).map(|at| at.to_string()).collect();
        let uses: Vec<_> = ids.iter().map(|id| used(id)).collect();
        let results: Vec<_> = ids.iter().rev().map(|id| result(id)).collect();
        conversation(json!([["user", text("hi")], ["assistant", uses], ["user", results]]))
    };
    assert_eq!(of_length(MAX_TOOL_USES), Ok(()));
    let too_many = of_length(MAX_TOOL_USES + 1);
    assert_eq!(too_many, Err(SamplingError::TooManyToolUses { message: 1 }));
    assert_eq!(too_many.unwrap_err().to_string(), "message 1 has more than 128 tool uses");
}

#[test]
fn samp_06_required_client_capabilities() {
    use ClientFeatures as C;
    let tools = [Tool::new("n", RawJson::EMPTY)];
    let params = CreateMessageParams::new(&[], 5);
    assert_eq!(params.required_capabilities(), C::SAMPLING);
    assert_eq!(params.include_context(IncludeContext::None).required_capabilities(), C::SAMPLING);
    let found = params.include_context(IncludeContext::AllServers).required_capabilities();
    assert_eq!(found, C::SAMPLING_CONTEXT);
    assert_eq!(params.tools(&tools).required_capabilities(), C::SAMPLING_TOOLS);
    assert_eq!(params.tool_choice(ToolChoice::new()).required_capabilities(), C::SAMPLING_TOOLS);
    for (request, needs) in [
        (
            InputRequest::CreateMessage(params.include_context(IncludeContext::ThisServer)),
            C::SAMPLING_CONTEXT,
        ),
        (InputRequest::ListRoots, C::ROOTS),
        (InputRequest::Elicit(ElicitParams::url("m", "https://example.com")), C::ELICITATION_URL),
    ] {
        assert_eq!(request.required_capabilities(), needs);
    }
}

#[test]
fn samp_19_content_is_a_block_or_several_and_the_reason_is_open() {
    let blocks = [
        SamplingMessageContentBlock::Text(TextContent::new("a")),
        SamplingMessageContentBlock::Image(ImageContent::new(Blob::new(b"x"), "image/png")),
        SamplingMessageContentBlock::ToolUse(ToolUseContent::new("1", "n", RawJson::EMPTY)),
    ];
    let messages = [
        SamplingMessage::user("q"),
        SamplingMessage::new(Role::Assistant, SamplingMessageContent::many(&blocks)),
    ];
    let params = CreateMessageParams::new(&messages, 5);
    let new = written(&params, Revision::LATEST);
    assert_eq!(new["messages"][0]["content"], json!({"type": "text", "text": "q"}));
    assert_eq!(new["messages"][1]["content"].as_array().map(Vec::len), Some(3));
    // Before 2025-11-25: a message each.
    let old = written(&params, Revision::V2025_06_18);
    assert_eq!(old["messages"].as_array().map(Vec::len), Some(4));
    assert_eq!(
        old["messages"][2],
        json!({"role": "assistant", "content": {"type": "image", "data": "eA==", "mimeType": "image/png"}})
    );
    let expected = json!({"type": "text", "text": "[use of tool n: {}]"});
    assert_eq!(old["messages"][3]["content"], expected);
    let answer =
        CreateMessageResult::new(Role::Assistant, SamplingMessageContent::many(&blocks), "m")
            .stop_reason("bored");
    let old = written(&answer, Revision::V2025_03_26);
    let expected = json!({"type": "text", "text": "a\n[image/png image]\n[use of tool n: {}]"});
    assert_eq!(old["content"], expected);
    assert_eq!(old["stopReason"], "bored");
    let one =
        CreateMessageResult::new(Role::Assistant, SamplingMessageContent::many(&blocks[..1]), "m");
    let expected = json!({"type": "text", "text": "a"});
    assert_eq!(written(&one, Revision::V2024_11_05)["content"], expected);
    let read: SamplingMessage =
        raw(r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#)
            .to()
            .expect("a message");
    assert_eq!(read.content.iter().count(), 2);
    assert!(read.content.iter().flatten().all(|block| block.as_text().is_some()));
}

const COLORS: [EnumOption; 2] = [EnumOption::new("#f00", "Red"), EnumOption::new("#0f0", "Green")];
const SIZES: [Text; 3] = [Text::new("S"), Text::new("M"), Text::new("L")];
const FIELDS: [Field; 6] = [
    Field::required(
        "email",
        StringSchema::new().title("Address").format("email").max_length(20).default("a@b").schema(),
    ),
    Field::optional(
        "age",
        NumberSchema::integer().minimum(Number::new(0)).maximum(Number::new(150)).schema(),
    ),
    Field::optional("news", BooleanSchema::new().default(false).schema()),
    Field::optional("size", SingleSelectEnumSchema::untitled(&SIZES).default("M").schema()),
    Field::optional("color", SingleSelectEnumSchema::titled(&COLORS).schema()),
    Field::optional(
        "colors",
        MultiSelectEnumSchema::titled(&COLORS).min_items(1).max_items(1).schema(),
    ),
];
const FORM: RequestedSchema = RequestedSchema::new(&FIELDS);

#[test]
fn elic_02_elic_04_elic_08_forms_are_flat_and_fit_the_revision() {
    let form = ElicitParams::form("Who?", FORM);
    let new = written(&form, Revision::LATEST);
    assert_eq!((new.get("mode"), &new["message"]), (None, &json!("Who?")));
    assert_eq!(
        new["requestedSchema"],
        json!({"type": "object", "required": ["email"], "properties": {
            "email": {"type": "string", "title": "Address", "format": "email", "maxLength": 20, "default": "a@b"},
            "age": {"type": "integer", "minimum": 0, "maximum": 150},
            "news": {"type": "boolean", "default": false},
            "size": {"type": "string", "enum": ["S", "M", "L"], "default": "M"},
            "color": {"type": "string", "oneOf": [{"const": "#f00", "title": "Red"}, {"const": "#0f0", "title": "Green"}]},
            "colors": {"type": "array", "minItems": 1, "maxItems": 1,
                "items": {"anyOf": [{"const": "#f00", "title": "Red"}, {"const": "#0f0", "title": "Green"}]}},
        }})
    );
    // 2025-06-18 has no defaults but of booleans, no titles but these, and no lists.
    let old = written(&form, Revision::V2025_06_18);
    let choice = json!({"type": "string", "enum": ["#f00", "#0f0"], "enumNames": ["Red", "Green"]});
    assert_eq!(
        old["requestedSchema"]["properties"],
        json!({
            "email": {"type": "string", "title": "Address", "format": "email", "maxLength": 20},
            "age": {"type": "integer", "minimum": 0, "maximum": 150},
            "news": {"type": "boolean", "default": false},
            "size": {"type": "string", "enum": ["S", "M", "L"]},
            "color": choice,
            "colors": choice,
        })
    );
    for revision in [Revision::V2025_06_18, Revision::V2026_07_28] {
        let text = written(&FORM, revision).to_string();
        let read: RequestedSchema = raw(&text).to().expect("a schema");
        assert_eq!((read.validate(), read.fields().count()), (Ok(()), 6));
        assert!(read.fields().flatten().all(|field| field.required == (field.name == "email")));
    }
    for wrong in [
        r#"{"type":"object","properties":{"a":{"type":"object","properties":{}}}}"#,
        r#"{"type":"object","properties":{"a":{"type":"array","items":{"type":"object"}}}}"#,
        r#"{"type":"object","properties":{"a":{"$ref":"x"}}}"#,
        r#"{"type":"object","properties":{"a":{"type":"string","minLength":"x"}}}"#,
        r#"{"type":"object","properties":{"a":{"type":"string","enum":["1",2]}}}"#,
        r#"{"type":"object","properties":{"a":{"type":"string","oneOf":[{"const":"1"}]}}}"#,
        r#"{"type":"object","properties":{"a":{"type":"array","items":{"enum":["1",2]}}}}"#,
        r#"{"type":"object"}"#,
        r#"{"type":"array","properties":{}}"#,
    ] {
        let schema: RequestedSchema = raw(wrong).to().expect("an object");
        assert_eq!(
            schema.validate().map_err(|error| error.kind),
            Err(FormErrorKind::InvalidSchema),
            "{wrong}"
        );
    }
    assert!(raw(r#"{"requestedSchema":{}}"#).to::<ElicitParams>().is_err(), "no message");
    assert!(raw(r#"{"message":"m"}"#).to::<ElicitParams>().is_err(), "no schema");
}

#[test]
fn elic_03_a_missing_mode_is_form() {
    let schema = r#""message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string","pattern":"x"}}}"#;
    let text = format!("{{{schema}}}");
    let form: ElicitParams = raw(&text).to().expect("a form");
    assert_eq!(form.required_capabilities(), ClientFeatures::ELICITATION_FORM);
    assert_eq!(written(&form, Revision::LATEST), value_of(raw(&text)), "unknown keywords survive");
    let text = format!(r#"{{"mode":"form",{schema}}}"#);
    let form: ElicitParams = raw(&text).to().expect("a form");
    assert_eq!(written(&form, Revision::LATEST)["mode"], "form");
    assert!(raw(&format!(r#"{{"mode":"fax",{schema}}}"#)).to::<ElicitParams>().is_err());
}

#[test]
fn elic_05_elic_06_elic_07_url_elicitations_have_the_members_of_the_revision() {
    let page = ElicitUrlParams::new("m", "https://example.com/a").elicitation_id("1");
    let expected = json!({"mode": "url", "message": "m", "url": "https://example.com/a", "elicitationId": "1"});
    assert_eq!(written(&ElicitParams::Url(page), Revision::V2025_11_25), expected);
    let expected = json!({"mode": "url", "message": "m", "url": "https://example.com/a"});
    assert_eq!(written(&ElicitParams::Url(page), Revision::LATEST), expected);
    assert_eq!(ElicitParams::Url(page).required_capabilities(), ClientFeatures::ELICITATION_URL);
    let without = ElicitUrlParams::new("m", "https://example.com/a");
    assert!(
        page.is_valid_for(Revision::V2025_11_25)
            && !without.is_valid_for(Revision::V2025_11_25)
            && without.is_valid_for(Revision::LATEST)
    );
    for wrong in ["", "example.com", "://x", "https:", "https://a b", "1a:b"] {
        assert!(!ElicitUrlParams::new("m", wrong).is_valid_for(Revision::LATEST), "{wrong}");
    }
}

#[test]
fn elic_18_elic_20_content_is_checked_against_the_form() {
    let verdict = |content: Value| {
        let text = content.to_string();
        let own = FORM
            .validate_content(raw(&text))
            .map_err(|error| (error.field.to_string(), error.kind));
        let schema = written(&FORM, Revision::LATEST).to_string();
        let read: RequestedSchema = raw(&schema).to().expect("a schema");
        assert_eq!(
            own,
            read.validate_content(raw(&text))
                .map_err(|error| (error.field.to_string(), error.kind)),
            "{content}"
        );
        own.err()
    };
    let good = json!({"email": "a@example.com", "age": 30, "news": true, "size": "S", "color": "#f00", "colors": ["#0f0"], "more": 1.5});
    assert_eq!(verdict(good), None);
    assert_eq!(verdict(json!({"email": "a@b", "age": 4.0, "colors": "#f00"})), None);
    for (content, field, fault) in [
        (json!({}), "email", FormErrorKind::Missing),
        (json!([]), "", FormErrorKind::InvalidType),
        (json!({"email": 1}), "email", FormErrorKind::InvalidType),
        (json!({"email": null}), "email", FormErrorKind::InvalidType),
        (json!({"email": "nobody"}), "email", FormErrorKind::InvalidFormat),
        (json!({"email": "é".repeat(19) + "@b"}), "email", FormErrorKind::InvalidLength),
        (json!({"email": "a@b", "age": 1.5}), "age", FormErrorKind::InvalidType),
        (json!({"email": "a@b", "age": "1"}), "age", FormErrorKind::InvalidType),
        (json!({"email": "a@b", "age": -1}), "age", FormErrorKind::OutOfRange),
        (json!({"email": "a@b", "age": 151}), "age", FormErrorKind::OutOfRange),
        (json!({"email": "a@b", "news": "yes"}), "news", FormErrorKind::InvalidType),
        (json!({"email": "a@b", "size": "XL"}), "size", FormErrorKind::UnknownOption),
        (json!({"email": "a@b", "color": "Red"}), "color", FormErrorKind::UnknownOption),
        (
            json!({"email": "a@b", "colors": ["#f00", "#0f0"]}),
            "colors",
            FormErrorKind::InvalidItemCount,
        ),
        (json!({"email": "a@b", "colors": []}), "colors", FormErrorKind::InvalidItemCount),
        (json!({"email": "a@b", "colors": ["Red"]}), "colors", FormErrorKind::UnknownOption),
        (json!({"email": "a@b", "colors": {}}), "colors", FormErrorKind::InvalidType),
        (json!({"email": "a@b", "more": {"nested": 1}}), "more", FormErrorKind::InvalidType),
        (json!({"email": "a@b", "more": [1]}), "more", FormErrorKind::InvalidType),
    ] {
        assert_eq!(verdict(content.clone()), Some((field.to_owned(), fault)), "{content}");
    }
    // A reader takes either of two members with one key.
    for twice in [r#"{"email":"a@b","age":5,"age":5000}"#, r#"{"email":"a@b","age":5000,"age":5}"#]
    {
        let error = FORM.validate_content(raw(twice)).expect_err("one of them is out of range");
        assert_eq!(error.kind, FormErrorKind::OutOfRange);
    }
    let error = FORM.validate_content(RawJson::EMPTY).expect_err("it is empty");
    assert_eq!(error.to_string(), "field email: missing value");
    let error = FORM.validate_content(raw("[]")).expect_err("it is an array");
    assert_eq!(error.to_string(), "form: value of the wrong type");
    let error = RequestedSchema::from_json(RawJson::EMPTY).expect("an object").validate();
    assert_eq!(error.expect_err("no form").to_string(), "form: schema not allowed in a form");
}

#[test]
fn elic_20_formats_and_ranges() {
    let verdict = |schema: Value, value: Value| {
        let (schema, content) = (
            json!({"type": "object", "properties": {"a": schema}}).to_string(),
            json!({"a": value}).to_string(),
        );
        let read: RequestedSchema = raw(&schema).to().expect("a schema");
        read.validate_content(raw(&content)).map_err(|error| error.kind)
    };
    for (format, right, wrong) in [
        (
            "date",
            &["2026-07-28", "2025-01-31", "0000-12-01"][..],
            &[
                "2026-13-01",
                "2026-00-01",
                "2026-07-32",
                "2026-07-00",
                "2026-07-28T00:00",
                "2026-7-28",
                "26-07-28",
                "2026-07-281",
                "2026/07/28",
                "2026-07 28",
                "20260728--",
                "x",
            ][..],
        ),
        (
            "date-time",
            &["2026-07-28T12:30:00Z", "2026-07-28t12:30:00+02:00", "2026-07-28 10:00"],
            &["2026-07-28", "12:30:00", "2026-07-28T10:0", "2026-07-28x10:00", "2026-13-31T10:00"],
        ),
        (
            "uri",
            &["https://example.com", "urn:a:b", "file:///a", "a:b", "a+1.-:x"],
            &["example.com", "a b:c", "", ":b", "a:", "1a:b", "a:b c", "a_b:c", "a:b\u{1}"],
        ),
        ("email", &["a@b", "a@b@c", "a.b+c@example.com"], &["a", "@b", "a@", "a b@c"]),
        ("color", &["anything", ""], &[]),
    ] {
        let schema = json!({"type": "string", "format": format});
        right.iter().for_each(|text| {
            assert_eq!(verdict(schema.clone(), json!(text)), Ok(()), "{format} {text}")
        });
        wrong.iter().for_each(|text| {
            assert_eq!(
                verdict(schema.clone(), json!(text)),
                Err(FormErrorKind::InvalidFormat),
                "{format} {text}"
            )
        });
    }
    let number = json!({"type": "number", "minimum": 0.5, "maximum": 1e3});
    for (value, fine) in
        [(json!(0.5), true), (json!(0.49), false), (json!(1000), true), (json!(1000.01), false)]
    {
        assert_eq!(verdict(number.clone(), value.clone()).is_ok(), fine, "{value}");
    }
    for (number, is_whole) in [
        (json!(u64::MAX), true),
        (json!(1e21), true),
        (json!(-1e300), true),
        (json!(2.0), true),
        (json!(-1), true),
        (json!(1.5), false),
        (json!(0.1), false),
    ] {
        let found = verdict(json!({"type": "integer"}), number.clone());
        assert_eq!(found.is_ok(), is_whole, "{number}");
    }
    // They are the same as `f64`.
    assert_eq!(
        verdict(json!({"type": "integer", "maximum": u64::MAX - 1}), json!(u64::MAX)),
        Err(FormErrorKind::OutOfRange)
    );
    let expected = Err(FormErrorKind::InvalidLength);
    assert_eq!(verdict(json!({"type": "string", "minLength": 2}), json!("é")), expected);
    let legacy = json!({"type": "string", "enum": ["a"], "enumNames": ["A"]});
    let expected = (Ok(()), Err(FormErrorKind::UnknownOption));
    assert_eq!((verdict(legacy.clone(), json!("a")), verdict(legacy, json!("A"))), expected);
}

#[test]
fn elic_22_content_may_be_any_number_and_requires_accept() {
    let answer: ElicitResult =
        raw(r#"{"action":"accept","content":{"a":1.5,"b":[]}}"#).to().expect("a response");
    let found = (answer.action, answer.content.and_then(|content| content.get("a")?.as_f64()));
    assert_eq!(found, (ElicitAction::Accept, Some(1.5)));
    let answer: ElicitResult =
        raw(r#"{"action":"decline","content":null}"#).to().expect("a response");
    assert!(answer.content.is_none());
    let expected = json!({"action": "cancel"});
    assert_eq!(written(&ElicitResult::new(ElicitAction::Cancel), Revision::LATEST), expected);
    assert!(raw(r#"{"action":"maybe"}"#).to::<ElicitResult>().is_err());
}

#[test]
fn input_requests_are_in_results_and_input_responses_in_params() {
    let questions = [
        ("who", InputRequest::Elicit(ElicitParams::form("Who?", RequestedSchema::new(&[])))),
        ("roots", InputRequest::ListRoots),
    ];
    let result = InputRequiredResult::new()
        .input_requests(InputRequests::new(&questions))
        .request_state("s");
    let value = json!({"resultType": "input_required", "requestState": "s", "inputRequests": {
        "who": {"method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}},
        "roots": {"method": "roots/list"},
    }});
    assert_eq!(written(&result, Revision::LATEST), value);
    let text = value.to_string();
    let read: InputRequiredResult = raw(&text).to().expect("a result");
    assert_eq!(written(&read, Revision::LATEST), value);
    for wrong in [
        "{}",
        "7",
        r#"{"method":"sampling/createMessage"}"#,
        r#"{"method":"sampling/createMessage","params":{"maxTokens":1}}"#,
        r#"{"method":"elicitation/create","params":{"message":"m"}}"#,
    ] {
        assert!(raw(wrong).to::<InputRequest<'_>>().is_err(), "{wrong}");
    }
    let roots = [Root::new("file:///a")];
    let answers = [
        ("who", InputResponse::Elicit(ElicitResult::accept(RawJson::EMPTY))),
        ("roots", InputResponse::ListRoots(ListRootsResult::new(&roots))),
    ];
    let params = CallToolParams::new("n").input_responses(InputResponses::new(&answers));
    let text = written(&params, Revision::LATEST).to_string();
    let params: CallToolParams = raw(&text).to().expect("params");
    let answers = params.input_responses.expect("the members are present");
    assert!(
        matches!(answers.get("who"), Some(Ok(InputResponse::Elicit(answer))) if answer.action == ElicitAction::Accept)
    );
    assert!(
        matches!(answers.get("roots"), Some(Ok(InputResponse::ListRoots(answer))) if answer.roots.len() == 1)
    );
    assert!(answers.get("model").is_none());
}
