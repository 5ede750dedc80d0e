//! What does not compile: the compiler marks the token that is wrong, and says what to write.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use serde_json::Value;

/// Items and fields that the macros refuse, with the refused token in `«»`. Behind `=>` stands a
/// part of the message for those before it. A line that begins with blanks goes on with the one
/// before.
/// No other error follows, also where the type is used.
const REFUSED: &str = r##"
#[arg(«lenght» = 1..=2)] a: u8
=> unknown option; known are `range = 1..=10`, `length = 1..=10`
#[arg(range = 1..=2, «range» = 1..=3)] a: u8
=> this option is given twice
#[arg(range = 1..«2»)] a: u8
=> expected a range that includes its end: `1..=10`, `1..` or `..=10`
#[arg(range = 0.5..=«2»)] a: f64
=> write both bounds with a point: `0.0..=1.0`
#[arg(range = 0.5..=1.0, default = «0.25»)] a: f64
=> the default is not in the `range`
#[arg(format = «"data"»)] a: Text<'a>
=> unknown format: write "date", "date-time", "email" or "uri"
#[arg(name = «""»)] a: u8
=> a name is not empty, and has no quote
#[derive(Input)] #[input(«close»)] struct A;
=> unknown option; known are `open`
#[derive(Input)] #[input(rename_all = «"camel"»)] struct A;
=> unknown case: write "camelCase"
#[derive(Input)] struct A<«T»> { a: T }
=> a type with type or const parameters has no constant schema
#[derive(Input)] struct A<'a, «'b»> { a: Text<'a>, b: Text<'b> }
=> a type has one lifetime
#[derive(Input)] struct A«(u8, u8)»;
=> has named fields, or one field without a name
#[derive(Input)] #[input(tag = «"kind"»)] struct A;
=> `tag` is for enums
#[derive(Input)] «union» A { a: u8 }
=> `Input` is for structs and enums
#[derive(Input)] enum «A» {}
=> an enum without variants has no values
#[derive(Input)] enum A { B, C«{ a: u8 }» }
=> names the member that tells them apart: #[input(tag = "kind")]
#[derive(Input)] enum A { B = «7» }
=> remove the number of this variant
#[derive(Input)] enum A { #[input(name = "b")] C, «B» }
=> two variants have the same name
#[derive(Tools)] enum A { «B» }
=> a tool needs a description, by which a model knows what it does
#[derive(Tools)] enum A { /** b */ #[tool(«readonly»)] B }
=> unknown option; known are `name
#[derive(Tools)] enum A { /** b */ B, /** c */ #[tool(name = "b")] «C» }
=> two tools have the same name
#[derive(Tools)] enum A { /** b */ #[tool(name = «"b c"»)] B }
=> the name of a tool has 1 to 128 letters of ASCII
#[derive(Tools)] enum A { /** b */ B«(u8, u8)» }
=> named arguments, or a struct that derives Input
#[derive(Tools)] struct «A»;
=> `Tools` is for enums: a variant is a tool
#[derive(Prompts)] struct «A»;
=> `Prompts` is for enums: a variant is a prompt
#[derive(Prompts)] enum A { #[prompt(«read_only»)] B }
=> unknown option; known are `name = ".."`, `title = ".."`, `scopes("..")`, `flatten`
#[derive(Prompts)] enum A { #[prompt(scopes("read", «"with space"»))] B }
=> a scope has visible letters of ASCII, without `"` and `\`
#[derive(Tools)] enum A { /** B */ #[tool(scopes(«""»))] B }
=> a scope has visible letters of ASCII
#[derive(Tools)] enum A { /** B */ #[tool(«scopes()»)] B }
=> expected scopes: `scopes("files:read", "files:write")`
#[derive(Tools)] enum A { /** B */ #[tool(scopes «=» "files:read")] B }
=> expected parentheses
#[derive(Prompts)] enum A { B, #[prompt(name = "b")] «C» }
=> two prompts have the same name
#[derive(Tools)] enum «A» {}
=> an enum without variants offers nothing
#[derive(Tools)] enum A { /** B */ B { #[arg(«lenght» = 1..=2)] a: u8 } }
#[derive(Prompts)] enum A { B { #[arg(«lenght» = 1..=2)] a: Text<'static> } }
#[derive(Input)] enum B { #[input(«nam» = "c")] C } #[derive(Prompts)] enum A { B { b: B } }
=> unknown option
#[derive(Output)] «union» A { a: u8 }
=> `Output` is for structs and enums
#[derive(Output)] #[output(«untaged»)] enum A { B }
=> unknown option; known are `untagged`
#[derive(Output)] #[output(«untagged»)] struct A;
=> `untagged` is for enums
#[derive(Output)] #[input(tag = "a")] #[output(«untagged»)] enum A { B }
=> `untagged` stands alone
#[derive(Output)] #[output(untagged)] enum A { «B { b: u8 }» }
=> a variant of an untagged enum has one struct that derives Output
#[derive(Output)] struct N;
    #[derive(Output)] #[output(untagged)] enum A { #[input(title = «"b"»)] B(N) }
