//! Fields of forms: a label, what may be written, and what is wrong with what was.

use axum::http::StatusCode;
use maud::{Markup, html};
use punctual_client::{Client, Failure};
use serde::Deserialize;

use crate::manner::Manner;
use crate::texts::trouble as t;
use crate::trouble::Trouble;

/// A form as it came: names, and what was written under each.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct Filled(Vec<(String, String)>);

impl Filled {
    /// What was written under a name; an empty field says nothing.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let mut all = self.0.iter().filter(|(known, _)| known == name).map(|(_, value)| value.trim());
        all.find(|value| !value.is_empty())
    }

    pub(crate) fn owned(&self, name: &str) -> Option<String> {
        self.get(name).map(str::to_owned)
    }

    /// Everything under a name, in order.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Changes something only as the form has shown it, where it says how that was: see [`seen`](super::seen).
    pub(crate) fn as_seen(&self, client: &Client) -> Result<Client, Failure> {
        match self.all("seen").next().map(str::trim) {
            None => Ok(client.clone()),
            Some("") => client.if_seen(None),
            Some(tag) => client.if_seen(Some(tag)),
        }
    }

    /// Whether a box is ticked.
    pub(crate) fn is_ticked(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The words of a field in which several stand, with commas, spaces or lines between them.
    pub(crate) fn words(&self, name: &str) -> Vec<String> {
        let all = self.get(name).unwrap_or_default();
        all.split([',', ' ', '\n', '\r', '\t', ';']).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }
}

/// A form that the API refused: which one, as it was filled in, and why.
#[derive(Debug)]
pub(crate) struct Refusal {
    form: &'static str,
    filled: Filled,
    problems: Vec<(String, String)>,
    /// Somebody else was faster: how the person reads what it says now.
    overtaken: Option<Manner>,
}

impl Refusal {
    /// A failure that the person can mend; any other is a trouble of the whole page.
    pub(crate) fn of(m: &Manner, form: &'static str, filled: &Filled, failure: Failure) -> Result<Self, Trouble> {
        let refused = failure.refused().filter(|refused| {
            let is_theirs = refused.status.is_client_error();
            is_theirs && refused.status != StatusCode::UNAUTHORIZED && refused.status != StatusCode::NOT_FOUND
        });
        let Some(refused) = refused else { return Err(failure.into()) };
        if failure.is_overtaken() {
            return Ok(Self::overtaken(m, form, filled));
        }
        let mut problems: Vec<(String, String)> = Vec::new();
        if let Some(problem) = &refused.problem {
            problems.extend(problem.errors.iter().map(|error| (error.field.clone(), error.detail.clone())));
        }
        if problems.is_empty() {
            problems.push((refused.field().unwrap_or_default().to_owned(), refused.words.clone()));
        }
        Ok(Self { form, filled: filled.clone(), problems, overtaken: None })
    }

    /// Somebody has changed it since the form was shown.
    pub(crate) fn overtaken(m: &Manner, form: &'static str, filled: &Filled) -> Self {
        Self { form, filled: filled.clone(), problems: Vec::new(), overtaken: Some(m.clone()) }
    }

    /// The status of the page that shows it.
    pub(crate) fn status(&self) -> StatusCode {
        if self.overtaken.is_some() { StatusCode::CONFLICT } else { StatusCode::UNPROCESSABLE_ENTITY }
    }

    /// One that we noticed ourselves.
    pub(crate) fn at(form: &'static str, filled: &Filled, field: &str, problem: impl Into<String>) -> Self {
        let problems = vec![(field.to_owned(), problem.into())];
        Self { form, filled: filled.clone(), problems, overtaken: None }
    }
}

/// A form that is drawn: fresh, or as it was refused.
#[derive(Clone, Copy)]
pub(crate) struct Tried<'a> {
    form: &'static str,
    /// What tells it from other forms of its kind on the page.
    of: &'a str,
    refusal: Option<&'a Refusal>,
}

impl<'a> Tried<'a> {
    pub(crate) fn of(form: &'static str, refusal: Option<&'a Refusal>) -> Self {
        Self { form, of: "", refusal: refusal.filter(|refusal| refusal.form == form) }
    }

    /// The form about one of many things on a page.
    pub(crate) fn about(self, of: &'a str) -> Self {
        Self { of, ..self }
    }

