//! Tasks of 2026-07-28: the extension `io.modelcontextprotocol/tasks`.

use mcp_sansio::tasks::{MAX_LISTENED, TaskEnd, TaskOwner};
use mcp_sansio::types::Implementation;
use mcp_sansio::{
    Change, Frame, GrowingServerState, Instant, Messages, RawJson, SendError, Server, ServerConfig,
    ServerEvent, ServerFeatures, Tx, TxBuffer,
};
use mcp_sansio_tests::json::lines;
use serde_json::{Value, json};

use super::rig::{Dialect, ME, Rig, code, meta};

const T: Dialect = Dialect::T;
const METHODS: [&str; 3] = ["tasks/get", "tasks/update", "tasks/cancel"];

#[test]
fn tex_04_tex_06_tex_59_the_tool_says_whether_a_call_may_be_a_task() {
    let mut rig = Rig::new(T);
    let mut call = |name: &str, capabilities: &str| {
        rig.ask(T, "tools/call", json!({ "name": name, "_meta": meta(capabilities) }))
    };
    let with = super::rig::EXTENSION;
    assert_eq!(call("never", with)["result"]["content"][0]["text"], "plain");
    assert_eq!(call("may", "{}")["result"]["content"][0]["text"], "plain");
    let created = call("must", with)["result"].clone();
    assert_eq!(created["resultType"], "task");
    for absent in ["result", "error", "inputRequests", "requestState", "task"] {
        assert_eq!(created.get(absent), None, "{absent}");
    }
    let refused = call("must", "{}");
    assert_eq!(code(&refused), -32021);
    let lacks = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    assert_eq!(refused["error"]["data"], json!({ "requiredCapabilities": lacks }));
}

#[test]
fn tex_01_tex_42_tex_49_tex_53_each_request_declares_the_extension() {
    let mut rig = Rig::new(T);
    let id = rig.created(T);
    for capabilities in ["{}", r#"{"tasks":{"requests":{"tools":{"call":{}}}}}"#] {
        for method in METHODS {
            let params = json!({ "taskId": id, "inputResponses": {}, "_meta": meta(capabilities) });
            assert_eq!(code(&rig.ask(T, method, params)), -32021, "{method}");
        }
        let params = json!({ "name": "may", "_meta": meta(capabilities) });
        assert_eq!(rig.ask(T, "tools/call", params)["result"]["resultType"], "complete");
    }
    assert_eq!(rig.status(T, &id), "working");
}

#[test]
fn tex_05_tex_52_the_server_declares_the_extension_and_not_the_experiment() {
    let mut rig = Rig::new(T);
    let capabilities = rig.ask(T, "server/discover", json!({}))["result"]["capabilities"].clone();
    assert_eq!(capabilities["extensions"], json!({ "io.modelcontextprotocol/tasks": {} }));
    assert_eq!(capabilities.get("tasks"), None);
}

#[test]
fn tex_50_tex_60_methods_that_do_not_exist_are_not_found() {
    static PLAIN: ServerConfig =
        ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::TOOLS);
    let mut rig = Rig::new(T);
    for method in ["tasks/result", "tasks/list"] {
        assert_eq!(code(&rig.ask(T, method, json!({ "taskId": "x" }))), -32601, "{method}");
    }
    let mut plain = Rig::with(&PLAIN, T);
    for method in METHODS {
        assert_eq!(code(&plain.ask(T, method, json!({ "taskId": "x" }))), -32601, "{method}");
    }
    let call = plain.ask(T, "tools/call", json!({ "name": "may" }));
    assert_eq!(call["result"]["resultType"], "complete");
}

#[test]
fn tex_51_a_wish_of_2025_11_25_is_not_looked_at() {
    let mut rig = Rig::new(T);
    let params = json!({ "name": "never", "task": { "ttl": -5 } });
    assert_eq!(rig.ask(T, "tools/call", params)["result"]["content"][0]["text"], "plain");
}

