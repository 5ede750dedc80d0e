//! Tasks between our client and our server, when connections are lost and responses come twice or
//! not at all.

use std::time::Duration;

use mcp_sansio::tasks::TaskEnd;
use mcp_sansio::{Revision, TaskGone};
use mcp_sansio_tests::pair::tasks::{Ended, Fate, Report, Setting, World};

const D: &[Revision] = &[Revision::V2025_11_25];
const T: &[Revision] = &[Revision::LATEST];
/// Created in one dialect, asked for in the other.
const MIXED: &[Revision] = &[Revision::V2025_11_25, Revision::LATEST];

fn setting(revisions: &[Revision]) -> Setting<'_> {
    Setting { revisions, room: 4096, chunk: usize::MAX, ttl: Duration::from_secs(600) }
}

/// A call whose task asks once and then ends.
fn ask(world: &mut World<'_>) {
    world.call(None);
    world.wait(1500);
    world.ask(0);
    world.wait(2500);
    world.end(0, TaskEnd::Completed);
    world.wait(2500);
}

/// A task to which the client listens.
fn ask_and_listen(world: &mut World<'_>) {
    world.call(None);
    world.listen(0);
    world.wait(500);
    world.ask(0);
    world.wait(500);
    world.end(0, TaskEnd::Completed);
    world.wait(2500);
}

/// A task that the client cancels.
fn cancel(world: &mut World<'_>) {
    world.call(None);
    world.wait(1500);
    world.cancel(0);
    world.wait(500);
    world.end_if_cancelled(0);
    world.wait(2500);
}

/// Plays conversations, between which there is an empty line. Each begins with its dialect and its
/// name. Then come the lines of both sides: a connection is lost with the line that is `(cut)`.
/// The end that the application is told stands behind `=`.
fn play(conversations: &str) {
    for conversation in conversations.split("\n\n") {
        let conversation = conversation.split_whitespace().collect::<Vec<_>>().join(" ");
        let (name, expected) = conversation.split_once(": ").expect("a name");
        let (dialect, talk) = name.split_once(' ').expect("a dialect");
        let revisions = match dialect {
            "D" => D,
            "T" => T,
            "MIXED" => MIXED,
            other => panic!("{other:?}"),
        };
        let talk = match talk {
            "ask" => ask,
            "cancel" => cancel,
            "ask_and_listen" => ask_and_listen,
            other => panic!("{other:?}"),
        };
        let mut world = World::new(setting(revisions), &[]);
        if let Some((line, _)) = expected.split_once(" (cut)") {
            let line = line.rsplit(", ").next().unwrap_or_default();
            world.cut_at(line);
        }
        talk(&mut world);
        let trace = std::mem::take(&mut world.trace).join(", ");
        world.finish();
        let report = match world.followed()[0].report() {
            Some((Report::Done(..), _)) => "done",
            Some((Report::Cancelled, _)) => "cancelled",
            Some((Report::NoTask, _)) => "no task",
            other => panic!("{other:?}"),
        };
        assert_eq!(format!("{trace} = {report}"), expected, "{name}");
    }
}

#[test]
fn without_a_loss_a_task_takes_few_requests() {
    play(
        "D ask: > tools/call, < task working, > tasks/get, < working,
           < notifications/tasks/status input_required, > tasks/result, < elicitation/create,
           > response, < notifications/tasks/status working, < result,
           < notifications/tasks/status completed = done

         T ask: > tools/call, < task working, > tasks/get, < working, > tasks/get,
           < input_required, > tasks/update, < ack, > tasks/get, < working, > tasks/get, < working,
           > tasks/get, < completed = done

         T ask_and_listen: > tools/call, < task working, > subscriptions/listen,
           < notifications/subscriptions/acknowledged, < notifications/tasks working,
           < notifications/tasks input_required, > tasks/update, < ack,
           < notifications/tasks working, < notifications/tasks completed = done

         D cancel: > tools/call, < task working, > tasks/get, < working, > tasks/cancel,
           < cancelled, < notifications/tasks/status cancelled = cancelled

         T cancel: > tools/call, < task working, > tasks/get, < working, > tasks/cancel, < ack,
           > tasks/get, < working, > tasks/get, < cancelled = cancelled",
    );
}

