//! Responses of a catalog, and the look-up before them.

#[cfg(feature = "alloc")]
use super::list::LISTS;
#[cfg(feature = "skills")]
use super::list::SKILLS;
use super::list::{Cursor, LONGEST, MAX_CURSOR, Page};
use super::{Catalog, Entry, Target};
use crate::encode::Encode;
#[cfg(all(feature = "alloc", feature = "derive"))]
use crate::encode::OwnedJson;
use crate::error::SendError;
use crate::json::JsonStr;
use crate::lifecycle::Method;
#[cfg(all(feature = "alloc", feature = "derive"))]
use crate::lifecycle::Revision;
use crate::rpc::RpcError;
use crate::server::{Request, Server};
#[cfg(all(feature = "alloc", feature = "derive"))]
use crate::tool_result::ToolError;
use crate::tx::Tx;

impl<'c> Catalog<'c> {
    /// Sends the response to a list request, or the error for an unknown name, URI or argument or
    /// for arguments that the schema of a tool does not allow, and returns
    /// [`Target::Responded`]; with the feature `tasks` also the error for a tool that must be a
    /// task or cannot be one (`Server::task_mode`). For any other request it sends nothing and
    /// returns the entry that the application has to respond for.
    ///
    /// # Errors
    /// As [`Server::respond`]: drain and call again.
    #[cfg_attr(small, inline(never))]
    pub fn respond(
        &self,
        server: &mut Server<'_>,
        request: &Request<'_>,
        tx: &mut Tx<'_>,
    ) -> Result<Target<'c>, SendError> {
        let handle = request.handle;
        let list = match request.method {
            Method::ToolsList => 0,
            Method::ResourcesList => 1,
            Method::ResourcesTemplatesList => 2,
            Method::PromptsList => 3,
            #[cfg(feature = "skills")]
            Method::SkillsList if self.skills.respond.is_some() => SKILLS,
            _ => return self.respond_unless_valid(server, request, tx),
        };
        let Some(start) = self.page(list, request.cursor()) else {
            let error = RpcError::invalid_params("Invalid cursor");
            return server.respond_error(handle, &error, tx).map(|_| Target::Responded);
        };
        let page = Page { catalog: self, list, start };
        let sent = server.respond_with::<dyn Encode>(handle, "complete", &page, tx);
        sent.map(|_| Target::Responded)
    }

    /// Responds to a request that is none for a list, unless the application has to. Its variables
    /// take no stack while a list is written.
    #[cfg_attr(small, inline(never))]
    fn respond_unless_valid(
        &self,
        server: &mut Server<'_>,
        request: &Request<'_>,
        tx: &mut Tx<'_>,
    ) -> Result<Target<'c>, SendError> {
        let handle = request.handle;
        #[cfg(feature = "skills")]
        if let Some(sent) =
            self.skills.respond.and_then(|respond| respond(self, server, request, tx))
        {
            return sent.map(|()| Target::Responded);
        }
        let target = self.target(request);
        #[cfg(feature = "derive")]
        if let (
            Some(typed),
            Method::PromptsGet | Method::CompletionComplete,
            Ok(Target::InvalidArguments(prompt) | Target::CompletePrompt(prompt)),
        ) = (self.typed_prompts, request.method, &target)
            && (typed.respond)(prompt, server, request, tx)?
        {
            return Ok(Target::Responded);
        }
        #[cfg(feature = "tasks")]
        if let Ok(Target::Tool(tool) | Target::InvalidArguments(tool)) = &target
            && let Err(error) = server.task_mode(request, tool.task_support())
        {
            return server.respond_error(handle, &error, tx).map(|_| Target::Responded);
        }
        match target {
            Ok(Target::InvalidArguments(tool)) => {
                let mut sent = Ok(());
                self.refusal(tool, request, &mut |why| {
                    sent = server.refuse_arguments(handle, why, tx);
                });
                sent.map(|()| Target::Responded)
            }
            Ok(target) => Ok(target),
            Err(error) => server.respond_error(handle, &error, tx).map(|_| Target::Responded),
        }
    }

    /// Checks arguments that a catalog [checked when they are read](Self::checked_when_read) has
    /// not, before they are used in another way. `target` is what this catalog has found. For
    /// adapters.
    ///
    /// # Errors
    /// The arguments are invalid: as [`respond`](Self::respond) says it.
    #[cfg(all(feature = "alloc", feature = "derive"))]
    pub fn check_unread(
        &self,
        target: &Target<'_>,
        request: &Request<'_>,
    ) -> Result<(), ToolError<'static>> {
        let Target::Tool(tool) = target else { return Ok(()) };
        let mut checked = Ok(());
        if self.is_call(tool) {
            self.refusal(tool, request, &mut |why| {
                let json = OwnedJson::new(why, Revision::LATEST);
                let text = json.iter().filter_map(|json| json.as_raw().as_string());
                let why: alloc::string::String = text.flat_map(JsonStr::chars).collect();
                checked = Err(ToolError::invalid_arguments(&why).into_owned());
            });
        }
        checked
    }

    /// Whether the tool is one of the enum.
    #[cfg(feature = "derive")]
    pub(crate) fn is_call(&self, tool: &Entry<'_>) -> bool {
        self.calls.entries.as_ptr_range().contains(&core::ptr::from_ref(tool))
    }

    /// Hands over what is wrong with the arguments of a call.
    pub(super) fn refusal(
        &self,
        tool: &Entry<'_>,
        request: &Request<'_>,
        refuse: &mut dyn FnMut(&dyn Encode),
    ) {
        let check = self.tools.check;
        #[cfg(feature = "derive")]
        let check = if self.is_call(tool) { self.calls.check } else { check };
        if let Some(check) = check {
            check(tool, request.arguments().raw(), refuse);
        }
    }

    /// Returns the cursor of the beginning of a list, which no response contains.
    pub(super) fn first_cursor(&self, list: usize) -> Cursor {
        let first = list as Cursor * LONGEST;
        #[cfg(feature = "alloc")]
        let first = {
            let generation = self.generations.get(list).copied().unwrap_or_default();
            first + Cursor::from(generation) * LISTS.len() as Cursor * LONGEST
        };
        first
    }

    /// Returns the start of the page. Cursors that no response contained are invalid, and those of
    /// another generation of the list.
    fn page(&self, list: usize, cursor: Option<JsonStr<'_>>) -> Option<usize> {
        let Some(cursor) = cursor else { return Some(0) };
        let len = self.len(list);
        let digits = cursor.as_plain()?.as_bytes();
        let number = digits.iter().try_fold(0, |number: Cursor, digit| {
            let is_digit = digit.is_ascii_digit() && number < MAX_CURSOR;
            is_digit.then(|| number * 10 + Cursor::from(digit.wrapping_sub(b'0')))
        })?;
        if digits.first() == Some(&b'0') {
            return None;
        }
        let start = number.checked_sub(self.first_cursor(list))?;
        #[allow(clippy::useless_conversion, reason = "it depends on a feature")]
        let start = usize::try_from(start).ok()?;
        // A loop, since a Cortex-M0 cannot divide.
        let mut page = 0;
        while page < start && page < len {
            page = page.saturating_add(self.page_size);
        }
        (start > 0 && start < len && page == start).then_some(start)
    }
}
