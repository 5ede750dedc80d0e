//! Limits: tasks, tasks of an owner, open questions, time.

use std::time::Duration;

use mcp_sansio::Instant;
use mcp_sansio::tasks::{
    GrowingTasksState, TaskEnd, TaskError, TaskId, TaskOwner, TaskTime, TasksConfig, TasksState,
};
use mcp_sansio_tests::random::Random;
use serde_json::json;

use super::rig::{BOTH, Dialect, Rig, code};

fn id(number: u32) -> TaskId {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&number.to_le_bytes());
    TaskId::new(bytes)
}

const NOW: TaskTime = TaskTime::new(Instant::from_millis(0), 0);

#[test]
fn tsk_54_an_owner_has_a_limited_number_of_tasks() {
    for dialect in BOTH {
        let mut rig = Rig::new(dialect);
        let ids = [rig.created(dialect), rig.created(dialect), rig.created(dialect)];
        let mut params = json!({ "name": "may" });
        if dialect == Dialect::D {
            params["task"] = json!({});
        }
        let refused = rig.ask(dialect, "tools/call", params.clone());
        assert_eq!(code(&refused), -32603);
        // Another owner has room, until the table is full.
        let other = rig.ask_as(0, TaskOwner(2), dialect, "tools/call", params.clone());
        assert!(other[0]["result"].is_object());
        let full = rig.ask_as(0, TaskOwner(3), dialect, "tools/call", params);
        assert_eq!(code(&full[0]), -32603);
        let key = rig.key(&ids[0]);
        assert!(rig.tasks().remove(key) && !rig.tasks().remove(key));
        assert!(rig.create(dialect)["taskId"].is_string());
    }
}

#[test]
fn tables_of_both_kinds_agree() {
    let config = TasksConfig::new().max_per_owner(5).ttl(Duration::from_millis(100));
    let mut fixed = TasksState::<8>::new();
    let mut growing = GrowingTasksState::new(8);
    let mut random = Random::new(1);
    for step in 0..20_000u32 {
        let (what, which) = (random.below(8), id(random.below(16) as u32));
        let time = TaskTime::new(Instant::from_millis(step.into()), step.into());
        let owner = TaskOwner(random.below(2) as u64);
        let seen = [&mut fixed.tasks(&config), &mut growing.tasks(&config)].map(|tasks| {
            let done = match (what, tasks.find(which)) {
                (0..=2, _) => format!("{:?}", tasks.create(time, which, owner, None)),
                (3, Some(key)) => format!("{:?}", tasks.end(time, key, TaskEnd::Completed)),
                (4, Some(key)) => format!("{:?}", tasks.remove(key)),
                (5, Some(key)) => format!("{:?}", tasks.ask(time, key)),
                _ => format!("{:?}", tasks.handle_timeout(time)),
            };
            (done, tasks.len(), tasks.find(which).and_then(|key| tasks.owner(key)))
        });
        assert_eq!(seen[0], seen[1], "{step}");
    }
}

#[test]
fn an_id_is_used_once() {
    let config = TasksConfig::new();
    let mut state = GrowingTasksState::new(8);
    let mut tasks = state.tasks(&config);
    let first = tasks.create(NOW, id(1), TaskOwner(1), None).unwrap();
    assert_eq!(tasks.create(NOW, id(1), TaskOwner(2), None), Err(TaskError::IdInUse));
    assert!(tasks.remove(first));
    let second = tasks.create(NOW, id(1), TaskOwner(2), None).unwrap();
    assert!(first != second && first.index() == second.index());
    // The first is gone, whatever has its place.
    assert!(tasks.info(first).is_none() && !tasks.end(NOW, first, TaskEnd::Completed));
}

#[test]
fn a_task_without_end_lives_without_end() {
    let config = TasksConfig::new().ttl(Duration::MAX).max_ttl(Duration::MAX);
    let mut state = TasksState::<1>::new();
    let mut tasks = state.tasks(&config);
    tasks.create(NOW, id(1), TaskOwner(1), None).unwrap();
    assert_eq!(tasks.poll_timeout(), None);
    let late = TaskTime::new(Instant::from_millis(u64::MAX - 1), u64::MAX);
    assert_eq!(tasks.handle_timeout(late), None);
}

#[test]
fn a_task_has_32_open_questions_at_most() {
    let mut rig = Rig::new(Dialect::T);
    let id = rig.created(Dialect::T);
    (1..=32).for_each(|number| assert_eq!(rig.input(&id), Some(number)));
    assert_eq!(rig.input(&id), None);
    let task = rig.get(Dialect::T, &id);
    assert_eq!(task["inputRequests"].as_object().unwrap().len(), 32);
}
