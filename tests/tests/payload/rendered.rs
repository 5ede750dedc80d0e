//! Constants that are rendered while compiling read as values that are encoded.

use mcp_sansio::types::{
    Annotations, Icon, IconTheme, Number, Prompt, PromptArgument, Resource, ResourceTemplate, Role,
    TaskSupport, Tool, ToolAnnotations, ToolExecution,
};
use mcp_sansio::{Encode, Entry, OwnedJson, RawJson, Revisions, entries, to_slice};

const ICONS: &[Icon<'static>] = &[
    Icon::new("data:,").sizes(&[]).theme(IconTheme::Dark),
    Icon::new("https://x/y").mime_type("image/png"),
];
const OBJECT: RawJson<'static> =
    RawJson::from_static("{\"type\":\n \"object\",\t\"é\":[\"\\u0041\"]}");
const ANY: RawJson<'static> = RawJson::from_static(r#"{"type":["object","null"]}"#);
const TOOLS: [Tool<'static>; 3] = [
    Tool::new("plain", OBJECT),
    Tool::new("full", OBJECT)
        .title("tab\t, quote \", backslash \\, bell \u{7}, line\r\n\u{8}\u{c}, é \u{7f}")
        .description("")
        .icons(ICONS)
        .output_schema(OBJECT)
        .annotations(ToolAnnotations::new().read_only_hint(true).title("t").open_world_hint(false))
        .execution(ToolExecution::new().task_support(TaskSupport::Optional))
        .meta(RawJson::from_static(r#"{"a":{"b":null}}"#)),
    Tool::new("any", ANY).output_schema(ANY).execution(ToolExecution::new()),
];
const RESOURCES: [Resource<'static>; 3] = [
    Resource::new("u:a", "a").size(0),
    Resource::new("u:b", "b").size(u64::MAX).annotations(
        Annotations::new()
            .audience(&[Role::User, Role::Assistant])
            .priority(Number::decimal(-1050, 3))
            .last_modified("2026"),
    ),
    // The first member of the annotations is one that only some revisions define.
    Resource::new("u:c", "c").annotations(Annotations::new().last_modified("2026")).icons(ICONS),
];
const TEMPLATES: [ResourceTemplate<'static>; 1] = [ResourceTemplate::new("u:{a}", "é")
    .annotations(Annotations::new().priority(Number::decimal(5, 2)).last_modified("x"))
    .mime_type("text/plain")];
const ARGUMENTS: [PromptArgument<'static>; 2] = [
    PromptArgument::new("a\"b").title("A").description("d").required(true),
    PromptArgument::new("c").required(false),
];
const PROMPTS: [Prompt<'static>; 3] = [
    Prompt::new("p").title("t").arguments(&ARGUMENTS).meta(RawJson::EMPTY),
    Prompt::new("q").arguments(&[]),
    Prompt::new("\"r\""),
];
/// Each of them as it is encoded, rendered while compiling, and owned.
macro_rules! entries_of {
    ($($list:ident[$($at:literal)+])+) => {
        const RENDERED: &[Entry<'static>] = entries![$($($list[$at],)+)+];

        fn encoded() -> Vec<(&'static dyn Encode, Entry<'static>)> {
            vec![$($((&$list[$at], (&$list[$at]).into()),)+)+]
        }

        fn owned() -> Vec<Entry<'static>> {
            vec![$($($list[$at].into(),)+)+]
        }
    };
}

entries_of! { TOOLS[0 1 2] RESOURCES[0 1 2] TEMPLATES[0] PROMPTS[0 1 2] }

#[test]
fn rendered_entries_read_as_encoded_values_in_each_revision() {
    let (encoded, owned) = (encoded(), owned());
    assert_eq!(RENDERED.len(), encoded.len());
    let encoded = encoded.iter().chain(&encoded);
    for (rendered, (value, entry)) in RENDERED.iter().chain(&owned).zip(encoded) {
        for revision in Revisions::ALL.iter() {
            let (mut one, mut other) = ([0; 2048], [0; 2048]);
            assert_eq!(
                to_slice(rendered, revision, &mut one).unwrap().as_str(),
                to_slice(*value, revision, &mut other).unwrap().as_str(),
                "{rendered:?} in {revision}"
            );
        }
        assert_eq!(rendered.key(), entry.key());
        assert_eq!(rendered.output_schema().is_some(), entry.output_schema().is_some());
        let one_line = entry.input_schema().as_str().replace('\n', " ");
        assert_eq!(rendered.input_schema().as_str().replace('\n', " "), one_line);
    }
}

#[test]
fn owned_entries_have_any_text() {
    let every: String = ('\0'..'\u{900}').chain(['\u{2028}', '\u{ffff}', '\u{1f600}']).collect();
    let spaced = "\r\n{\t\"type\" :\n[ \"object\" , 1.50e+3,\r\"\\ud83d\\ude00\\n\" ] }\n";
    let received = RawJson::parse("\"a\\u0062\\\"\\/c\"").unwrap().as_string().unwrap();
    let mut tool = Tool::new("t", RawJson::parse(spaced).unwrap()).description(&every);
    tool.name = received.into();
    tool.title = Some(received.into());
    let (owned, borrowed) = (Entry::from(tool), Entry::from(&tool));
    assert_eq!((owned.key(), owned.key() == "ab\"/c"), (borrowed.key(), true));
    assert_eq!(owned.input_schema().as_str(), borrowed.input_schema().as_str());
    for revision in Revisions::ALL.iter() {
        let texts = [&owned, &borrowed].map(|entry| {
            let text = OwnedJson::new(entry, revision).unwrap();
            serde_json::from_str::<serde_json::Value>(text.as_json().as_str()).unwrap()
        });
        assert_eq!(texts[0], texts[1]);
        assert_eq!(texts[0]["description"], every);
    }
}