#[test]
fn a_call_whose_response_is_lost_has_no_task() {
    play(
        "D ask: > tools/call (cut) = no task

         T ask: > tools/call, < task working (cut) = no task",
    );
}

#[test]
fn a_connection_can_be_lost_with_the_state() {
    play(
        "D ask: > tools/call, < task working, > tasks/get, < working (cut),
           < notifications/tasks/status input_required, > tasks/result, < elicitation/create,
           > response, < notifications/tasks/status working, < result,
           < notifications/tasks/status completed = done

         T ask: > tools/call, < task working, > tasks/get, < working (cut), > tasks/get,
           < input_required, > tasks/update, < ack, > tasks/get, < working, > tasks/get, < working,
           > tasks/get, < completed = done

         MIXED ask: > tools/call, < task working, > tasks/get, < working (cut), > tasks/get,
           < working, > tasks/get, < input_required, > tasks/update, < ack, > tasks/get, < working,
           > tasks/get, < working, > tasks/get, < completed = done",
    );
}

#[test]
fn a_connection_can_be_lost_with_a_question_or_its_response() {
    play(
        "D ask: > tools/call, < task working, > tasks/get, < working,
           < notifications/tasks/status input_required, > tasks/result, < elicitation/create (cut),
           > tasks/get, < input_required, > tasks/result, < elicitation/create, > response,
           < notifications/tasks/status working, < result,
           < notifications/tasks/status completed = done

         MIXED ask: > tools/call, < task working, > tasks/get, < working,
           < notifications/tasks/status input_required, > tasks/result, < elicitation/create (cut),
           > tasks/get, < input_required, > tasks/update, < ack, > tasks/get, < working,
           > tasks/get, < working, > tasks/get, < completed = done

         T ask: > tools/call, < task working, > tasks/get, < working, > tasks/get,
           < input_required, > tasks/update (cut), > tasks/update, < ack, > tasks/get, < working,
           > tasks/get, < completed = done

         T ask: > tools/call, < task working, > tasks/get, < working, > tasks/get,
           < input_required, > tasks/update, < ack (cut), > tasks/update, < ack, > tasks/get,
           < working, > tasks/get, < completed = done",
    );
}

#[test]
fn a_connection_can_be_lost_with_the_result() {
    play(
        "D ask: > tools/call, < task working, > tasks/get, < working,
           < notifications/tasks/status input_required, > tasks/result (cut), > tasks/get,
           < input_required, > tasks/result, < elicitation/create, > response,
           < notifications/tasks/status working, < result,
           < notifications/tasks/status completed = done

         D ask: > tools/call, < task working, > tasks/get, < working,
           < notifications/tasks/status input_required, > tasks/result, < elicitation/create,
           > response, < notifications/tasks/status working, < result (cut), > tasks/get,
           < completed, > tasks/result, < result = done

         T ask: > tools/call, < task working, > tasks/get, < working, > tasks/get,
           < input_required, > tasks/update, < ack, > tasks/get, < working, > tasks/get, < working,
           > tasks/get, < completed (cut), > tasks/get, < completed = done

         MIXED ask: > tools/call, < task working, > tasks/get, < working,
           < notifications/tasks/status input_required, > tasks/result, < elicitation/create,
           > response, < notifications/tasks/status working, < result (cut), > tasks/get,
           < completed = done",
    );
}

