//! Tasks as a store keeps them.

use mcp_sansio::tasks::{TaskEnd, TaskInfo, TaskOwner};
use mcp_sansio::{OwnedJson, OwnedRpcError, RawJson, Revision, RpcError};
use mcp_sansio_engine::internal::is_error;

use super::{TaskHub, TaskOutcome};
use crate::asynchronous::server::context::{ActiveRequest, owner_text};
use crate::store::{self, DamagedRecord, StoreError, TaskRecord, TaskStore};

impl TaskHub {
    pub(crate) fn store(&self) -> Option<&TaskStore> {
        self.options.store.as_ref()
    }

    /// Loads the tasks of an earlier process. Those that it did not end have failed. An error is
    /// returned when all others are loaded.
    pub(crate) fn restore(
        &self,
        mut damaged: impl FnMut(DamagedRecord),
    ) -> Result<usize, StoreError> {
        let Some(store) = self.store() else { return Ok(0) };
        let (mut records, mut restored) = (Vec::new(), 0);
        let mut result = store.load(|record| match record {
            Ok(record) => records.push(record),
            Err(error) => damaged(error),
        });
        for mut record in records {
            if record.outcome.is_none() {
                let error = RpcError::internal("The server was restarted");
                record.message = error.message.to_owned();
                record.outcome = outcome(None, &Err(error.into()));
                result = result.and(store.save(&record));
            }
            restored += usize::from(self.restore_one(&record));
        }
        result.map(|()| restored)
    }

    fn restore_one(&self, record: &TaskRecord) -> bool {
        let owner = self.owner_of_text(record.owner.as_deref());
        let outcome: Option<TaskOutcome> = match &record.outcome {
            Some(store::TaskOutcome::Completed(json) | store::TaskOutcome::ToolFailed(json)) => {
                RawJson::parse(json).ok().map(|json| Ok(OwnedJson::from(json)))
            }
            Some(store::TaskOutcome::Failed(json)) => {
                let error = RawJson::parse(json).ok().map(OwnedRpcError::from_json);
                error.and_then(Result::ok).map(Err)
            }
            _ => None,
        };
        self.with(|hub, time| hub.restore(time, record.id, owner, &record.stored(), outcome))
    }

    fn owner_of_text(&self, text: Option<&str>) -> TaskOwner {
        #[cfg(feature = "http")]
        if let Some((length, both)) = text.and_then(|text| text.split_once(':'))
            && let Ok(length) = length.parse()
            && let Some((issuer, subject)) = both.split_at_checked(length)
        {
            return self.owner_of(issuer, subject);
        }
        let _ = text;
        // Its connection is gone.
        TaskOwner(if self.options.bind_to_connection { u64::MAX } else { 0 })
    }
}

/// Returns the record of a task. `end` is how it has ended, if it has.
pub(crate) fn record(
    request: &ActiveRequest,
    info: &TaskInfo,
    end: Option<Option<&TaskOutcome>>,
) -> TaskRecord {
    let arguments = request.request.as_request().arguments().raw().as_str().to_owned();
    let (created, ttl) = (info.created_unix_ms(), info.ttl_ms());
    let mut record = TaskRecord::new(info.id(), request.name(), arguments, created, ttl);
    record.update(info);
    record.owner = owner_text(&request.origin);
    record.outcome = match end {
        None => None,
        Some(Some(end)) => outcome(None, end),
        Some(None) => outcome(info.end(), &Err(RpcError::internal("The task has expired").into())),
    };
    record
}

fn outcome(end: Option<TaskEnd>, outcome: &TaskOutcome) -> Option<store::TaskOutcome> {
    if end == Some(TaskEnd::Cancelled) {
        return Some(store::TaskOutcome::Cancelled);
    }
    Some(match outcome {
        Ok(result) => {
            let json = result.as_raw().as_str().to_owned();
            match is_error(result.as_raw()) {
                true => store::TaskOutcome::ToolFailed(json),
                false => store::TaskOutcome::Completed(json),
            }
        }
        Err(error) => {
            let json = OwnedJson::new(&error.as_error(), Revision::LATEST).ok()?;
            store::TaskOutcome::Failed(json.as_raw().as_str().to_owned())
        }
    })
}