=> a variant of an untagged enum is not seen, and has no name or title
#[derive(Output)] struct N; #[derive(Output)] #[output(untagged)] enum A { B(N), C(«N») }
=> another variant has this type
#[derive(Input)] #[input(schema = «S»)] enum A { B }
#[derive(Output)] #[input(schema = «S»)] struct A { a: u8 }
=> `schema` is for the arguments of a tool
// Options in a place where none are read.
#[derive(Input)] struct A { #[input(«default» = 5)] a: u8 }
#[derive(Input)] #[arg(«title» = "a")] struct A;
#[derive(Output)] enum A { #[output(«name» = "b")] B }
#[derive(Input)] #[input(tag = "a")] enum A { #[arg(«name» = "b")] B }
#[derive(Input)] struct N; #[derive(Input)] #[input(tag = "a")] enum A { B(#[arg(«name» = "b")] N) }
#[derive(Tools)] #[tool(«read_only»)] enum A { /** B */ B }
#[derive(Tools)] enum A { /** B */ #[arg(«title» = "b")] B }
#[derive(Input)] struct N; #[derive(Prompts)] enum A { B(#[arg(«title» = "b")] N) }
#[derive(Output)] struct N;
    #[derive(Output)] #[output(untagged)] enum A { B(#[arg(«name» = "b")] N) }
=> unknown option; known are none in this place
"##;

const PRELUDE: &str = "#![allow(unused)]
use mcp_sansio::types::{RequestedSchema, Text};
use mcp_sansio::typed::{AsyncToolHandler, Input, Output, OutputObject, Prompts, ToolCall};
use mcp_sansio::typed::{ToolHandler, Tools};
use mcp_sansio::{Catalog, NoOutput, RawJson, ToolContext, ToolOutput, ToolResult};
";

/// Uses of a type with each derive. The type has no lifetime.
const USES: &[(&str, &str)] = &[
    ("#[derive(Input)]", "fn read(json: RawJson<'static>) -> A { <A as Input>::read(json) }"),
    ("#[derive(Output)]", "fn schema(a: A) -> RawJson<'static> { <A as OutputObject>::SCHEMA }"),
    ("#[derive(Prompts)]", "static C: Catalog = Catalog::new().prompts_of::<A>();"),
    (
        "#[derive(Tools)]",
        "static C: Catalog = Catalog::new().tools_of::<A>();
        struct H;
        impl ToolHandler for H {
            type Tools = A;
            type Output<'a> = NoOutput;
            fn call<'a>(&mut self, _: A, _: ToolContext<'a>) -> ToolResult<'a> { Err(\"no\")? }
        }",
    ),
];

/// What does not compile for another reason. The token is not marked where that is in the library.
const OTHERS: &str = r##"
// A derive is missing.
struct A; static C: Catalog = Catalog::new().tools_of::<«A»>();
=> `A` is not a set of tools
struct A; static C: Catalog = Catalog::new().prompts_of::<«A»>();
=> `A` is not a set of prompts
struct A; struct H; impl ToolHandler for H { type Tools = «A»; type Output<'a> = NoOutput;
    fn call<'a>(&mut self, _: A, _: ToolContext<'a>) -> ToolResult<'a> { Err("no")? } }
