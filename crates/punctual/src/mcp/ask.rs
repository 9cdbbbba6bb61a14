//! Asking the person back, where the client can show a question.
//!
//! Until revision 2025-11-25 a server asks by a request of its own while the call waits. Since 2026-07-28 a call ends with the questions, and the
//! client sends the same call again with the answers. Earlier answers then travel as `requestState`. They need no seal: an answer only chooses
//! among things that its caller may do with its own key, and is checked again like any other input.

use std::collections::BTreeMap;

use rmcp::model::{
    ConstTitle, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, EnumSchema,
    InputRequest, InputRequiredResult, InputResponses, PrimitiveSchemaDefinition, ProtocolVersion,
    SingleSelectEnumSchema, StringSchema, TitledSingleSelectEnumSchema,
};
use rmcp::service::{Peer, RequestContext};
use rmcp::{ErrorData, RoleServer};

use super::ASK_FOR;

/// The name of the field that holds an answer.
const FIELD: &str = "answer";
/// The longest answer in words.
const WORDS_MAX: u32 = 500;

/// A question to the person.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Question {
    key: &'static str,
    pub(super) words: String,
    /// What can be chosen: a value, and how it is shown. Without any, the person answers in words.
    pub(super) choices: Vec<(String, String)>,
}

/// What the person said.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Answer {
    Said(String),
    /// They did not want to say.
    Declined,
}

/// The answers so far, by the key of their question.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Answers(BTreeMap<String, Answer>);

impl Question {
    pub(super) fn choice(key: &'static str, words: impl Into<String>, choices: Vec<(String, String)>) -> Self {
        Self { key, words: words.into(), choices }
    }

    pub(super) fn in_words(key: &'static str, words: impl Into<String>) -> Self {
        Self { key, words: words.into(), choices: Vec::new() }
    }

    pub(super) fn key(&self) -> &'static str {
        self.key
    }

    fn params(&self) -> ElicitRequestParams {
        let field = match self.choices.is_empty() {
            true => PrimitiveSchemaDefinition::String(StringSchema::new().length(1, WORDS_MAX)),
            false => {
                let titled = self.choices.iter().map(|(value, title)| ConstTitle::new(value, title)).collect();
                let titled = TitledSingleSelectEnumSchema::new(titled);
                PrimitiveSchemaDefinition::Enum(EnumSchema::Single(SingleSelectEnumSchema::Titled(titled)))
            }
        };
        let schema = ElicitationSchema::new(BTreeMap::from([(FIELD.to_owned(), field)]));
        ElicitRequestParams::FormElicitationParams {
            meta: None,
            message: self.words.clone(),
            requested_schema: schema.with_required(vec![FIELD.to_owned()]),
        }
    }
}

impl Answers {
    /// The answers that came with a call: those to the last questions, and the earlier ones.
    pub(super) fn of(last: Option<InputResponses>, earlier: Option<&str>) -> Result<Self, ErrorData> {
        let mut answers = Self::default();
        if let Some(state) = earlier {
            let wrong = || ErrorData::invalid_params("requestState is not what this server gave", None);
            let earlier: BTreeMap<String, String> = serde_json::from_str(state).map_err(|_| wrong())?;
            answers.0.extend(earlier.into_iter().map(|(key, said)| (key, Answer::Said(said))));
        }
        for (key, result) in last.unwrap_or_default() {
            let wrong = || ErrorData::invalid_params(format!("inputResponses.{key} is no answer to a question"), None);
            let result: ElicitResult = serde_json::from_value(result).map_err(|_| wrong())?;
            answers.0.insert(key, Answer::of(&result));
        }
        Ok(answers)
    }

    pub(super) fn put(&mut self, key: &str, answer: Answer) {
        self.0.insert(key.to_owned(), answer);
    }

    pub(super) fn get(&self, key: &str) -> Option<&Answer> {
        self.0.get(key)
    }

    /// The answers as a client gives them back.
    fn state(&self) -> Option<String> {
        let said = self.0.iter().filter_map(|(key, answer)| match answer {
            Answer::Said(said) => Some((key, said)),
            Answer::Declined => None,
        });
        let said: BTreeMap<_, _> = said.collect();
        (!said.is_empty()).then(|| serde_json::to_string(&said).ok()).flatten()
    }
}

impl Answer {
    fn of(result: &ElicitResult) -> Self {
        let said = result.content.as_ref().and_then(|content| content[FIELD].as_str());
        match (&result.action, said) {
            (ElicitationAction::Accept, Some(said)) if !said.trim().is_empty() => Self::Said(said.to_owned()),
            _ => Self::Declined,
        }
    }
}

/// Whether the client shows forms to its user.
pub(super) fn can_ask(context: &RequestContext<RoleServer>) -> bool {
    let elicitation = context.client_capabilities().and_then(|capabilities| capabilities.elicitation);
    elicitation.is_some_and(|modes| modes.form.is_some() || modes.url.is_none())
}

/// Whether questions go into the answer of a call.
pub(super) fn asks_in_its_answer(context: &RequestContext<RoleServer>) -> bool {
    // Revisions are dates, and compare like them.
    context.protocol_version().is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// A question as the answer of a call.
pub(super) fn in_answer(question: Question, answers: &Answers) -> InputRequiredResult {
    let request = InputRequest::Elicitation(ElicitRequest::new(question.params()));
    InputRequiredResult::new(Some(BTreeMap::from([(question.key.to_owned(), request)])), answers.state())
}

/// Asks while the call waits. A client that does not answer has declined.
pub(super) async fn over(peer: &Peer<RoleServer>, question: &Question) -> Answer {
    match peer.create_elicitation_with_timeout(question.params(), Some(ASK_FOR)).await {
        Ok(result) => Answer::of(&result),
        Err(_) => Answer::Declined,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_question_offers_what_can_be_chosen_and_earlier_answers_come_back() {
        let mut answers = Answers::default();
        answers.put("reminder", Answer::Said("1".into()));
        let question =
            Question::choice("when", "Which?", vec![("a".into(), "at 8".into()), ("b".into(), "at 20".into())]);
        let asked = serde_json::to_value(in_answer(question, &answers)).unwrap();
        assert_eq!(asked["resultType"], "input_required");
        let params = &asked["inputRequests"]["when"]["params"];
        assert_eq!(
            params["requestedSchema"]["properties"][FIELD]["oneOf"][1],
            json!({ "const": "b", "title": "at 20" })
        );
        let last: InputResponses =
            serde_json::from_value(json!({ "when": { "action": "accept", "content": { FIELD: "b" } } })).unwrap();
        let again = Answers::of(Some(last), asked["requestState"].as_str()).unwrap();
        assert_eq!(again.get("reminder"), Some(&Answer::Said("1".into())));
        assert_eq!(again.get("when"), Some(&Answer::Said("b".into())));
        let declined: InputResponses = serde_json::from_value(json!({ "when": { "action": "decline" } })).unwrap();
        assert_eq!(Answers::of(Some(declined), None).unwrap().get("when"), Some(&Answer::Declined));
        assert!(Answers::of(None, Some("tampered")).is_err());
    }
}
