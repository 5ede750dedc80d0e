//! Families of transcripts: conversations that differ in a setting and in what follows from it.
//! Each member is played as if it were a file; a test in `tests/scripted/transcripts.rs` has the
//! name of the family.

use std::fmt::Display;

/// Returns the names and texts of all members.
pub(super) fn all() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for set in ["A", "A B", "A B C D", "A B C D E", "A D", "A E", "B", "B C", "C", "D", "D E"] {
        all.push(named("life/", VERSIONS_OFFERED, set, versions_offered(set)));
    }
    for set in ["A", "A B", "A B C D", "A C", "B", "B C D", "C", "D"] {
        all.push(named("client/life/", NEWEST_OFFERED, set, newest_offered(set)));
    }
    for (set, declared, in_a) in DECLARED {
        all.push(named(
            "cap/",
            CAPABILITIES_DECLARED,
            set,
            capabilities_declared(set, declared, in_a),
        ));
    }
    for (set, _) in FEATURES.into_iter().chain([("tools resources prompts", "")]) {
        all.push(named("cap/", ONLY_METHODS, set, only_methods(set)));
    }
    for set in [
        "",
        "prompts.listChanged",
        "resources.listChanged",
        "resources.subscribe",
        "resources.subscribe resources.listChanged",
        "tools.listChanged",
        "tools.listChanged resources.listChanged",
    ] {
        all.push(named("tol/", CHANGES_DECLARED, set, changes_declared(set)));
    }
    all.push(named("client/ver/", OTHER_ANSWERS, "of any kind", other_answers()));
    all
}

fn named(folder: &str, family: &str, set: &str, text: String) -> (String, String) {
    (format!("{folder}{} ({set})", family.replace('_', "-")), text)
}

/// Replaces the names in a text by values.
fn fill(text: &str, values: &[(&str, &dyn Display)]) -> String {
    let replace =
        |text: String, (name, value): &(&str, &dyn Display)| text.replace(name, &value.to_string());
    values.iter().fold(text.to_owned(), replace)
}

const REVISIONS: [(&str, &str); 5] = [
    ("A", "2024-11-05"),
    ("B", "2025-03-26"),
    ("C", "2025-06-18"),
    ("D", "2025-11-25"),
    ("E", "2026-07-28"),
];

/// Returns the letter and the date of the newest legacy revision of a set.
fn newest_legacy(set: &str) -> (&'static str, &'static str) {
    let mut legacy = REVISIONS[..4].iter().rev();
    *legacy.find(|(letter, _)| set.contains(letter)).expect("a legacy revision")
}

/// A supported version is echoed; any other, also a modern one, gets the newest supported legacy
/// version.
const VERSIONS_OFFERED: &str = "life_09_life_10_life_11_versions_are_offered_to_a_server";

