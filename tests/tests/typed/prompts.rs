//! Enums of prompts.

use mcp_sansio::typed::{Faults, Input, Prompts};
use mcp_sansio::types::Text;
use mcp_sansio::{Catalog, JsonStr, RawJson, Revision};

use crate::zoo::Mode;

#[derive(Prompts, Debug)]
enum Ask<'a> {
    /// Asks for a review
    /// of code.
    #[prompt(title = "Review")]
    Review {
        /// The code
        #[arg(title = "Code", length = 1..=20)]
        code: Text<'a>,
        #[arg(default = Mode::Fast)]
        mode: Mode,
        language: Option<Text<'a>>,
    },
    #[prompt(flatten)]
    Other(Other<'a>),
    #[prompt(name = "résumé of changes")]
    Changes,
}

#[derive(Prompts, Debug)]
enum Other<'o> {
    /// Translates a text.
    Translate(Translation<'o>),
}

#[derive(Input, Debug)]
struct Translation<'t> {
    text: Text<'t>,
    #[arg(name = "how")]
    mode: Mode,
}

static CATALOG: Catalog = Catalog::new().prompts_of::<Ask>();

fn ask<'a>(name: &str, arguments: &'a str) -> Option<Result<Ask<'a>, Faults<'a>>> {
    Ask::parse(name, RawJson::parse(arguments).unwrap())
}

#[test]
fn prompts_are_listed_with_their_arguments() {
    CATALOG.check().unwrap();
    let shown = |at: usize, revision| {
        let mut buffer = [0; 1024];
        let json = mcp_sansio::to_slice(&Ask::PROMPTS[at], revision, &mut buffer).unwrap();
        json.as_str().to_owned()
    };
    assert_eq!(
        shown(0, Revision::LATEST),
        concat!(
            r#"{"name":"review","title":"Review","description":"Asks for a review of code.","#,
            r#""arguments":[{"name":"code","title":"Code","description":"The code","required":true},"#,
            r#"{"name":"mode","description":"How it is run."},{"name":"language"}]}"#,
        )
    );
    assert_eq!(
        shown(0, Revision::V2025_03_26),
        concat!(
            r#"{"name":"review","description":"Asks for a review of code.","#,
            r#""arguments":[{"name":"code","description":"The code","required":true},"#,
            r#"{"name":"mode","description":"How it is run."},{"name":"language"}]}"#,
        )
    );
    assert_eq!(shown(1, Revision::LATEST), r#"{"name":"résumé of changes"}"#);
    assert_eq!(
        shown(2, Revision::LATEST),
        concat!(
            r#"{"name":"translate","description":"Translates a text.","arguments":["#,
            r#"{"name":"text","required":true},"#,
            r#"{"name":"how","description":"How it is run.","required":true}]}"#,
        )
    );
}

#[test]
fn a_prompt_is_a_variant() {
    let review = ask("review", r#"{"code":"fn","mode":"very_exact"}"#).unwrap().unwrap();
    assert!(
        matches!(review, Ask::Review { code, mode: Mode::VeryExact, language: None } if code == "fn")
    );
    let review = ask("review", r#"{"code":"\n","language":"C"}"#).unwrap().unwrap();
    assert!(matches!(review, Ask::Review { code, mode: Mode::Fast, language: Some(language) }
        if code == "\n" && language == "C"));
    assert!(matches!(ask("résumé of changes", "{}"), Some(Ok(Ask::Changes))));
    let other = ask("translate", r#"{"text":"a","how":"best-effort"}"#).unwrap().unwrap();
    assert!(matches!(other, Ask::Other(Other::Translate(Translation { text, mode: Mode::Best }))
        if text == "a"));
    let escaped =
        Ask::parse(JsonStr::from_static(r#""r\u00e9sum\u00e9 of changes""#), RawJson::EMPTY);
    assert!(matches!(escaped, Some(Ok(Ask::Changes))));
}

#[test]
fn unknown_names_and_faults_are_told_apart() {
    for name in ["", "Review", "review ", "changes"] {
        assert!(ask(name, "{}").is_none(), "{name}");
    }
    let faults = ask("review", r#"{"code":"","mode":"slow","colour":"red"}"#).unwrap().unwrap_err();
    assert_eq!(
        faults.to_string(),
        "code: must be a string of 1 to 20 characters, has 0\n\
         mode: must be one of \"fast\", \"very_exact\", \"best-effort\", is \"slow\"\n\
         colour: is unknown, must be one of code, mode, language"
    );
}