=> `A` is not a set of tools
fn call<C: ToolCall>() {} fn main2() { call::<«u8»>() }
=> `u8` is not a tool as its client
// A handler is of the other kind.
fn serve<H: ToolHandler>() {} fn main2() { serve::<«u8»>() }
=> `u8` has no tools that return at once
fn serve<H: AsyncToolHandler>() {} fn main2() { serve::<«u8»>() }
=> `u8` has no tools that take time
// The results of a handler.
fn call() -> ToolResult<'static> { std::fs::read("a")«?»; Err("no")? }
=> `?` couldn't convert the error: `std::io::Error: IntoToolError<'_>` is not satisfied
fn call() -> ToolResult<'static> { Ok(ToolOutput::Structured(«7») ) }
=> mismatched types
// Constants.
const A: RawJson = «RawJson::from_static("{\"a\":{}")»;
=> the JSON value has no end: a brace, a bracket or a quote is missing
const A: RawJson = «RawJson::from_static("[1 2]")»;
=> invalid JSON at byte 3
// The types do not fit.
#[derive(Tools)] enum A { /** b */ B(«u8») }
=> `u8` cannot be the arguments of a tool
#[derive(Tools)] enum A { /** b */ B { a: «&'static str» } }
=> cannot be read from JSON
#[derive(Input)] struct A<'a> { a: «&'a str» }
=> `&'a str` cannot be read from JSON
// The options would belong to no tool: its scopes, for example, would be asked of nobody.
#[derive(Tools)] enum A { /** b */ B }
    #[derive(Tools)] enum C { #[tool(«flatten», scopes("a"))] D(A) }
=> `flatten` stands alone: write the other options on the variants of the enum
#[derive(Tools)] enum A { /** b */ B }
    #[derive(Tools)] enum C { #[tool(flatten)] D(#[arg(«name» = "d")] A) }
=> unknown option; known are none in this place
#[derive(Tools)] enum C { #[tool(«flatten»)] D() }
=> `flatten` is for a variant that holds another such enum
#[derive(Tools)] enum A { /** b */ #[tool(destructive, «destructive = false»)] B }
=> this option is given twice
// The constants are refused while they are evaluated.
#[derive(Tools)] enum A { /** b */ B }
    #[derive(«Tools»)] enum C { /** b */ B, #[tool(flatten)] D(A) }
=> two variants have the same name
use mcp_sansio::{entries, types::Tool}; #[derive(Tools)] enum A { /** b */ B }
    const C: Catalog =
    Catalog::new().tools_of::<A>().tools(entries![Tool::new("b", RawJson::EMPTY)]);
use mcp_sansio::{Entry, entries, types::Prompt};
    const A: &[Entry] = entries![Prompt::new("a"), Prompt::new("a")];
=> two entries have the same name or URI
// R3-B1: the second list would replace the first.
#[derive(Tools)] enum A { /** b */ B } #[derive(Tools)] enum D { /** c */ C }
    const C: Catalog = Catalog::new().tools_of::<A>().tools_of::<D>();
=> the catalog has an enum of tools already: see `flatten`
#[derive(Prompts)] enum A { B } #[derive(Prompts)] enum D { C }
    const C: Catalog = Catalog::new().prompts_of::<A>().prompts_of::<D>();
=> the catalog has an enum of prompts already: see `flatten`
use mcp_sansio::{entries, types::Tool};
    const C: Catalog = Catalog::new().tools(entries![Tool::new("a", RawJson::EMPTY)])
    .tools(entries![Tool::new("b", RawJson::EMPTY)]);
use mcp_sansio::{entries, types::Prompt}; #[derive(Prompts)] enum A { B }
    const C: Catalog = Catalog::new().prompts(entries![Prompt::new("a")]).prompts_of::<A>();
=> the catalog has such a list already: all entries stand in one
use mcp_sansio::{Entry, entries, types::ResourceTemplate};
    const A: &[Entry] = entries![ResourceTemplate::new("rows", "table://{table}")];