#[test]
fn tex_07_tex_14_tex_15_tex_16_tex_17_tex_18_tex_19_tex_45_tex_46_tex_56_the_state_says_all() {
    let mut rig = Rig::new(T);
    let id = rig.created(T);
    let working = rig.get(T, &id);
    assert_eq!([&working["resultType"], &working["status"]], ["complete", "working"]);
    let none = |task: &Value, names: &[&str]| names.iter().all(|name| task.get(name).is_none());
    assert!(none(&working, &["result", "error", "inputRequests", "requestState", "_meta"]));
    rig.input(&id);
    rig.input(&id);
    let asks = rig.get(T, &id);
    assert_eq!(asks["status"], "input_required");
    let keys: Vec<_> = asks["inputRequests"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["1", "2"]);
    assert_eq!(asks["inputRequests"]["2"]["params"]["message"], "2?");
    rig.end(&id, TaskEnd::Completed, "done");
    let done = rig.get(T, &id);
    assert_eq!([&done["resultType"], &done["status"]], ["complete", "completed"]);
    let content = json!([{ "type": "text", "text": "done" }]);
    assert_eq!(done["result"], json!({ "content": content, "resultType": "complete" }));
    assert!(none(&done, &["error", "inputRequests"]));

    let id = rig.created(T);
    rig.end(&id, TaskEnd::ToolFailed, r#"{"content":[],"isError":true}"#);
    let failed = rig.get(T, &id);
    assert_eq!(failed["status"], "completed");
    assert_eq!(failed["result"]["isError"], true);

    let id = rig.created(T);
    rig.say(&id, "wrong");
    rig.end(&id, TaskEnd::Failed, "wrong");
    let failed = rig.get(T, &id);
    assert_eq!([&failed["status"], &failed["statusMessage"]], ["failed", "wrong"]);
    assert_eq!(failed["error"], json!({ "code": -32602, "message": "wrong" }));
    assert!(none(&failed, &["result", "inputRequests"]));
}

#[test]
fn tex_17_tex_34_tex_35_tex_36_tex_58_a_cancellation_is_acknowledged_each_time() {
    let mut rig = Rig::new(T);
    let id = rig.created(T);
    let cancel = |rig: &mut Rig, id: &str| rig.ask(T, "tasks/cancel", json!({ "taskId": id }));
    let empty = json!({ "resultType": "complete" });
    assert_eq!(cancel(&mut rig, &id)["result"], empty);
    // The program has been told, and says when it is so.
    assert_eq!((rig.status(T, &id).as_str(), rig.log.len()), ("working", 1));
    let (task, time) = (rig.key(&id), rig.time());
    rig.tasks().end(time, task, TaskEnd::Cancelled);
    assert_eq!(rig.status(T, &id), "cancelled");
    assert_eq!(cancel(&mut rig, &id)["result"], empty);
    assert_eq!(rig.log.len(), 1);
    assert_eq!(code(&cancel(&mut rig, "unknown")), -32602);
}

#[test]
fn tex_26_tex_27_tex_29_tex_30_tex_31_tex_32_tex_57_tex_58_tex_61_answers_close_what_they_answer() {
    let mut rig = Rig::new(T);
    let id = rig.created(T);
    let update = |rig: &mut Rig, responses: Value| {
        rig.log.clear();
        rig.ask(T, "tasks/update", json!({ "taskId": id, "inputResponses": responses }))
    };
    let empty = json!({ "resultType": "complete" });
    let open = |rig: &mut Rig| -> Vec<String> {
        let task = rig.get(T, &id);
        task["inputRequests"].as_object().map_or(vec![], |all| all.keys().cloned().collect())
    };
    (0..3).for_each(|_| _ = rig.input(&id));
    // Keys that were never issued are ignored, and spellings of known ones, too.
    let unknown = json!({ "0": {}, "4": {}, "01": {}, "+1": {}, "x": {}, "4294967297": {} });
    assert_eq!(update(&mut rig, unknown)["result"], empty);
    assert_eq!((open(&mut rig), rig.log.len()), (vec!["1".into(), "2".into(), "3".into()], 0));
    assert_eq!(update(&mut rig, json!({ "2": { "action": "accept" }, "9": {} }))["result"], empty);
    assert_eq!(rig.log, [r#"input 2 {"action":"accept"}"#]);
    assert_eq!(open(&mut rig), ["1", "3"]);
    assert_eq!(update(&mut rig, json!({ "2": { "action": "decline" } }))["result"], empty);
    assert!(rig.log.is_empty(), "a second answer is ignored");
    update(&mut rig, json!({ "3": {}, "1": {} }));
    assert_eq!((rig.log.len(), rig.status(T, &id)), (2, "working".to_owned()));
    assert_eq!(rig.input(&id), Some(4), "keys are not used again");
    // A key twice in one message: the first answer counts.
    let line = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tasks/update","params":{{"taskId":"{id}","inputResponses":{{"4":{{"a":1}},"4":{{"a":2}}}},"_meta":{}}}}}"#,
        meta(super::rig::EXTENSION)
    );
    rig.log.clear();
    rig.hear(0, ME, &line);
    assert_eq!(rig.log, [r#"input 4 {"a":1}"#]);
    for wrong in [json!(null), json!([]), json!({ "1": 5 })] {
        assert_eq!(code(&update(&mut rig, wrong)), -32602);
    }
    let params = json!({ "taskId": "unknown", "inputResponses": {} });
    assert_eq!(code(&rig.ask(T, "tasks/update", params)), -32602);
    rig.end(&id, TaskEnd::Completed, "done");
    assert_eq!(update(&mut rig, json!({ "1": {} }))["result"], empty);
    assert!(rig.log.is_empty());
}

#[test]
fn tex_15_inputs_are_shown_to_clients_that_can_answer() {
    let mut rig = Rig::new(T);
    let id = rig.created(T);
    rig.input(&id);
    let sampling = rig.input(&id).unwrap();
    rig.content.sampling.insert(sampling);
    let keys = |rig: &mut Rig, capabilities: &str| -> Vec<String> {
        let params = json!({ "taskId": id, "_meta": meta(capabilities) });
        let task = rig.ask(T, "tasks/get", params)["result"].clone();
        task["inputRequests"].as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(keys(&mut rig, super::rig::EXTENSION), ["1"]);
    let both = r#"{"sampling":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
    assert_eq!(keys(&mut rig, both), ["1", "2"]);
}

#[test]
fn tex_37_tex_38_tex_39_tex_63_tex_64_listeners_are_told_what_tasks_get_says() {
    let mut rig = Rig::new(T);
    let (mine, other) = (rig.created(T), rig.created(T));
    let foreign = {
        let created = rig.ask_as(0, TaskOwner(2), T, "tools/call", json!({ "name": "may" }));
        created[0]["result"]["taskId"].as_str().unwrap().to_owned()
    };
    let listen = |rig: &mut Rig, ids: Value, capabilities: &str| {
        let number = rig.connect(T);
        let params = json!({ "notifications": { "taskIds": ids }, "_meta": meta(capabilities) });
        (number, rig.ask_as(number, ME, T, "subscriptions/listen", params))
    };
    let with = super::rig::EXTENSION;
    assert_eq!(code(&listen(&mut rig, json!([mine]), "{}").1[0]), -32021);
    for wrong in [json!(5), json!([5]), json!({})] {
        assert_eq!(code(&listen(&mut rig, wrong, with).1[0]), -32602);
    }
    let (number, sent) = listen(&mut rig, json!([mine, foreign, "unknown", mine]), with);
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0]["method"], "notifications/subscriptions/acknowledged");
    let granted = &sent[0]["params"]["notifications"]["taskIds"];
    assert_eq!(*granted, json!([mine]));
    rig.input(&mine);
    for end in [None, Some(TaskEnd::Completed)] {
        if let Some(end) = end {
            rig.end(&mine, end, "done");
        }
        let told = rig.publish(number, &mine);
        assert_eq!(told.len(), 1);
        assert_eq!(told[0]["method"], "notifications/tasks");
        let mut expected = rig.get(T, &mine);
        expected.as_object_mut().unwrap().remove("resultType");
        expected["_meta"] = json!({ "io.modelcontextprotocol/subscriptionId": 7 });
        assert_eq!(told[0]["params"], expected);
    }
    assert!(rig.publish(number, &other).is_empty() && rig.publish(number, &foreign).is_empty());
}

#[test]
fn a_state_of_a_task_waits_for_an_earlier_one_that_is_partly_written() {
    let mut rig = Rig::new(T);
    let id = rig.created(T);
    let filter = json!({ "notifications": { "taskIds": [id] } });
    rig.ask_as(0, ME, T, "subscriptions/listen", filter);
    // Both begin alike, so that the second could end what the first has begun.
    let state = |status| {
        let long = "x".repeat(200);
        json!({ "a": long, "status": status, "taskId": id }).to_string()
    };
    let states = [state("working"), state("completed")];
    let [mut first, mut second] =
        [0, 1].map(|at| Change::task(&id, RawJson::parse(&states[at]).unwrap()));
    let (mut server, mut tx, mut sent) = (rig.server(0), TxBuffer::new([0; 256]), Vec::new());
    let mut publish = |change: &mut Change<'_>| {
        let published = server.publish(change, &mut tx);
        sent.extend_from_slice(tx.pending());
        tx.advance(usize::MAX);
        published
    };
    assert_eq!(publish(&mut first), Err(SendError::Full));
    assert_eq!(publish(&mut second), Err(SendError::Full));
    for change in [&mut first, &mut second] {
        while match publish(change) {
            Ok(left) => left.is_more(),
            Err(error) => error == SendError::Full,
        } {}
    }
    let told = lines(&sent);
    assert!(told.iter().map(|told| &told["params"]["status"]).eq(["working", "completed"]));
}

#[test]
fn a_listen_is_cancelled_in_the_middle_of_its_acknowledgement() {
    static LISTENED: ServerConfig =
        ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::TASKS);
    let mut state = GrowingServerState::new(4, 4);
    let (mut server, mut tx) = (state.server(&LISTENED), TxBuffer::new([0; 128]));
    let next = |server: &mut Server<'_>, messages: &mut _, tx: &mut Tx<'_>| {
        let event = server.next_event(Instant::from_millis(0), messages, tx);
        event.map(|event| event.map(|event| matches!(event, ServerEvent::RequestCancelled { .. })))
    };
    let ids = ["1", "2", "3", "4"].map(|digit| digit.repeat(32));
    let declared = meta(super::rig::EXTENSION);
    let params = json!({ "notifications": { "taskIds": ids }, "_meta": declared });
    let method = "subscriptions/listen";
    let listen = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
    let listen = listen.to_string();
    let mut messages = Messages::new(Frame::Complete(listen.as_bytes()));
    let event = server.next_event(Instant::from_millis(0), &mut messages, &mut tx);
    let Ok(Some(ServerEvent::Request(request))) = event else { panic!("{event:?}") };
    let acknowledge = |server: &mut Server<'_>, tx: &mut TxBuffer<[u8; 128]>| {
        tx.advance(usize::MAX);
        server.listen_to_tasks(&request, &mut |_| true, tx)
    };
    assert_eq!(acknowledge(&mut server, &mut tx), Err(SendError::Full));
    tx.advance(usize::MAX);
    let cancel =
        br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
    let mut messages = Messages::new(Frame::Complete(cancel));
    assert_eq!(next(&mut server, &mut messages, &mut tx), Err(SendError::Full));
    while acknowledge(&mut server, &mut tx) == Err(SendError::Full) {}
    assert_eq!(next(&mut server, &mut messages, &mut tx), Ok(Some(true)));
    assert_eq!(server.open_requests(), 0);
}

