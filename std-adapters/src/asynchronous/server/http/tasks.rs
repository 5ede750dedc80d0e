//! The tasks that the servers of a fleet share.

use std::future::poll_fn;
use std::mem::replace;
use std::sync::{Arc, Mutex};

use mcp_sansio::{Frame, Instant, Messages, OwnedJson, Revision, ServerEvent, TxBuffer};
use mcp_sansio_engine::internal::FleetStep;
use mcp_sansio_engine::site::{Principal, ServerKey};

use super::server::{HttpServer, Table};
use crate::asynchronous::server::admission::Slot;
use crate::asynchronous::server::app::Settings;
use crate::asynchronous::server::context::{HttpOrigin, parts_of_owner};
use crate::asynchronous::server::driver_waker::DriverWaker;
use crate::asynchronous::server::life::{Live, Work};
use crate::asynchronous::server::task_hub::NewTask;
use crate::lock::lock;
use crate::observer::Event;
use crate::runtime::timer::LazyTimer;
use crate::store::TaskRecord;

impl HttpServer {
    /// Does what the server has to do for the tasks of its fleet.
    pub(crate) async fn share_tasks<M: Live>(&self, table: &Mutex<Table<M>>) {
        let settings = &*self.0.settings;
        let Settings { tasks, broadcaster, .. } = settings;
        // Whether the store has failed since it last did not: everything is tried again.
        let (mut timer, mut has_failed) = (LazyTimer::new(), false);
        loop {
            let done = match poll_fn(|cx| tasks.poll_step(&mut timer, cx)).await {
                FleetStep::Tell(id) => {
                    self.with(|site, _| site.announce_task(id));
                    continue;
                }
                FleetStep::Sweep if broadcaster.is_shutting_down() => continue,
                step => tasks.work_in_store(step, broadcaster).await,
            };
            match done {
                Ok(left) => {
                    has_failed = false;
                    for (record, task) in left {
                        match settings.begin_again(&record, task, &self.0.driver) {
                            Some(work) => {
                                lock(table).requests.work(work, settings);
                                self.0.driver.notify();
                            }
                            None => tasks.fail(record.id),
                        }
                    }
                }
                Err(error) if !replace(&mut has_failed, true) => settings.tell(|hooks| {
                    hooks.tell(Event::FleetFailed { error: &error.to_string() });
                }),
                Err(_) => {}
            }
        }
    }
}

impl Settings {
    /// Begins a task that another server has left: its call is received again, by a server without
    /// a client. Returns `None` if it cannot be called here.
    fn begin_again(
        &self,
        record: &TaskRecord,
        task: NewTask,
        driver: &Arc<DriverWaker>,
    ) -> Option<Work<ServerKey>> {
        let line = line_of(record)?;
        let mut state = self.server_state();
        let mut server = state.server(self.config);
        if let Some(agreed) = record.call.as_ref()?.agreed {
            server.resume_session(agreed, 0);
        }
        let mut messages = Messages::new(Frame::Complete(line.as_bytes()));
        let mut tx = TxBuffer::with_limit(Vec::new(), line.len());
        let now = Instant::from_millis(0);
        let Ok(Some(ServerEvent::Request(request))) =
            server.next_event(now, &mut messages, &mut tx)
        else {
            return None;
        };
        let slot = Slot::take(&request, &server, None, driver);
        let principal = record.owner.as_deref().and_then(parts_of_owner);
        let origin = HttpOrigin {
            server: ServerKey::NONE,
            principal: principal.map(|(issuer, of)| Arc::new(Principal::new(issuer, of))),
            head: None,
            session: record.call.as_ref()?.session,
            filter: None,
        };
        let hooks = self.hooks();
        let connection = hooks.as_ref().map(|hooks| (hooks, driver.number));
        let origin = (ServerKey::NONE, Some(origin));
        let admission = self.admit(&request, origin, &mut server, &mut tx, slot, connection);
        let Some(Work::Begin(key, mut active)) = admission.work else { return None };
        Arc::get_mut(&mut active)?.task.as_mut()?.again.adopt(task, record);
        Some(Work::Begin(key, active))
    }
}

/// Returns the call that has become a task, as its client has sent it.
fn line_of(record: &TaskRecord) -> Option<String> {
    let call = record.call.as_ref()?;
    let tool = OwnedJson::new(record.tool.as_str(), Revision::LATEST).ok()?;
    let rest = match &call.meta {
        Some(meta) => format!(r#""_meta":{meta}"#),
        None => r#""task":{}"#.to_owned(),
    };
    let (tool, arguments) = (tool.as_json().as_str(), &record.arguments);
    Some(format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{{"name":{tool},"arguments":{arguments},{rest}}}}}"#
    ))
}
