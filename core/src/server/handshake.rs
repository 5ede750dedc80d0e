//! The handshake: `initialize` up to 2025-11-25, `server/discover` in 2026-07-28.

use super::event::ServerEvent;
use super::refusal::{Refusal, refuse, write_result};
use super::{Phase, Server, Session};
use crate::encode::{Encode, Encoder, With, object};
use crate::error::SendError;
use crate::json::RawJson;
use crate::lifecycle::{ClientFeatures, Revision};
use crate::message::{Id, Params};
use crate::rpc::write_response_head;
use crate::tx::{Tx, WriterId};
use crate::types::ServerCapabilities;

impl<'s> Server<'s> {
    /// Opens a legacy session (basic/lifecycle): with the offered version if supported, else with
    /// the newest legacy version supported.
    #[cfg_attr(small, inline(never))]
    pub(super) fn initialize<'f>(
        &mut self,
        id: Id<'f>,
        params: &Params<'f>,
        tx: &mut Tx<'_>,
    ) -> Result<Option<ServerEvent<'f>>, SendError> {
        let supported = self.config.revisions;
        // Both have been checked.
        let version = params.get("protocolVersion").unwrap_or(RawJson::NULL);
        let declared = params.get("capabilities").unwrap_or(RawJson::EMPTY);
        let offered = version.as_string().and_then(Revision::from_json);
        let revision =
            match offered.filter(|offered| !offered.is_modern() && supported.contains(*offered)) {
                Some(revision) => revision,
                None => match supported.newest_legacy() {
                    Some(revision) => revision,
                    None => {
                        let (refusal, revision) = (Refusal::NO_INITIALIZE, Revision::LATEST_LEGACY);
                        return refuse(self.config, Some(id), revision, refusal, Some(version), tx);
                    }
                },
            };
        let config = self.config;
        tx.frame(WriterId::AUTOMATIC_RESPONSE, revision, &mut |writer| {
            write_response_head(writer, id.as_str().as_bytes(), b",\"result\":");
            object!(writer, {
                "protocolVersion": revision.as_str(),
                "capabilities": self.capabilities(),
                "serverInfo": config.info,
                "instructions"?: config.instructions,
            });
            writer.put(b"}")
        })?;
        let capabilities = ClientFeatures::read(declared, revision);
        let extensions =
            config.read_extensions.map_or(0, |read| read(declared, config.client_extensions));
        self.peer.session = Some(Session {
            revision,
            capabilities,
            extensions,
            log_level: config.log_level,
            phase: Phase::Initializing,
        });
        Ok(Some(ServerEvent::Initialize { revision, params: params.raw() }))
    }

    /// Responds to `server/discover` (2026-07-28).
    #[cfg_attr(small, inline(never))]
    pub(super) fn discover<'f>(
        &mut self,
        id: Id<'f>,
        tx: &mut Tx<'_>,
    ) -> Result<Option<ServerEvent<'f>>, SendError> {
        let config = self.config;
        let versions = With(|to: &mut Encoder<'_>| {
            to.array(config.revisions.iter().map(Revision::as_str));
        });
        let result = object!({
            "supportedVersions": versions,
            "capabilities": self.capabilities(),
            "instructions"?: config.instructions,
            "ttlMs": config.discover_ttl_ms,
            "cacheScope": config.discover_scope,
        });
        tx.frame(WriterId::AUTOMATIC_RESPONSE, Revision::LATEST, &mut |writer| {
            write_response_head(writer, id.as_str().as_bytes(), b",\"result\":");
            write_result::<dyn Encode>(config, writer, "complete", &result);
            writer.put(b"}")
        })?;
        Ok(None)
    }

    fn capabilities(&self) -> ServerCapabilities<'s> {
        let config = self.config;
        ServerCapabilities::declared(config.capabilities(), config.experimental, config.extensions)
    }

    pub(super) fn write_info(&self, writer: &mut Encoder<'_>) {
        self.config.info.encode(writer)
    }
}