#[test]
fn r3_t3_each_id_and_each_uri_is_acknowledged_once() {
    static BOTH: ServerConfig = ServerConfig::new(
        Implementation::new("s", "1"),
        ServerFeatures::TOOLS.with(ServerFeatures::TASKS).with(ServerFeatures::RESOURCES_SUBSCRIBE),
    );
    for room in [1 << 20, 256] {
        let mut rig = Rig::with(&BOTH, T).in_pieces(room);
        let [a, b, c] = [rig.created(T), rig.created(T), rig.created(T)];
        let once = ["x:1", "x:2", "x:3", "x:4"];
        let uris = ["x:1", "x:2", "x:1", "x:3", "x:2", "x:1", "x:4"];
        let filter = json!({ "taskIds": [b, a, b, "?", a, c, b], "resourceSubscriptions": uris });
        // The second listen finds entries of the first in the table.
        for id in 1..=2 {
            let declared = meta(super::rig::EXTENSION);
            let params = json!({ "notifications": filter, "_meta": declared });
            let method = "subscriptions/listen";
            let line = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
            let sent = rig.hear(0, ME, &line.to_string());
            assert_eq!(
                sent[0]["params"]["notifications"],
                json!({ "taskIds": [b, a, c], "resourceSubscriptions": once })
            );
        }
    }
}