=> a URI has a scheme: the URI comes first, then the name
#[derive(Prompts)] enum A { B «{ a: u8 }» }
=> an argument of a prompt is a string: a text, or an enum without fields
const MOST: u64 = 1 << 32; #[derive(Input)] struct A<'a> { #[arg(length = ..=«MOST»)] a: Text<'a> }
const MOST: u64 = u64::MAX; #[derive(Input)] struct A { #[arg(range = 0..=«MOST»)] a: i64 }
=> this integer is out of range
// Limits of a type are not replaced.
#[derive(Input)] struct N(#[arg(length = ..=2)] String);
    #[derive(Input)] struct A { #[arg(length = «3..=4»)] a: N }
=> `length` is empty: its start is greater than its end
#[derive(Input)] struct N(#[arg(format = "date")] String);
    #[derive(Input)] struct A { #[arg(format = «"uri"»)] a: N }
=> `format` is for strings that have none
#[derive(Input)] struct N(#[arg(range = 0.5..)] f32);
    #[derive(Input)] struct A { #[arg(range = «0.0..=1.0»)] a: N }
=> `range` with a point is for f32, f64 and Number, and given once
#[derive(«Input»)] struct A { a: u8, #[arg(name = "a")] b: u8 }
=> two members have the same name
#[derive(«Input»)] #[input(tag = "a")] enum A { B { a: u8 } }
=> a member has the name of the tag
#[derive(Input)] #[input(tag = "a")] enum A { B(«u8») }
=> a variant holds a struct that derives Input
#[derive(«Input»)] struct A { a: Vec<Vec<Vec<Vec<Vec<Vec<Vec<Vec<u8>>>>>>>> }
=> more than 8 levels of arrays and objects
#[derive(Input)] struct A { a: Vec<u8> } const B: RequestedSchema = RequestedSchema::of::<A>();
=> a field of a form is a text, a number, a boolean, an enum without fields or an array
#[derive(Tools)] enum A { /** b */ #[tool(returns = «u8»)] B }
=> `u8` cannot be the structured content
#[derive(Tools)] enum A { /** b */ #[tool(ui = «"ui://a"»)] B }
=> mismatched types
#[derive(Tools)] enum A { /** b */ #[tool(ui =«)»] B }
=> expected an expression
struct N; #[derive(Output)] struct A { a: «N» }
=> `N` cannot be written with a schema
struct N; #[derive(Output)] #[output(untagged)] enum A { B(«N») }
=> `N` cannot be the structured content of a tool's result
#[derive(Output)] struct N; #[derive(Output)] #[output(untagged)] enum A { B(N) }
    #[derive(Tools)] enum T { /** T */ #[tool(returns = «A»)] T }
=> `A` cannot be the structured content of a tool's result
#[arg(default = «"x"»)] a: bool
=> a default is `true`, `7`, `0.5`, `"text"` or the variant of an enum
#[arg(range = «0..=256»)] a: u8
=> `range` has values that the type cannot hold
#[arg(default = «true»)] a: f64
=> a default is `true`, `7`, `0.5`
#[arg(range = «2..=1»)] a: u8
=> `range` is empty: its start is greater than its end
#[arg(range = «0..=1»)] a: f32
=> of a number it has a point: 0.0..=1.0
#[arg(length = «0..=1»)] a: u8
=> `length` is for strings and arrays
#[arg(format = «"date"»)] a: u8
=> `format` is for strings
#[arg(default = «300»)] a: u8
#[arg(range = 1..=2, default = «3»)] a: u8
=> the default is not in the `range`
#[arg(length = 2.., default = «"é"»)] a: Text<'a>
=> the default is not in the `length`
#[arg(header = «"a b"»)] a: u8
=> the name of a header field has letters
"##;