    fn id(self, name: &str) -> String {
        if self.of.is_empty() { format!("{}-{name}", self.form) } else { format!("{}-{}-{name}", self.form, self.of) }
    }

    /// What a field would say `now`, where somebody else was faster and the person wrote something else than its fresh value.
    fn says_now(self, name: &str, fresh: &str, now: &str) -> Option<String> {
        let m = self.refusal?.overtaken.as_ref().filter(|_| self.value(name, fresh) != fresh)?;
        Some(if now.is_empty() { m.t(t::NOW_EMPTY).into_owned() } else { m.say(t::NOW_SAYS, &[("what", now)]) })
    }

    /// Whether it was refused.
    pub(crate) fn is_refused(self) -> bool {
        self.refusal.is_some()
    }

    /// What stands in a field: what was written, else `otherwise`.
    pub(crate) fn value(self, name: &str, otherwise: &str) -> String {
        let written = self.refusal.and_then(|refusal| refusal.filled.all(name).next());
        written.unwrap_or(otherwise).to_owned()
    }

    /// Whether a box is ticked.
    pub(crate) fn ticked(self, name: &str, otherwise: bool) -> bool {
        self.refusal.map_or(otherwise, |refusal| refusal.filled.is_ticked(name))
    }

    /// Whether the box of a value is ticked, where several boxes have one name.
    pub(crate) fn ticked_of(self, name: &str, value: &str, otherwise: bool) -> bool {
        self.refusal.map_or(otherwise, |refusal| refusal.filled.all(name).any(|ticked| ticked == value))
    }

    /// What is wrong with a field, which the API may know by a longer name (`to[0].channel`) or as a part (`quiet_hours.from`).
    fn problem(self, name: &str) -> Option<&'a str> {
        self.refusal?.problems.iter().find(|(field, _)| is_about(field, name)).map(|(_, detail)| detail.as_str())
    }

    /// What is wrong with the form, above it. A problem that stands at one of its `fields` is not said twice.
    pub(crate) fn alert(self, m: &Manner, fields: &[&str]) -> Markup {
        let Some(refusal) = self.refusal else { return html! {} };
        let is_elsewhere = |field: &str| !fields.iter().any(|name| is_about(field, name));
        html! {
            p.problem role="alert" {
                @if refusal.overtaken.is_some() { (m.t(t::OVERTAKEN)) } @else { b { (m.t(t::REFUSED)) "." } }
                @for (field, detail) in &refusal.problems {
                    @if is_elsewhere(field) { " " @if !field.is_empty() { code { (field) } ": " } (detail) }
                }
            }
        }
    }

    /// A field with its label.
    pub(crate) fn field(self, field: &Field<'_>) -> Markup {
        let (id, problem) = (self.id(field.name), self.problem(field.name).map(str::to_owned));
        let problem = problem.or_else(|| self.says_now(field.name, field.value, field.now.unwrap_or(field.value)));
        let value = self.value(field.name, field.value);
        let described = described(&id, field.hint.is_some(), problem.is_some());
        html! {
            div {
                label for=(id) { (field.label) }
                @if field.is_long {
                    textarea id=(id) name=(field.name) rows="3" required[field.is_required] aria-describedby=[described.as_deref()]
                        aria-invalid=[problem.as_ref().map(|_| "true")] placeholder=[field.example] { (value) }
                } @else {
                    input id=(id) name=(field.name) type=(field.kind) value=(value) required[field.is_required] list=[field.list] data-key=[field.key]
                        aria-describedby=[described.as_deref()] aria-invalid=[problem.as_ref().map(|_| "true")] placeholder=[field.example]
                        autocomplete="off" autocapitalize="off" spellcheck="false";
                }
                (below(&id, field.hint, problem.as_deref()))
            }
        }
    }

    /// A choice of one.
    pub(crate) fn select(
        self,
        name: &str,
        label: &str,
        chosen: &str,
        choices: &[(&str, String)],
        hint: Option<&str>,
    ) -> Markup {
        let now = choices.iter().find(|(value, _)| *value == chosen).map_or(chosen, |(_, text)| text.as_str());
        let says_now = || self.says_now(name, chosen, now);
        let (id, problem) = (self.id(name), self.problem(name).map(str::to_owned).or_else(says_now));
        let chosen = self.value(name, chosen);
        // A value that is not offered stays: it is as it is.
        let is_other = !chosen.is_empty() && !choices.iter().any(|(value, _)| *value == chosen);
        let described = described(&id, hint.is_some(), problem.is_some());
        html! {
            div {
                label for=(id) { (label) }
                select id=(id) name=(name) aria-describedby=[described.as_deref()] aria-invalid=[problem.as_ref().map(|_| "true")] {
                    @if is_other { option value=(chosen) selected { (chosen) } }
                    @for (value, text) in choices { option value=(value) selected[*value == chosen] { (text) } }
                }
                (below(&id, hint, problem.as_deref()))
            }
        }
    }

    /// A box to tick.
    pub(crate) fn tick(self, name: &str, label: &str, is_ticked: bool) -> Markup {
        let (id, problem) = (self.id(name), self.problem(name));
        html! {
            div.tick {
                label for=(id) {
                    input id=(id) name=(name) type="checkbox" value="1" checked[self.ticked(name, is_ticked)];
                    " " (label)
                }
                (below(&id, None, problem))
            }
        }
    }
}