#[test]
fn r3_t3_more_ids_than_a_listen_may_name_are_refused() {
    let listen = |len: usize| {
        let params = json!({ "notifications": { "taskIds": vec!["?"; len] } });
        Rig::new(T).ask(T, "subscriptions/listen", params)
    };
    assert_eq!(listen(MAX_LISTENED)["params"]["notifications"]["taskIds"], json!([]));
    assert_eq!(code(&listen(MAX_LISTENED + 1)), -32602);
}

#[test]
fn tol_27_input_may_come_in_parts_and_a_cancelled_task_may_complete() {
    let mut rig = Rig::new(T);
    let id = rig.created(T);
    (0..2).for_each(|_| _ = rig.input(&id));
    for (key, status) in [("2", "input_required"), ("1", "working")] {
        let responses = json!({ "taskId": id, "inputResponses": { key: {} } });
        assert!(rig.ask(T, "tasks/update", responses)["result"].is_object());
        assert_eq!(rig.status(T, &id), status);
    }
    rig.ask(T, "tasks/cancel", json!({ "taskId": id }));
    assert!(rig.end(&id, TaskEnd::Completed, "done"));
    let ended = rig.get(T, &id);
    assert_eq!([&ended["status"], &ended["result"]["content"][0]["text"]], ["completed", "done"]);
}