/// Returns the items of a table with their messages. A field is that of a struct.
fn rows(table: &'static str) -> Vec<(String, &'static str)> {
    let (mut rows, mut said) = (Vec::<(String, &str)>::new(), 0);
    for line in table.lines().filter(|line| !line.is_empty() && !line.starts_with("//")) {
        if let Some(message) = line.strip_prefix("=> ") {
            rows[said..].iter_mut().for_each(|row| row.1 = message);
            said = rows.len();
        } else if line.starts_with(' ') {
            let (item, _) = rows.last_mut().expect("an item goes on");
            *item = format!("{item}\n{line}");
        } else if line.starts_with("#[arg(") {
            let lifetime = if line.contains("'a") { "<'a>" } else { "" };
            rows.push((format!("#[derive(Input)] struct A{lifetime} {{ {line} }}"), ""));
        } else {
            rows.push((line.to_owned(), ""));
        }
    }
    assert_eq!(said, rows.len(), "a message for each");
    rows
}

#[test]
fn what_is_wrong_is_marked_and_named() {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("typed");
    let core = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let _ = fs::remove_dir_all(root.join("examples"));
    fs::create_dir_all(root.join("examples")).unwrap();
    fs::create_dir_all(root.join("src")).unwrap();
    fs::write(root.join("src/lib.rs"), "").unwrap();
    fs::copy(core.join("Cargo.lock"), root.join("Cargo.lock")).unwrap();
    let dependency = format!("path = {:?}, features = [\"alloc\", \"derive\"]", core.join("core"));
    let manifest = format!(
        "[package]\nname = \"snippets\"\nedition = \"2024\"\n\
         [workspace]\n[dependencies]\nmcp-sansio = {{ {dependency} }}\n"
    );
    fs::write(root.join("Cargo.toml"), manifest).unwrap();
    let mut snippets = rows(REFUSED);
    let refused = snippets.len();
    snippets.extend(rows(OTHERS));
    for (number, (snippet, _)) in snippets.iter().enumerate() {
        let snippet = snippet.replace(['«', '»'], "");
        // The last derive is that of `A`. A type with parameters is not used.
        let is_used = number < refused && !snippet.contains("A<");
        let last = USES.iter().filter(|_| is_used).max_by_key(|(derive, _)| snippet.rfind(derive));
        let used = last.map_or("", |(_, used)| used);
        let code = format!("{PRELUDE}{snippet}\n{used}\nfn main() {{}}\n");
        fs::write(root.join(format!("examples/snippet{number}.rs")), code).unwrap();
    }
    let output = Command::new(env::var("CARGO").unwrap_or("cargo".into()))
        .args(["check", "--examples", "--keep-going", "--offline", "--quiet"])
        .arg("--message-format=json")
        .current_dir(&root)
        .env("CARGO_TARGET_DIR", root.join("target"))
        .output()
        .unwrap();
    let mut found: HashMap<String, Vec<(String, String)>> = HashMap::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let message = &line["message"];
        if message["level"] == "error" {
            let name = line["target"]["name"].as_str().unwrap_or_default().to_owned();
            let text = message["message"].as_str().unwrap_or_default().to_owned();
            for span in message["spans"].as_array().into_iter().flatten() {
                if span["is_primary"] == true {
                    found.entry(name.clone()).or_default().push((marked(span), text.clone()));
                }
            }
        }
    }
    let wrong: Vec<String> = snippets
        .iter()
        .enumerate()
        .filter_map(|(number, (snippet, message))| {
            let token = snippet.split(['«', '»']).nth(1);
            let all = found.get(&format!("snippet{number}")).map(Vec::as_slice).unwrap_or_default();
            let is_said = all.iter().any(|(marked, text)| {
                token.is_none_or(|token| marked == token) && text.contains(message)
            });
            let is_alone = number >= refused || all.len() == 1;
            (!is_said || !is_alone).then(|| format!("{snippet}\n  {message}\n  {all:?}\n"))
        })
        .collect();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(wrong.is_empty(), "{}\n{}", wrong.join("\n"), errors);
}

/// Returns the text that a message marks.
fn marked(span: &Value) -> String {
    let line = &span["text"][0];
    let column = |key: &str| line[key].as_u64().map_or(0, |column| column as usize - 1);
    let text: Vec<char> = line["text"].as_str().unwrap_or_default().chars().collect();
    text[column("highlight_start")..column("highlight_end")].iter().collect()
}
