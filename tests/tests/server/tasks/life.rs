//! The states of a task, by event and dialect.

use mcp_sansio::Progress;
use mcp_sansio::tasks::{StoredTask, TaskEnd, TaskId};
use mcp_sansio::types::meta::{SUBSCRIPTION_ID, TASK_PROGRESS};
use serde_json::json;

use super::rig::{BOTH, Dialect, EXTENSION, ME, Rig, code, meta};

/// What happens to a task.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Event {
    Ask,
    Answer,
    Complete,
    ToolFails,
    Fail,
    Cancel,
    Expire,
    Message,
}

const EVENTS: [Event; 8] = [
    Event::Ask,
    Event::Answer,
    Event::Complete,
    Event::ToolFails,
    Event::Fail,
    Event::Cancel,
    Event::Expire,
    Event::Message,
];

fn apply(rig: &mut Rig, dialect: Dialect, id: &str, event: Event) -> bool {
    match event {
        Event::Ask => rig.input(id).is_some(),
        Event::Answer if dialect == Dialect::T => {
            let responses = json!({ "1": { "action": "accept" } });
            rig.log.clear();
            rig.ask(dialect, "tasks/update", json!({ "taskId": id, "inputResponses": responses }));
            !rig.log.is_empty()
        }
        Event::Answer => {
            let (task, time) = (rig.key(id), rig.time());
            rig.tasks().withdraw(time, task, 1)
        }
        Event::Complete => rig.end(id, TaskEnd::Completed, "done"),
        Event::ToolFails => rig.end(id, TaskEnd::ToolFailed, r#"{"content":[],"isError":true}"#),
        Event::Fail => rig.end(id, TaskEnd::Failed, "wrong"),
        Event::Cancel => {
            rig.log.clear();
            let response = rig.ask(dialect, "tasks/cancel", json!({ "taskId": id }));
            let was_live = !rig.log.is_empty();
            // A terminal task cannot be cancelled in 2025-11-25; the extension acknowledges it.
            assert_eq!(code(&response) == -32602, !was_live && dialect == Dialect::D);
            let (task, time) = (rig.key(id), rig.time());
            rig.tasks().end(time, task, TaskEnd::Cancelled);
            was_live
        }
        Event::Expire => rig.wait(3_600_000).contains(&"expired"),
        Event::Message => rig.say(id, "3 of 9"),
    }
}

/// Each event in each state: terminal states never change, and others change as the table of both
/// dialects says.
#[test]
fn tsk_15_tsk_16_tsk_17_tsk_18_tsk_21_tsk_39_tsk_42_tsk_55_tex_44_tex_47_states_by_event() {
    for dialect in BOTH {
        let end_of_failed_tool = if dialect == Dialect::D { "failed" } else { "completed" };
        let states: [(&[Event], &str); 7] = [
            (&[], "working"),
            (&[Event::Ask], "input_required"),
            (&[Event::Ask, Event::Answer], "working"),
            (&[Event::Complete], "completed"),
            (&[Event::ToolFails], end_of_failed_tool),
            (&[Event::Fail], "failed"),
            (&[Event::Cancel], "cancelled"),
        ];
        for (before, state) in states {
            for event in EVENTS {
                let mut rig = Rig::new(dialect);
                let id = rig.created(dialect);
                for earlier in before {
                    assert!(apply(&mut rig, dialect, &id, *earlier), "{before:?}");
                }
                assert_eq!(rig.status(dialect, &id), state, "{dialect:?} {before:?}");
                let is_terminal = !["working", "input_required"].contains(&state);
                let is_gone = is_terminal && event == Event::Expire;
                let has_input = state == "input_required";
                let expected = match event {
                    _ if is_gone => "error",
                    _ if is_terminal => state,
                    Event::Ask => "input_required",
                    Event::Answer => "working",
                    Event::Complete => "completed",
                    Event::ToolFails => end_of_failed_tool,
                    Event::Fail => "failed",
                    Event::Cancel => "cancelled",
                    // Not told in 2025-11-25: the task is unknown then.
                    Event::Expire if dialect == Dialect::D => "error",
                    Event::Expire => "failed",
                    Event::Message => state,
                };
                let changes = !is_terminal && (event != Event::Answer || has_input);
                let happened = apply(&mut rig, dialect, &id, event);
                assert_eq!(happened, changes, "{dialect:?} {state} {event:?}");
                assert_eq!(rig.status(dialect, &id), expected, "{dialect:?} {state} {event:?}");
            }
        }
    }
}

#[test]
fn the_state_of_a_task_has_its_progress_as_numbers() {
    for dialect in BOTH {
        let mut rig = Rig::new(dialect);
        let id = rig.created(dialect);
        let none = rig.get(dialect, &id);
        assert!(none["_meta"].get(TASK_PROGRESS).is_none(), "{none}");
        for (progress, numbers) in [
            (Progress::of(3), json!({"progress": 3})),
            (Progress::of(0.25).total(10).message("no"), json!({"progress": 0.25, "total": 10})),
        ] {
            rig.content.progress = Some(progress);
            assert_eq!(rig.get(dialect, &id)["_meta"][TASK_PROGRESS], numbers);
            if dialect == Dialect::T {
                let number = rig.connect(dialect);
                let listen =
                    json!({ "notifications": { "taskIds": [id] }, "_meta": meta(EXTENSION) });
                rig.ask_as(number, ME, dialect, "subscriptions/listen", listen);
                let told = rig.publish(number, &id).remove(0);
                let meta = json!({ TASK_PROGRESS: numbers, SUBSCRIPTION_ID: 7 });
                assert_eq!(told["params"]["_meta"], meta);
            }
        }
    }
}

#[test]
fn tsk_22_tsk_23_tsk_24_tex_14_a_task_has_stamps_and_its_time_to_live() {
    for dialect in BOTH {
        let mut rig = Rig::new(dialect);
        let (ttl, poll) = match dialect {
            Dialect::D => ("ttl", "pollInterval"),
            Dialect::T => ("ttlMs", "pollIntervalMs"),
        };
        let task = rig.create(dialect);
        let id = task["taskId"].as_str().unwrap().to_owned();
        assert_eq!(task["createdAt"], "2026-07-28T12:00:00.000Z");
        assert_eq!(task["lastUpdatedAt"], task["createdAt"]);
        assert_eq!((&task[ttl], &task[poll]), (&json!(3_600_000), &json!(1000)));
        assert_eq!(task.get("statusMessage"), None);
        rig.wait(61_001);
        assert_eq!(rig.get(dialect, &id)["lastUpdatedAt"], task["createdAt"]);
        assert!(rig.say(&id, "3 of 9"));
        let later = rig.get(dialect, &id);
        assert_eq!(later["createdAt"], task["createdAt"]);
        assert_eq!(later["lastUpdatedAt"], "2026-07-28T12:01:01.001Z");
        assert_eq!(later["statusMessage"], "3 of 9");
        rig.wait(61_001);
        assert!(!rig.say(&id, "3 of 9"));
        assert_eq!(rig.get(dialect, &id), later);
        let all = ["ttl", "pollInterval", "ttlMs", "pollIntervalMs"].into_iter();
        assert!(all.filter(|name| later.get(name).is_some()).eq([ttl, poll]), "{later}");
    }
}

#[test]
fn a_task_has_no_message_of_an_earlier_one_in_its_place() {
    for dialect in BOTH {
        let mut rig = Rig::new(dialect);
        for _ in 0..2 {
            for _ in 0..rig.config.max_per_owner {
                let task = rig.create(dialect);
                assert_eq!(task.get("statusMessage"), None);
                let id = task["taskId"].as_str().unwrap();
                assert!(rig.say(id, "3 of 9"));
                rig.end(id, TaskEnd::Completed, "done");
            }
            rig.wait(3_600_000);
        }
    }
}

#[test]
fn tol_25_tsk_44_tsk_61_tex_41_a_task_whose_time_is_over_is_unknown() {
    for dialect in BOTH {
        let mut rig = Rig::new(dialect);
        let (done, live) = (rig.created(dialect), rig.created(dialect));
        rig.end(&done, TaskEnd::Completed, "done");
        assert_eq!(rig.tasks().poll_timeout().map(|at| at.as_millis()), Some(3_600_000));
        let mut told = rig.wait(3_600_000);
        told.sort_unstable();
        assert_eq!(told, ["expired", "gone"]);
        let unknown = rig.ask(dialect, "tasks/get", json!({ "taskId": "0".repeat(32) }));
        assert_eq!(code(&unknown), -32602);
        assert_eq!(rig.ask(dialect, "tasks/get", json!({ "taskId": done })), unknown);
        let expired = rig.ask(dialect, "tasks/get", json!({ "taskId": live }));
        match dialect {
            Dialect::D => assert_eq!(expired, unknown),
            Dialect::T => {
                let task = &expired["result"];
                assert_eq!(
                    [&task["status"], &task["statusMessage"]],
                    ["failed", "The task has expired"]
                );
                assert_eq!(task["error"]["code"], -32603);
            }
        }
        // The work is late.
        assert!(!rig.end(&live, TaskEnd::Completed, "late"));
        assert_eq!((rig.wait(59_999), rig.wait(1)), (vec![], vec!["gone"]));
        assert_eq!(rig.ask(dialect, "tasks/get", json!({ "taskId": live })), unknown);
        assert!(rig.tasks().is_empty() && rig.tasks().poll_timeout().is_none());
    }
}

#[test]
fn a_task_is_live_at_the_end_of_its_time_until_that_is_handled() {
    let mut rig = Rig::new(Dialect::T);
    let id = rig.created(Dialect::T);
    rig.ms += 3_600_000;
    assert_eq!(rig.status(Dialect::T, &id), "working");
    assert_eq!(rig.wait(0), ["expired"]);
    assert_eq!(rig.status(Dialect::T, &id), "failed");
}

#[test]
fn open_inputs_are_restored_in_any_order() {
    let mut rig = Rig::new(Dialect::T);
    let (time, id) = (rig.time(), TaskId::new([9; 16]));
    let stored = StoredTask::new(time.unix_ms, time.unix_ms, 60_000).open_inputs(&[5, 3, 40]);
    let key = rig.tasks().restore(time, id, ME, &stored).unwrap().unwrap();
    let open: Vec<_> = rig.tasks().info(key).unwrap().open_inputs().collect();
    assert_eq!(open, [3, 5], "the third is too far from the first");
    assert_eq!(rig.tasks().ask(time, key), None);
    for number in [3, 5] {
        assert!(rig.tasks().withdraw(time, key, number));
    }
    assert_eq!(rig.input(&id.to_string()), Some(41));
}

#[test]
fn a_task_is_restored_as_it_was_stored() {
    for dialect in BOTH {
        let mut rig = Rig::new(dialect);
        rig.ms = 10_000;
        let time = rig.time();
        let id = TaskId::new([9; 16]);
        let stored = StoredTask::new(time.unix_ms - 10_000, time.unix_ms - 5_000, 60_000)
            .message("3 of 9")
            .last_input(4);
        let key = rig.tasks().restore(time, id, ME, &stored).unwrap().unwrap();
        let task = rig.get(dialect, &id.to_string());
        assert_eq!([&task["status"], &task["statusMessage"]], ["working", "3 of 9"]);
        assert_eq!(task["createdAt"], "2026-07-28T12:00:00.000Z");
        assert_eq!(task["lastUpdatedAt"], "2026-07-28T12:00:05.000Z");
        let info = rig.tasks().info(key).unwrap();
        let times = (info.created_unix_ms(), info.updated_unix_ms(), info.ttl_ms());
        assert_eq!(times, (stored.created_unix_ms, stored.updated_unix_ms, 60_000));
        assert_eq!(rig.input(&id.to_string()), Some(5), "keys are never used again");
        assert_eq!((rig.wait(49_999), rig.wait(1)), (vec![], vec!["expired"]));
        // Its time was over while the program did not run.
        let old = StoredTask::new(0, 0, 60_000);
        assert_eq!(rig.tasks().restore(time, TaskId::new([8; 16]), ME, &old), Ok(None));
        // An ended one is served until its time is over.
        let ended = stored.end(Some(TaskEnd::Completed));
        let other = TaskId::new([7; 16]);
        rig.tasks().restore(time, other, ME, &ended).unwrap().unwrap();
        assert_eq!(rig.status(dialect, &other.to_string()), "error", "its time was over, too");
    }
}