#[test]
fn tex_37_a_listen_without_tasks_needs_no_program() {
    let mut rig = Rig::new(T);
    let params = json!({ "notifications": { "toolsListChanged": true } });
    let sent = rig.ask_as(0, ME, T, "subscriptions/listen", params);
    assert_eq!(sent[0]["params"]["notifications"], json!({}));
}

/// Responses go out in pieces of 256 bytes, and are the same.
#[test]
fn responses_about_tasks_are_written_in_pieces() {
    for dialect in super::rig::BOTH {
        let long = "x".repeat(5000);
        let mut whole = Rig::new(dialect);
        let mut pieces = Rig::new(dialect).in_pieces(256);
        let mut both = |look: &dyn Fn(&mut Rig) -> Value| {
            assert_eq!(look(&mut pieces), look(&mut whole));
        };
        both(&|rig| rig.create(dialect));
        both(&|rig| {
            let id = rig.created(dialect);
            (0..5).for_each(|_| _ = rig.input(&id));
            rig.get(dialect, &id)
        });
        both(&|rig| {
            let id = rig.created(dialect);
            rig.end(&id, TaskEnd::Completed, &long);
            match dialect {
                Dialect::D => rig.ask(dialect, "tasks/result", json!({ "taskId": id })),
                Dialect::T => rig.get(dialect, &id),
            }
        });
        if dialect == Dialect::D {
            both(&|rig| rig.ask(dialect, "tasks/list", json!({})));
        } else {
            both(&|rig| {
                let ids = ["01", "02", "03"].map(|byte| byte.repeat(16));
                let params = json!({ "notifications": { "taskIds": ids } });
                let number = rig.connect(T);
                let acknowledged = rig.ask_as(number, ME, T, "subscriptions/listen", params);
                assert_eq!(acknowledged.len(), 1);
                json!([acknowledged, rig.publish(number, &ids[2])])
            });
        }
    }
}