/// A field that takes a line of text.
pub(crate) struct Field<'a> {
    pub(crate) name: &'a str,
    pub(crate) label: &'a str,
    pub(crate) value: &'a str,
    /// What it means now, where its value does not say so.
    pub(crate) now: Option<&'a str>,
    /// What may be written, in a sentence.
    pub(crate) hint: Option<&'a str>,
    /// What it looks like.
    pub(crate) example: Option<&'a str>,
    pub(crate) kind: &'a str,
    /// The id of a list of suggestions.
    pub(crate) list: Option<&'a str>,
    /// The key on the keyboard that leads to it.
    pub(crate) key: Option<&'a str>,
    pub(crate) is_required: bool,
    /// Whether it has several lines.
    pub(crate) is_long: bool,
}

impl Default for Field<'_> {
    fn default() -> Self {
        Self {
            name: "",
            label: "",
            value: "",
            now: None,
            hint: None,
            example: None,
            kind: "text",
            list: None,
            key: None,
            is_required: false,
            is_long: false,
        }
    }
}

/// Whether what the API calls `field` is about the field `name`.
fn is_about(field: &str, name: &str) -> bool {
    let part = |rest: &str| rest.is_empty() || rest.starts_with(['[', '.']);
    field.strip_prefix(name).is_some_and(part) || field.rsplit_once('.').is_some_and(|(_, last)| last == name)
}

fn described(id: &str, has_hint: bool, has_problem: bool) -> Option<String> {
    match (has_hint, has_problem) {
        (false, false) => None,
        (true, false) => Some(format!("{id}-hint")),
        (false, true) => Some(format!("{id}-problem")),
        (true, true) => Some(format!("{id}-problem {id}-hint")),
    }
}

fn below(id: &str, hint: Option<&str>, problem: Option<&str>) -> Markup {
    html! {
        @if let Some(problem) = problem { span.problem id=(format!("{id}-problem")) { span aria-hidden="true" { "✕ " } (problem) } }
        @if let Some(hint) = hint { span.hint id=(format!("{id}-hint")) { (hint) } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_finds_its_field_by_any_of_its_names() {
        for (field, name, expect) in [
            ("timezone", "timezone", true),
            ("addresses[2].channel", "addresses", true),
            ("addresses[2].channel", "channel", true),
            ("quiet_hours.from", "from", true),
            ("paused_until", "until", false),
            ("offsets[0]", "offsets", true),
            ("users", "user", false),
        ] {
            assert_eq!(is_about(field, name), expect, "{field} {name}");
        }
    }

    #[test]
    fn a_refused_form_keeps_what_was_written_and_says_the_problem_at_its_field() {
        let filled = Filled(vec![("from".into(), "25:00".into()), ("digest".into(), "1".into())]);
        let refusal = Refusal::at("quiet", &filled, "quiet_hours.from", "`25:00` is no time of day");
        let tried = Tried::of("quiet", Some(&refusal));
        let field =
            tried.field(&Field { name: "from", label: "From", value: "22:00", ..Field::default() }).into_string();
        assert!(field.contains(r#"value="25:00""#) && field.contains(r#"aria-invalid="true""#), "{field}");
        assert!(
            field.contains(r#"aria-describedby="quiet-from-problem""#) && field.contains("is no time of day"),
            "{field}"
        );
        assert!(tried.ticked("digest", false));
        let other = Tried::of("about", Some(&refusal));
        assert_eq!(other.value("from", "22:00"), "22:00");
    }
}
