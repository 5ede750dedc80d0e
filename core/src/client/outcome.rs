//! What a result is worth.

use super::Client;
use super::event::Outcome;
use super::inputs::InputRequired;
use super::pending::Outgoing;
use crate::json::RawJson;
use crate::violation::Violation;

impl<const N: usize> Client<'_, N> {
    /// 2026-07-28, basic: without a `resultType` a result is complete, and of an unknown one it is
    /// invalid. Legacy results have none.
    pub(super) fn judge<'f>(&self, outgoing: &Outgoing, result: RawJson<'f>) -> Outcome<'f> {
        if !result.is_object() {
            return Outcome::Invalid(Violation::InvalidResult);
        }
        if !self.speaks().is_modern() {
            return Outcome::Result(result);
        }
        let Some(kind) = result.get("resultType") else { return Outcome::Result(result) };
        match kind.as_string() {
            Some(kind) if kind == "complete" => Outcome::Result(result),
            Some(kind) if kind == "input_required" => self.input_required(outgoing, result),
            Some(kind) if self.config.result_types.iter().any(|ours| kind == **ours) => {
                Outcome::Result(result)
            }
            _ => Outcome::Invalid(Violation::UnknownResultType),
        }
    }

    fn input_required<'f>(&self, outgoing: &Outgoing, result: RawJson<'f>) -> Outcome<'f> {
        let input = InputRequired::new(result, outgoing.round);
        let declared = self.declared();
        Outcome::Invalid(if !outgoing.may_require_input {
            Violation::InputNotAllowed
        } else if !input.is_sound() {
            Violation::InvalidResult
        } else if !input.needs().is_some_and(|needs| declared.contains(needs)) {
            Violation::InputNotAllowed
        } else if outgoing.round >= self.config.max_rounds {
            Violation::TooManyRounds
        } else {
            return Outcome::InputRequired(input);
        })
    }
}
