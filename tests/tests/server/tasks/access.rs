//! Tasks of others do not exist for a client.

use mcp_sansio::tasks::{TaskEnd, TaskOwner};
use serde_json::json;

use super::rig::{BOTH, Dialect, ME, Rig};

#[test]
fn tsk_50_tsk_51_tsk_61_tex_48_tex_49_a_task_of_another_owner_is_unknown() {
    for dialect in BOTH {
        let mut rig = Rig::new(dialect);
        let number = rig.connect(dialect);
        let id = rig.created(dialect);
        let methods: &[&str] = match dialect {
            Dialect::D => &["tasks/get", "tasks/result", "tasks/cancel"],
            Dialect::T => &["tasks/get", "tasks/update", "tasks/cancel"],
        };
        let ask = |rig: &mut Rig, owner, method: &str, id: &str| {
            let params = json!({ "taskId": id, "inputResponses": {} });
            rig.ask_as(number, owner, dialect, method, params)
        };
        for method in methods {
            let unknown = ask(&mut rig, TaskOwner(2), method, &"0".repeat(32));
            assert_eq!(unknown[0]["error"]["code"], -32602);
            for text in [id.as_str(), &id.to_uppercase(), &format!("{id} "), "", "x"] {
                assert_eq!(ask(&mut rig, TaskOwner(2), method, text), unknown, "{method} {text:?}");
            }
        }
        if dialect == Dialect::D {
            let list = rig.ask_as(number, TaskOwner(2), dialect, "tasks/list", json!({}));
            assert_eq!(list[0]["result"]["tasks"], json!([]));
        }
        assert!(rig.log.is_empty());
        assert_eq!(rig.status(dialect, &id), "working");
    }
}

/// A client of the other revision sees the task in the form of its own.
#[test]
fn tex_54_tex_55_a_task_is_shown_in_the_form_of_the_client_that_asks() {
    let mut rig = Rig::new(Dialect::D);
    let number = rig.connect(Dialect::T);
    let id = rig.created(Dialect::D);
    rig.end(&id, TaskEnd::ToolFailed, r#"{"content":[],"isError":true}"#);
    let params = json!({ "taskId": id });
    let modern = rig.ask_as(number, ME, Dialect::T, "tasks/get", params.clone());
    assert_eq!(modern[0]["result"]["status"], "completed");
    assert_eq!(modern[0]["result"]["result"]["isError"], true);
    assert_eq!(modern[0]["result"]["ttlMs"], 3_600_000);
    assert_eq!(rig.get(Dialect::D, &id)["status"], "failed");
    assert_eq!(rig.get(Dialect::D, &id)["ttl"], 3_600_000);
    // On one connection, too.
    let params = json!({ "taskId": id });
    assert_eq!(rig.ask(Dialect::T, "tasks/get", params)["result"]["status"], "completed");
}