fn versions_offered(set: &str) -> String {
    let mut text = format!("config: revisions {set}\nconfig: capabilities none\n");
    let known = REVISIONS.map(|(_, version)| version);
    let offers = known.into_iter().chain(["1999-01-01", "2030-01-01", "1.0.0", ""]);
    for (id, offered) in (1..).zip(offers) {
        let echoed = REVISIONS[..4]
            .iter()
            .find(|(letter, version)| *version == offered && set.contains(letter));
        let (letter, version) = *echoed.unwrap_or(&newest_legacy(set));
        text += &fill(
            r#"
< {"jsonrpc":"2.0","id":$id,"method":"initialize","params":{"protocolVersion":"$offered","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
> {"jsonrpc":"2.0","id":$id,"result":{"protocolVersion":"$version","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}
! initialize $letter
< {"jsonrpc":"2.0","method":"notifications/initialized"}
! initialized
< {"jsonrpc":"2.0","id":"p","method":"ping"}
> {"jsonrpc":"2.0","id":"p","result":{}}
: close
"#,
            &[("$id", &id), ("$offered", &offered), ("$version", &version), ("$letter", &letter)],
        );
    }
    text
}

/// Any of the client's revisions that the server selects is used, and no other.
const NEWEST_OFFERED: &str = "life_07_life_08_the_newest_revision_is_offered";

fn newest_offered(set: &str) -> String {
    let connect = |id: usize| {
        fill(
            r#": connect
> {"jsonrpc":"2.0","id":$id,"method":"initialize","params":{"protocolVersion":"$offered","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
"#,
            &[("$id", &id), ("$offered", &newest_legacy(set).1)],
        )
    };
    let mut text = format!("config: revisions {set}\n");
    for (id, (letter, version)) in (1..).zip(REVISIONS) {
        let opened = match set.contains(letter) {
            true => {
                r#"> {"jsonrpc":"2.0","method":"notifications/initialized"}
! connected $letter can$more
: revision => $letter"#
            }
            false => {
                r#"! connect failed NoCommonRevision "$version"
: revision => none"#
            }
        };
        let more = if letter == "A" { " COMPLETIONS" } else { "" };
        text += &connect(id);
        text += &fill(
            &[
                r#"< {"jsonrpc":"2.0","id":$id,"result":{"protocolVersion":"$version","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#,
                opened,
                ": close\n: set era legacy\n",
            ]
            .join("\n"),
            &[("$id", &id), ("$version", &version), ("$letter", &letter), ("$more", &more)],
        );
    }
    text + &connect(6) + ": in flight => 1 0\n"
}

/// Supported capabilities are declared, in each revision; nothing else is. 2024-11-05 has no
/// completions.
const CAPABILITIES_DECLARED: &str =
    "cap_01_cap_02_cap_03_cap_04_cap_05_cap_22_tol_24_capabilities_are_declared_in_each_revision";

/// What is supported, how it is declared, and how in 2024-11-05.
const DECLARED: [(&str, &str, &str); 6] = [
    ("prompts", r#""prompts":{}"#, r#""prompts":{}"#),
    ("resources", r#""resources":{}"#, r#""resources":{}"#),
    ("tools", r#""tools":{}"#, r#""tools":{}"#),
    ("logging", r#""logging":{}"#, r#""logging":{}"#),
    ("completions", r#""completions":{}"#, ""),
    (
        "all",
        r#""tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"completions":{},"logging":{}"#,
        r#""tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"logging":{}"#,
    ),
];

fn capabilities_declared(set: &str, declared: &str, in_a: &str) -> String {
    let mut text = format!("config: capabilities {set}\nconfig: nameless\n");
    for (letter, version) in &REVISIONS[..4] {
        let declared = if *letter == "A" { in_a } else { declared };
        text += &fill(
            r#"
< {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"$version","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
> {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"$version","capabilities":{$declared},"serverInfo":{"name":"s","version":"1"}}}
! initialize $letter
: close
"#,
            &[("$version", version), ("$letter", letter), ("$declared", &declared)],
        );
    }
    let discover = r#"
< {"jsonrpc":"2.0","id":"d","method":"server/discover","params":{${meta}}}
> {"jsonrpc":"2.0","id":"d","result":{"supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"capabilities":{$declared},"ttlMs":0,"cacheScope":"public","resultType":"complete"}}
"#;
    text + &fill(discover, &[("$declared", &declared)])
}

/// Methods of what is declared are served and all others are unknown: in the newest legacy revision
/// and in the modern one.
const ONLY_METHODS: &str = "cap_20_cap_21_cap_22_only_the_methods_of_what_is_declared";

/// Features, and what else they have the methods of.
const FEATURES: [(&str, &str); 6] = [
    ("tools", ""),
    ("resources", ""),
    ("resources.subscribe", "resources"),
    ("prompts", ""),
    ("completions", ""),
    ("logging", ""),
];

/// Methods with their features, their parameters, and what a legacy session says where the server
/// handles them by itself.
const METHODS: [(&str, &str, &str, &str); 11] = [
    ("tools", "tools/list", "", ""),
    ("tools", "tools/call", r#""name":"a""#, ""),
    ("resources", "resources/list", "", ""),
    ("resources", "resources/templates/list", "", ""),
    ("resources", "resources/read", r#""uri":"file:///x""#, ""),
    ("resources.subscribe", "resources/subscribe", r#""uri":"file:///x""#, "subscribed file:///x"),
    (
        "resources.subscribe",
        "resources/unsubscribe",
        r#""uri":"file:///x""#,
        "unsubscribed file:///x",
    ),
    ("prompts", "prompts/list", "", ""),
    ("prompts", "prompts/get", r#""name":"p""#, ""),
    (
        "completions",
        "completion/complete",
        r#""ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"x","value":""}"#,
        "",
    ),
    ("logging", "logging/setLevel", r#""level":"info""#, "log level info"),
];

fn only_methods(set: &str) -> String {
    let mut text = format!("config: capabilities {set}\nconfig: session D\nconfig: nameless\n\n");
    let implied = FEATURES.iter().find(|(feature, _)| *feature == set).map_or("", |found| found.1);
    let has = |feature| set.split(' ').chain([implied]).any(|own| own == feature);
    let mut served = 0;
    for (letter, meta, first) in [("D", "", 1), ("E", "${meta}", 101)] {
        for (id, (feature, method, params, by_itself)) in (first..).zip(METHODS) {
            let members: Vec<_> =
                [params, meta].into_iter().filter(|members| !members.is_empty()).collect();
            let response = match (has(feature), by_itself) {
                (true, "") => {
                    served += 1;
                    r##"! #$served $letter $method
: #$served error InternalError no
> {"jsonrpc":"2.0","id":$id,"error":{"code":-32603,"message":"no"}}"##
                }
                // 2026-07-28 has none of these.
                (true, _) if letter == "D" => {
                    "> {\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{}}\n! $itself"
                }
                _ => {
                    r#"> {"jsonrpc":"2.0","id":$id,"error":{"code":-32601,"message":"Method not found"}}
! violation UnknownMethod"#
                }
            };
            let request = r#"< {"jsonrpc":"2.0","id":$id,"method":"$method","params":{$params}}"#;
            text += &fill(
                &format!("{request}\n{response}\n"),
                &[
                    ("$id", &id),
                    ("$method", &method),
                    ("$params", &members.join(",")),
                    ("$served", &served),
                    ("$letter", &letter),
                    ("$itself", &by_itself),
                ],
            );
        }
    }
    text
}

/// Only declared changes are sent: to the legacy session, and to a listen with all of them in its
/// filter.
const CHANGES_DECLARED: &str =
    "tol_24_cap_21_cap_24_sub_05_sub_12_sub_13_sub_14_only_changes_that_are_declared_are_sent";

fn changes_declared(set: &str) -> String {
    let has = |feature| set.split(' ').any(|own| own == feature);
    let when = |feature, text: &'static str| if has(feature) { text } else { "" };
    let joined = |members: &[&'static str]| {
        let members = members.iter().filter(|member| !member.is_empty());
        members.copied().collect::<Vec<_>>().join(",")
    };
    let resources = joined(&[
        when("resources.subscribe", r#""subscribe":true"#),
        when("resources.listChanged", r#""listChanged":true"#),
    ]);
    let granted = joined(&[
        when("tools.listChanged", r#""toolsListChanged":true"#),
        when("prompts.listChanged", r#""promptsListChanged":true"#),
        when("resources.listChanged", r#""resourcesListChanged":true"#),
        when("resources.subscribe", r#""resourceSubscriptions":["file:///a"]"#),
    ]);
    let subscribed = match has("resources.subscribe") {
        true => "> {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n! subscribed file:///a",
        false => {
            r#"> {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found"}}
! violation UnknownMethod"#
        }
    };
    let mut text = fill(
        r#"config: capabilities tools resources prompts $set
config: nameless

< {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
< {"jsonrpc":"2.0","method":"notifications/initialized"}
> {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{$tools},"resources":{$resources},"prompts":{$prompts}},"serverInfo":{"name":"s","version":"1"}}}
! initialize D
! initialized
< {"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"file:///a"}}
$subscribed
< {"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["file:///a"]},${meta}}}
> {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{$granted},"_meta":{"io.modelcontextprotocol/subscriptionId":"L"}}}
! listening #1
"#,
        &[
            ("$set", &set),
            ("$tools", &when("tools.listChanged", r#""listChanged":true"#)),
            ("$resources", &resources),
            ("$prompts", &when("prompts.listChanged", r#""listChanged":true"#)),
            ("$subscribed", &subscribed),
            ("$granted", &granted),
        ],
    );
    for (what, feature, method, members) in [
        ("tools", "tools.listChanged", "tools/list_changed", ""),
        ("prompts", "prompts.listChanged", "prompts/list_changed", ""),
        ("resources", "resources.listChanged", "resources/list_changed", ""),
        ("resource file:///a", "resources.subscribe", "resources/updated", r#""uri":"file:///a""#),
        ("resource file:///b", "", "", ""),
    ] {
        text += &format!(": publish {what}\n");
        if !feature.is_empty() && has(feature) {
            let comma = if members.is_empty() { "" } else { "," };
            text += &fill(
                r#"> {"jsonrpc":"2.0","method":"notifications/$method","params":{$members}}
> {"jsonrpc":"2.0","method":"notifications/$method","params":{$members$comma"_meta":{"io.modelcontextprotocol/subscriptionId":"L"}}}
"#,
                &[("$method", &method), ("$members", &members), ("$comma", &comma)],
            );
        }
    }
    text + r#"< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"L"}}
! cancelled #1
"#
}

/// Errors of any code: those of JSON-RPC, of implementations, and those that 2026-07-28 leaves
/// free; and whatever else is no modern server's response. An oversized response may be one.
const OTHER_ANSWERS: &str = "ver_10_ver_13_err_04_any_other_answer_means_a_legacy_server";

fn other_answers() -> String {
    let codes = [
        -32700, -32600, -32601, -32602, -32603, -32000, -32001, -32002, -32003, -32004, -32019,
        -32023, -32042, -32099, -1, 0, 1, 404,
    ];
    let errors = codes.map(|code| {
        fill(
            r#""jsonrpc":"2.0","id":$id,"error":{"code":$code,"message":"no"}"#,
            &[("$code", &code)],
        )
    });
    let others = [
        r#""id":$id,"error":{"code":-32601,"message":"no"}"#,
        r#""jsonrpc":"2.0","id":$id,"error":"unknown method""#,
        r#""jsonrpc":"2.0","id":$id,"error":{}"#,
        r#""jsonrpc":"2.0","id":$id"#,
        r#""jsonrpc":"2.0","id":$id,"result":null"#,
        r#""jsonrpc":"2.0","id":$id,"result":{}"#,
        r#""jsonrpc":"2.0","id":$id,"result":{},"error":{}"#,
        r#""jsonrpc":"2.0","id":$id,"result":[1]"#,
    ];
    let legacy = r#"> {"jsonrpc":"2.0","id":$next,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
: close
"#;
    let oversized = r#""jsonrpc":"2.0","id":$id,"result":{"x":"${repeat 1000 x}"}"#;
    let failed = "! connect failed TooLong\n: is open => false\n";
    let answers = errors.iter().map(String::as_str).chain(others).map(|answer| (answer, legacy));
    let probed = |(id, (answer, then)): (i32, (&str, &str))| {
        fill(
            r#": set era nothing
: connect
> {"jsonrpc":"2.0","id":$id,"method":"server/discover","params":{${client}}}
< {$answer}
$then"#,
            &[("$answer", &answer), ("$then", &then), ("$id", &id), ("$next", &(id + 1))],
        )
    };
    let all = (1..).step_by(2).zip(answers.chain([(oversized, failed)]));
    "config: rx 1000\n".to_owned() + &all.map(probed).collect::<String>()
}
