//! What is done on the page of a person. Each form says what it is in `do`, and changes its own fields alone.

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use punctual_client::Failure;
use punctual_client::wire::{
    AddressInput, CalendarInput, HabitsInput, QuietExcept, QuietHoursInput, SilenceInput, Span, StepInput, UserInput,
};

use super::of_person;
use super::person::{address_name, render};
use crate::flash::Flash;
use crate::parts::{self, Filled, Refusal};
use crate::texts::{forms, people as t};
use crate::trouble::Trouble;
use crate::viewer::{Posted, Viewer, as_it_is, found};

/// The forms of the page.
const FORMS: [&str; 14] = [
    "addresses",
    "address",
    "quiet",
    "no-quiet",
    "pause",
    "resume",
    "silence",
    "silence-end",
    "about",
    "calendar-renew",
    "follow",
    "unfollow",
    "read",
    "",
];

pub(super) async fn change(
    Path(id): Path<String>,
    Posted { viewer: mut v, form }: Posted<Filled>,
) -> Result<Response, Trouble> {
    v.here = of_person(&id);
    let wanted = form.get("do").unwrap_or_default();
    let Some(what) = FORMS.into_iter().find(|known| *known == wanted) else { return Err(Trouble::NotFound) };
    match done(&v, &id, what, &form).await {
        Ok(said) => Ok(Flash::done(said).then(&v.here)),
        Err(failure) => {
            let refusal = Refusal::of(&v.m, what, &form, failure)?;
            Ok((refusal.status(), render(&v, &id, Some(&refusal)).await?).into_response())
        }
    }
}

/// Does what a form asks for, and says so.
async fn done(v: &Viewer, id: &str, what: &'static str, form: &Filled) -> Result<String, Failure> {
    let m = &v.m;
    let name = form.get("name").unwrap_or_default();
    match what {
        "silence" => {
            let input = SilenceInput {
                user: Some(id.to_owned()),
                group: None,
                tag: form.owned("tag"),
                from: form.owned("from"),
                until: form.owned("until"),
            };
            let silence = v.client.create_silence(&input).await?;
            Ok(m.say(t::SILENCED, &[("when", &m.instant(silence.until))]))
        }
        "silence-end" => v.client.end_silence(name).await.map(|()| m.t(t::SILENCE_ENDED).into_owned()),
        "calendar-renew" => v.client.renew_calendar(id).await.map(|_| m.t(t::CALENDAR_RENEWED).into_owned()),
        "follow" => {
            let input = CalendarInput {
                url: form.owned("url"),
                every: form.owned("every").map(Span),
                ..CalendarInput::default()
            };
            v.client
                .put_calendar(id, name, &input)
                .await
                .map(|calendar| m.say(t::FOLLOWING, &[("name", &calendar.name)]))
        }
        "unfollow" => v.client.delete_calendar(id, name).await.map(|()| m.say(forms::REMOVED, &[("name", name)])),
        "read" => {
            v.client.read_calendar(id, name).await.map(|calendar| m.say(t::WAS_READ, &[("name", &calendar.name)]))
        }
        _ => {
            let put = as_it_is(|| async {
                let entry = found(v.client.see_user(id).await)?;
                // A list is changed as it is now; a form with values, as the person has seen it.
                let client = match what {
                    "addresses" | "address" => v.client.if_seen(entry.as_ref().map(|entry| entry.tag.as_str()))?,
                    _ => form.as_seen(&v.client)?,
                };
                let entry = entry.map(|entry| UserInput::from(entry.it)).unwrap_or_default();
                client.put_user(id, &changed(entry, what, form, v.caller.is_bound)).await
            });
            let user = put.await?;
            Ok(match user.paused_until {
                Some(until) if what == "pause" => m.say(t::PAUSED_NOW, &[("name", id), ("when", &m.instant(until))]),
                _ if what == "resume" => m.say(t::RESUMED, &[("name", id)]),
                _ => m.t(forms::SAVED).into_owned(),
            })
        }
    }
}

