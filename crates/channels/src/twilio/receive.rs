//! Answers by SMS and delivery reports: requests that say they come from Twilio.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_core::channel::receive::{
    Became, Call, EventId, Inbound, NotRead, Reaction, Receive, Reply, Sender, Way, What,
};
use punctual_core::channel::{Message, SendError};
use punctual_core::id::OccurrenceId;
use punctual_core::phrase::Lang;

use super::{BODY_MAX, Twilio, WAIT, code, named};
use crate::common::fit::{Unit, fit};
use crate::common::http::pairs;
use crate::common::phone;
use crate::common::quote::told;
use crate::common::reactions::{is_confirmation, said};
use crate::common::signatures::{self, TwilioBody};

/// How long a copy of a message is recognised. Twilio signs no time, so a copy is good for ever; after this it is too old to be of
/// use to anybody.
const REMEMBER_FOR: Duration = Duration::from_secs(30 * 24 * 3600);
/// Asks Twilio to repeat a report that could not be taken: three times, after an error of ours or when the connection failed.
const REPEAT: &str = "#rc=3&rp=5xx,ct,rt";

#[async_trait]
impl Receive for Twilio {
    fn way(&self) -> Way {
        Way::Webhook
    }

    fn read(&self, call: &Call<'_>, _now: Timestamp) -> Result<Vec<Inbound>, NotRead> {
        let fields = pairs(call.body);
        let Some(door) = &self.door else { return Err(NotRead::Forged) };
        let query = call.path_and_query.split_once('?').map(|(_, query)| query);
        let url = query.map_or_else(|| door.url.clone(), |query| format!("{}?{query}", door.url));
        let signature = call.header("x-twilio-signature").unwrap_or_default();
        let is_signed =
            |url: &str| signatures::twilio(self.auth_token.expose(), url, TwilioBody::Form(&fields), signature);
        // Twilio does not say whether it signs what it was asked for after the #.
        if !is_signed(&url) && !is_signed(&format!("{url}{REPEAT}")) {
            return Err(NotRead::Forged);
        }
        let field = |name: &str| fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        let asked = pairs(query.unwrap_or_default().as_bytes());
        let occurrence = asked.iter().find(|(name, _)| name == "o").and_then(|(_, value)| value.parse().ok());
        let read = match (occurrence, field("MessageStatus")) {
            (Some(occurrence), Some(status)) => self.report(occurrence, status, &field),
            _ => self.words(&field),
        };
        Ok(read.into_iter().collect())
    }

    /// Twilio sends the words of the reply as an SMS.
    fn reply(&self, taken: &[(Inbound, Reaction)]) -> Reply {
        let reaction = taken.first().map(|(_, reaction)| reaction);
        let said = reaction
            .filter(|reaction| self.confirms || !is_confirmation(reaction))
            .and_then(|reaction| said(reaction, self.clock.now()));
        let message = said.map(|said| {
            let choices = said.choices.iter().map(|choice| format!("\n- {}", choice.label));
            let text = said.text.clone() + &choices.collect::<String>();
            format!("<Message>{}</Message>", escape(&fit(&text, BODY_MAX, Unit::Utf16, Lang::En, str::to_owned)))
        });
        let body = format!("<Response>{}</Response>", message.unwrap_or_default());
        Reply { status: 200, content_type: "text/xml", body }
    }
}

impl Twilio {
    /// Where Twilio tells what became of a message: only this URL knows which one it was.
    pub(super) fn report_to(&self, message: &Message) -> Option<String> {
        let door = self.door.as_ref().filter(|_| self.receives)?;
        Some(format!("{}?o={}{REPEAT}", door.url, message.occurrence))
    }

    fn words<'a>(&self, field: &impl Fn(&str) -> Option<&'a str>) -> Option<Inbound> {
        let (id, from) = (field("MessageSid")?, field("From")?);
        let text = field("Body").filter(|text| !text.trim().is_empty())?;
        phone::check("From", from).ok().filter(|()| field("AccountSid") == Some(&self.account_sid))?;
        let person = vec![from.to_owned()];
        let from = Sender { chat: person.clone(), person, is_group: false, name: String::new() };
        let what = What::Words { text: text.to_owned(), reply_to: None, about: None };
        let mut inbound = Inbound::new(what, Some(from));
        inbound.id = Some(EventId { id: format!("message {id}"), remember_for: REMEMBER_FOR });
        Some(inbound)
    }

    /// Reports come twice and in no order. They need no id, because a message only ever moves forward.
    fn report<'a>(
        &self,
        occurrence: OccurrenceId,
        status: &str,
        field: &impl Fn(&str) -> Option<&'a str>,
    ) -> Option<Inbound> {
        let message_id = field("MessageSid")?.to_owned();
        let became = match status {
            "delivered" | "read" => Became::Delivered,
            "undelivered" | "failed" | "canceled" => {
                let code = field("ErrorCode").and_then(|code| code.parse().ok());
                let said = format!("Twilio took it, then reported {}, {}", told(status, &[]), code.unwrap_or_default());
                Became::Failed(match named(code::class(code, 500), said.clone(), WAIT) {
                    // Twilio took this message before, so its limit delays nothing now: the run is retried in its own time.
                    SendError::Throttled { .. } => SendError::Unavailable(said),
                    error => error,
                })
            }
            _ => return None,
        };
        Some(Inbound::new(What::Report { occurrence, message_id, became }, None))
    }
}

/// A text within XML.
fn escape(text: &str) -> String {
    let is_allowed = |character: &char| !character.is_control() || matches!(character, '\n' | '\t');
    let text: String = text.chars().filter(is_allowed).collect();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
