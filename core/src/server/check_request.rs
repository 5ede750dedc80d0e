//! Checks of incoming requests: ids, version, capabilities, method and parameters.

use super::Server;
use super::params::{self, Rule};
use super::refusal::Refusal;
use crate::lifecycle::{ClientFeatures, Method, Revision};
use crate::message::{Envelope, Id, Member, Messages, Params, TransportContext};
use crate::types::LoggingLevel;
use crate::violation::Violation;

impl Server<'_> {
    /// Returns whether a request carries its own version.
    pub(super) fn is_modern(
        &self,
        method: Method<'_>,
        envelope: &Envelope<'_>,
        transport: TransportContext<'_>,
    ) -> bool {
        envelope.has(Member::ProtocolVersion)
            || self.peer.session.is_none()
                && (envelope.has(Member::ClientCapabilities)
                    || self.declares_modern_version(method, transport))
    }

    /// Checks a request, in the order that the specification gives, and completes its properties.
    #[cfg_attr(small, inline(never))]
    pub(super) fn check_request<'f>(
        &self,
        id: Id<'f>,
        method: Method<'f>,
        envelope: &Envelope<'f>,
        messages: &Messages<'f>,
        context: &mut Context<'f>,
    ) -> Result<(), Refusal> {
        // First, because no error may be written with an id that another request uses.
        let used = self.requests.find(id, id.hash());
        if used.is_some_and(|slot| self.peer.acknowledging != Some(slot)) {
            return Err(Violation::IdInUse.into());
        }
        if id.is_too_long() {
            return Err(Violation::IdTooLong.into());
        }
        if !matches!(envelope.first_byte(Member::Params), 0 | b'{') {
            return Err(Violation::InvalidParams.into());
        }
        if context.is_modern {
            self.check_modern(method, envelope, messages, context)?;
        } else {
            context.capabilities = self.check_legacy(method, messages.in_batch())?;
        }
        if let Some(token) = envelope.value(Member::ProgressToken) {
            let token = Id::parse(token.as_str()).ok_or(Refusal::TOKEN)?;
            if token.is_too_long() {
                return Err(Violation::IdTooLong.into());
            }
            context.token = Some(token);
        }
        let rules = params::rules(method, &self.config.features);
        if rules.is_empty() || is_usual_call(method, envelope) {
            return Ok(());
        }
        check_params(method, &envelope.params(), rules, context.is_modern)
    }

    /// 2026-07-28, basic (request metadata) and basic/versioning.
    fn check_modern<'f>(
        &self,
        method: Method<'f>,
        envelope: &Envelope<'f>,
        messages: &Messages<'f>,
        context: &mut Context<'f>,
    ) -> Result<(), Refusal> {
        let transport = messages.transport();
        transport.require_version_header()?;
        let (Some(version), Some(declared)) =
            (envelope.value(Member::ProtocolVersion), envelope.value(Member::ClientCapabilities))
        else {
            return Err(Violation::InvalidMeta.into());
        };
        let Some(requested) =
            version.as_string().filter(|_| declared.is_object() && params::is_version(version))
        else {
            return Err(Violation::InvalidMeta.into());
        };
        transport.check_version_header(requested)?;
        let supported = self.config.revisions;
        match Revision::from_json(requested) {
            Some(revision) if revision.is_modern() && supported.contains(revision) => {}
            _ => return Err(Violation::UnsupportedVersion.into()),
        }
        if messages.in_batch() {
            return Err(Violation::BatchNotAllowed.into());
        }
        self.check_method(method, Revision::LATEST)?;
        transport.check_headers(method, envelope)?;
        if let Some(level) = envelope.value(Member::LogLevel) {
            let level = level.as_string().and_then(LoggingLevel::from_json);
            context.log_level = Some(level.ok_or(Refusal::LOG_LEVEL)?);
        }
        context.capabilities = ClientFeatures::read(declared, Revision::LATEST);
        Ok(())
    }

    /// 2024-11-05 to 2025-11-25, basic/lifecycle.
    #[cfg_attr(small, inline(never))]
    fn check_legacy<'f>(
        &self,
        method: Method<'f>,
        in_batch: bool,
    ) -> Result<ClientFeatures, Refusal> {
        match (method, self.peer.session) {
            (Method::Initialize, _) if in_batch => Err(Violation::InitializeInBatch.into()),
            (Method::Initialize, Some(_)) => Err(Violation::AlreadyInitialized.into()),
            (Method::Initialize | Method::Ping | Method::Shutdown, None) => {
                Ok(ClientFeatures::NONE)
            }
            (_, Some(scope)) => {
                self.check_method(method, scope.revision).map(|()| scope.capabilities)
            }
            (_, None) => {
                if method.rule().is_none() && !self.is_custom_method(method) {
                    return Err(Violation::UnknownMethod.into());
                }
                let revisions = self.config.revisions;
                Err(if !revisions.contains(Revision::LATEST) {
                    Refusal::INITIALIZE_FIRST
                } else if revisions.newest_legacy().is_none() {
                    Violation::InvalidMeta.into()
                } else {
                    Violation::NotInitialized.into()
                })
            }
        }
    }

    fn check_method<'f>(&self, method: Method<'f>, revision: Revision) -> Result<(), Refusal> {
        let allowed = match method.rule() {
            Some(rule) => rule.allows(revision, self.config.capabilities()),
            None => self.is_custom_method(method),
        };
        if allowed { Ok(()) } else { Err(Violation::UnknownMethod.into()) }
    }

    /// Returns whether the transport declares a modern version for a request without modern
    /// metadata, or no other version is supported.
    fn declares_modern_version(&self, method: Method<'_>, transport: TransportContext<'_>) -> bool {
        let only_modern =
            !transport.exchange().is_session() && self.config.revisions.newest_legacy().is_none();
        only_modern || !matches!(method, Method::Initialize) && transport.declares_modern_version()
    }

    fn is_custom_method(&self, method: Method<'_>) -> bool {
        matches!(method, Method::Other(name) if self.config.methods.iter().any(|own| name == *own))
    }
}

/// Properties of a request.
pub(super) struct Context<'f> {
    pub(super) token: Option<Id<'f>>,
    pub(super) is_modern: bool,
    pub(super) capabilities: ClientFeatures,
    pub(super) log_level: Option<LoggingLevel>,
}

impl Context<'_> {
    pub(super) const fn new(is_modern: bool) -> Self {
        Self { token: None, is_modern, capabilities: ClientFeatures::NONE, log_level: None }
    }
}

/// Fast path: returns whether only a name and arguments are present, whose types are known already.
#[inline]
fn is_usual_call(method: Method<'_>, envelope: &Envelope<'_>) -> bool {
    cfg!(not(small))
        && matches!(method, Method::ToolsCall)
        && envelope.first_byte(Member::Name) == b'"'
        && envelope.first_byte(Member::Arguments) == b'{'
        && !envelope.has(Member::InputResponses)
        && !envelope.has(Member::RequestState)
}

/// Checks the types of the parameters that every application needs.
#[cfg_attr(not(small), inline(never))]
fn check_params(
    method: Method<'_>,
    params: &Params<'_>,
    rules: &[Rule],
    modern: bool,
) -> Result<(), Refusal> {
    let get = |key: &str| params.get(key);
    params::check(&get, rules)?;
    if matches!(method, Method::SubscriptionsListen) {
        let get = |key: &str| params.get("notifications")?.get(key);
        params::check(&get, &params::FILTER)?;
    }
    if modern && method.may_require_input() {
        params::check(&get, &params::INPUT)?;
    }
    Ok(())
}
