//! Opens another session after the server has ended one (2025-03-26 to 2025-11-25,
//! basic/transports).

use std::future::poll_fn;
use std::task::{Context, Poll};

use mcp_sansio::http::client::{Post, ResponseKind};

use super::exchange::ask_with;
use super::jobs::Job;
use super::transport_state::{Diagnostic, State, TransportState};
use crate::client::HttpError;

/// Opens another session, unless that was done since the session of this generation. `id` is that
/// of the call that waits for it.
pub(crate) async fn renew(
    shared: &TransportState,
    generation: u32,
    id: Option<&str>,
) -> Result<(), HttpError> {
    loop {
        let (is_old, is_ours) = shared.with(|state| {
            let is_old = state.generation == generation;
            let is_ours = is_old && !state.is_renewing;
            state.is_renewing |= is_ours;
            state.is_opening |= is_ours;
            (is_old, is_ours)
        });
        if !is_old {
            return Ok(());
        }
        if is_ours {
            break;
        }
        wait(shared, id).await;
    }
    let turn = Turn(shared);
    begin(shared, id).await?;
    shared.with(|state| {
        state.generation += 1;
        state.jobs.push(Job::Listen);
    });
    drop(turn);
    shared.report(Diagnostic::SessionRenewed);
    Ok(())
}

/// Waits until no session is being opened. The time limit of the call stands still while a person
/// logs in to it.
async fn wait(shared: &TransportState, id: Option<&str>) {
    loop {
        until(shared, |state| !state.is_renewing || state.logins > 0).await;
        if shared.with(|state| !state.is_renewing) {
            return;
        }
        let login = async {
            until(shared, |state| !state.is_renewing || state.logins == 0).await;
            Ok(())
        };
        // The login has a time limit of its own.
        let _ = shared.stopped(id, login).await;
    }
}

async fn until(shared: &TransportState, reached: impl Fn(&State) -> bool) {
    let poll = |cx: &mut Context<'_>| {
        shared.with(|state| {
            if reached(state) {
                return Poll::Ready(());
            }
            if !state.renewal_wakers.iter().any(|waker| waker.will_wake(cx.waker())) {
                state.renewal_wakers.push(cx.waker().clone());
            }
            Poll::Pending
        })
    };
    poll_fn(poll).await;
}

async fn begin(shared: &TransportState, id: Option<&str>) -> Result<(), HttpError> {
    let (before, opening) = shared.with(|state| (state.session.revision(), state.opening.clone()));
    let [Some(initialize), Some(initialized)] = opening else { return Err(ended()) };
    let has_response = exchange(shared, &initialize, id).await?;
    let accepted = exchange(shared, &initialized, id).await?;
    if has_response && accepted && shared.with(|state| state.session.revision()) == before {
        Ok(())
    } else {
        Err(ended())
    }
}

/// Returns whether this message got a response, or was accepted.
async fn exchange(
    shared: &TransportState,
    sent: &Post,
    id: Option<&str>,
) -> Result<bool, HttpError> {
    let limit = shared.http.accept_timeout;
    let (kind, got) = ask_with(shared, &sent.message(), sent.body(), id, limit).await?;
    Ok(got.map_or(kind == ResponseKind::Accepted, |got| got.is_over))
}

fn ended() -> HttpError {
    HttpError::Invalid(
        "session ended by the server, and a new one differs in revision or capabilities".to_owned(),
    )
}

/// Lets the next one try when it is dropped.
struct Turn<'s>(&'s TransportState);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.with(|state| {
            state.is_renewing = false;
            state.is_opening = false;
        });
        self.0.wake_renewals();
    }
}