#[test]
fn a_connection_can_be_lost_with_a_cancellation() {
    play(
        "D cancel: > tools/call, < task working, > tasks/get, < working, > tasks/cancel (cut),
           > tasks/get, < working, > tasks/get, < working, > tasks/get, < working = done

         T cancel: > tools/call, < task working, > tasks/get, < working, > tasks/cancel (cut),
           > tasks/get, < working, > tasks/get, < working, > tasks/get, < working = done

         D cancel: > tools/call, < task working, > tasks/get, < working, > tasks/cancel,
           < cancelled (cut), > tasks/get, < cancelled = cancelled

         T cancel: > tools/call, < task working, > tasks/get, < working, > tasks/cancel,
           < ack (cut), > tasks/get, < working, > tasks/get, < cancelled = cancelled",
    );
}

#[test]
fn a_connection_can_be_lost_while_the_client_listens() {
    play(
        "T ask_and_listen: > tools/call, < task working, > subscriptions/listen (cut), > tasks/get,
           < input_required, > tasks/update, < ack, > tasks/get, < completed = done

         T ask_and_listen: > tools/call, < task working, > subscriptions/listen,
           < notifications/subscriptions/acknowledged (cut), > tasks/get, < input_required,
           > tasks/update, < ack, > tasks/get, < completed = done

         T ask_and_listen: > tools/call, < task working, > subscriptions/listen,
           < notifications/subscriptions/acknowledged, < notifications/tasks working,
           < notifications/tasks input_required (cut), > tasks/get, < input_required,
           > tasks/update, < ack, > tasks/get, < completed = done

         T ask_and_listen: > tools/call, < task working, > subscriptions/listen,
           < notifications/subscriptions/acknowledged, < notifications/tasks working,
           < notifications/tasks input_required, > tasks/update, < ack,
           < notifications/tasks working, < notifications/tasks completed (cut) = done",
    );
}

#[test]
fn a_cancellation_that_is_slower_than_the_work_changes_nothing() {
    for (revisions, response) in [(D, "< error -32602"), (T, "< ack")] {
        for cancels_first in [true, false] {
            let mut world = World::new(setting(revisions), &[]);
            world.call(None);
            world.wait(500);
            if cancels_first {
                world.cancel(0);
            }
            world.end(0, TaskEnd::Completed);
            world.cancel(0);
            world.wait(3000);
            assert!(world.trace.iter().any(|line| line == response), "{:?}", world.trace);
            world.finish();
            let report = world.followed()[0].report();
            assert!(matches!(report, Some((Report::Done(..), _))), "{report:?}");
        }
    }
}

/// The time of the task is over when the response to its question arrives.
#[test]
fn a_response_that_is_slower_than_the_time_of_the_task_is_dropped() {
    for revisions in [D, T] {
        let short = Setting { ttl: Duration::from_millis(2400), ..setting(revisions) };
        let mut world = World::new(short, &[]);
        world.call(None);
        world.wait(900);
        world.ask(0);
        let question = if revisions == D { "> response" } else { "> tasks/update" };
        world.cut_at(question);
        // The client asks for the state once more when the task does not exist any more.
        world.wait(60_000);
        assert!(world.works()[0].ended.is_some_and(|(ended, _)| ended == Ended::Expired));
        world.finish();
        let report = world.followed()[0].report();
        let is_gone = matches!(report, Some((Report::Gone(TaskGone::Expired), 2401)));
        assert!(is_gone, "{report:?}");
    }
}

/// Every line of the conversation is lost, comes twice, or is the last of its connection.
#[test]
fn a_task_survives_a_fault_at_every_line() {
    for revisions in [D, T, MIXED] {
        for talk in [ask, ask_and_listen, cancel] {
            let mut whole = World::new(setting(revisions), &[]);
            talk(&mut whole);
            let lines = whole.lines;
            assert!(lines > 8);
            for line in 0..lines {
                for fate in
                    [Fate::Lost, Fate::Doubled, Fate::Cut(0), Fate::Cut(30), Fate::Cut(1 << 20)]
                {
                    for (room, chunk) in [(4096, usize::MAX), (5, 7)] {
                        let setting = Setting { room, chunk, ..setting(revisions) };
                        let mut world = World::new(setting, &[]);
                        world.fault_at(line, fate);
                        talk(&mut world);
                        world.finish();
                    }
                }
            }
        }
    }
}
