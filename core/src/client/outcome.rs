//! What a result is worth.

use super::Client;
use super::event::CallOutcome;
use super::inputs::InputRequired;
use super::pending::Outgoing;
use crate::json::RawJson;
use crate::violation::Violation;

impl<const N: usize> Client<'_, N> {
    /// 2026-07-28, basic: without a `resultType` a result is complete, and of an unknown one it is
    /// invalid. Legacy results have none.
    pub(super) fn judge<'f>(&self, outgoing: &Outgoing, result: RawJson<'f>) -> CallOutcome<'f> {
        if !result.is_object() {
            return CallOutcome::Invalid(Violation::InvalidResult);
        }
        if !self.speaks().is_modern() {
            return CallOutcome::Result(result);
        }
        let Some(kind) = result.get("resultType") else { return CallOutcome::Result(result) };
        match kind.as_string() {
            Some(kind) if kind == "complete" => CallOutcome::Result(result),
            Some(kind) if kind == "input_required" => self.input_required(outgoing, result),
            Some(kind) if self.config.result_types.iter().any(|ours| kind == **ours) => {
                CallOutcome::Result(result)
            }
            _ => CallOutcome::Invalid(Violation::UnknownResultType),
        }
    }

    fn input_required<'f>(&self, outgoing: &Outgoing, result: RawJson<'f>) -> CallOutcome<'f> {
        let input = InputRequired::new(result, outgoing.round);
        let declared = self.declared();
        CallOutcome::Invalid(if !outgoing.may_require_input {
            Violation::InputNotAllowed
        } else if !input.is_sound() {
            Violation::InvalidResult
        } else if !input.needs().is_some_and(|needs| declared.contains(needs)) {
            Violation::InputNotAllowed
        } else if outgoing.round >= self.config.max_rounds {
            Violation::TooManyRounds
        } else {
            return CallOutcome::InputRequired(input);
        })
    }
}