/// The entry as the form wants it. What is not in the form stays.
fn changed(mut entry: UserInput, what: &str, form: &Filled, is_bound: bool) -> UserInput {
    match what {
        "addresses" => {
            let order: Vec<&str> = form.all("order").collect();
            let known = entry.addresses.take().unwrap_or_default();
            entry.addresses = Some(parts::ordered(&known, input_name, &order, form.get("move")));
        }
        "address" => {
            let address = AddressInput {
                channel: form.owned("channel"),
                address: Some(form.owned("address").unwrap_or_default()),
            };
            entry.addresses.get_or_insert_default().push(address);
        }
        "quiet" => {
            entry.quiet_hours = Some(QuietHoursInput {
                from: form.owned("from"),
                to: form.owned("to"),
                except: form.get("except").map(QuietExcept::new),
                digest: Some(form.is_ticked("digest")),
            });
        }
        "no-quiet" => entry.quiet_hours = None,
        "pause" => entry.paused_until = form.owned("paused_until"),
        "resume" => entry.paused_until = None,
        "about" => {
            entry.timezone = form.owned("timezone");
            entry.language = form.owned("language");
            entry.habits = Some(HabitsInput {
                date_order: form.owned("date_order"),
                first_day_of_week: form.owned("first_day_of_week"),
                morning: form.owned("morning"),
                evening: form.owned("evening"),
                day: form.owned("day"),
            });
            // A key that is bound to a user has no fields for these.
            if !is_bound {
                entry.admin = Some(form.is_ticked("admin"));
                entry.escalate = Some(form.get("escalate").unwrap_or_default().lines().filter_map(step).collect());
            }
        }
        _ => {}
    }
    entry
}

/// `10m bob`: after ten minutes Bob is asked.
fn step(line: &str) -> Option<StepInput> {
    let line = line.trim();
    let (after, to) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    (!line.is_empty()).then(|| StepInput { after: Span(after.to_owned()), to: to.trim().to_owned() })
}

fn input_name(address: &AddressInput) -> String {
    let (channel, address) = (address.channel.clone().unwrap_or_default(), address.address.clone().unwrap_or_default());
    address_name(&punctual_client::known::Address { channel, address })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> Filled {
        serde_urlencoded::from_str(text).unwrap()
    }

    fn entry() -> UserInput {
        let address = |channel: &str| AddressInput { channel: Some(channel.into()), address: Some("ann".into()) };
        UserInput {
            timezone: Some("Europe/Zagreb".into()),
            addresses: Some(vec![address("console"), address("email")]),
            admin: Some(true),
            escalate: Some(vec![StepInput { after: Span("5m".into()), to: "bob".into() }]),
            ..UserInput::default()
        }
    }

    #[test]
    fn a_form_changes_its_own_fields_alone() {
        let after = changed(entry(), "quiet", &filled("from=22%3A00&to=07%3A00&except=high&digest=1"), false);
        let hours = after.quiet_hours.as_ref().unwrap();
        assert_eq!(
            (hours.from.as_deref(), hours.digest, hours.except.as_ref().map(QuietExcept::as_str)),
            (Some("22:00"), Some(true), Some("high"))
        );
        assert_eq!(
            (after.timezone.as_deref(), after.addresses.as_ref().map(Vec::len), after.admin),
            (Some("Europe/Zagreb"), Some(2), Some(true))
        );
        assert!(changed(after, "no-quiet", &filled(""), false).quiet_hours.is_none());
    }

    #[test]
    fn addresses_are_moved_by_name() {
        let names = |entry: UserInput| entry.addresses.unwrap().iter().map(input_name).collect::<Vec<_>>();
        let order = "order=console%3Aann&order=email%3Aann";
        assert_eq!(
            names(changed(entry(), "addresses", &filled(&format!("{order}&move=up+email%3Aann")), false)),
            ["email:ann", "console:ann"]
        );
        assert_eq!(
            names(changed(entry(), "addresses", &filled("order=email%3Aann&order=console%3Aann"), false)),
            ["email:ann", "console:ann"]
        );
        assert_eq!(
            names(changed(entry(), "addresses", &filled(&format!("{order}&move=drop+console%3Aann")), false)),
            ["email:ann"]
        );
        assert_eq!(
            names(changed(entry(), "address", &filled("channel=sms&address=%2B385"), false)).last().unwrap(),
            "sms:+385"
        );
    }

    #[test]
    fn somebody_with_a_bound_key_keeps_what_their_form_does_not_have() {
        let after = changed(entry(), "about", &filled("timezone=UTC"), true);
        assert_eq!(
            (after.admin, after.escalate.map(|steps| steps.len()), after.timezone.as_deref()),
            (Some(true), Some(1), Some("UTC"))
        );
        let after = changed(entry(), "about", &filled("escalate=10m+bob%0D%0A%0D%0A30m++group%3Aon-call"), false);
        let steps: Vec<_> = after.escalate.unwrap().into_iter().map(|step| (step.after.0, step.to)).collect();
        assert_eq!(
            steps,
            [("10m".into(), "bob".into()), ("30m".into(), "group:on-call".into())] as [(String, String); 2]
        );
        assert_eq!(after.admin, Some(false));
    }
}
