//! Today: one line of time that reads downward, from what happened to what is coming.

/// What waits for an answer, answered in place.
pub(super) mod ask;

/// One line that says back what it understood while somebody types.
pub(super) mod add;

/// The coming week, run by run.
mod coming;

use axum::Router;
use axum::response::Response;
use axum::routing::{get, post};
use futures_util::future::join5;
use maud::{Markup, html};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use punctual_client::known::StateKind;
use punctual_client::wire::{DueQuery, DueRun, Occurrence, PageQuery};

use self::coming::{Coming, Row, coming};
use crate::Web;
use crate::flash::leads;
use crate::layout::Place;
use crate::manner::Manner;
use crate::parts::{self, Empty};
use crate::texts::today as t;
use crate::trouble::Trouble;
use crate::viewer::{Scope, Viewer};

/// How many of today's runs are shown before they are folded, and how many when they are not.
const PAST_SHOWN: usize = 6;
const PAST_UNFOLDED: usize = 70;
/// How many entries of today are looked at: more are counted as more.
const PAST_LOOKED_AT: usize = 200;
/// From so many in an hour on, the hour has a heading.
const HOUR_HEADED_FROM: usize = 12;
/// How many people are offered to whoever chooses whose day is shown.
const PEOPLE_OFFERED: usize = 100;

pub(crate) fn routes() -> Router<Web> {
    Router::new().route("/", get(show)).route("/add", post(add::create)).route("/add/understood", get(add::understood))
}

async fn show(v: Viewer) -> Result<Response, Trouble> {
    if !v.may(Scope::Read) {
        return Ok(elsewhere(&v));
    }
    let earlier = parts::asked(&v, "earlier").map(|asked| Earlier { cursor: Some(asked).filter(|asked| asked != ALL) });
    let page = parts::asked(&v, "ahead").and_then(|page| page.parse().ok()).unwrap_or(1).clamp(1, 50);
    // A run far ahead stands alone, as a run that is over does.
    let is_alone = page > 1;
    let past = async { if is_alone { Ok(PastRuns::default()) } else { past(&v, earlier.as_ref()).await } };
    let coming = async {
        match &earlier {
            Some(Earlier { cursor: Some(_) }) => Ok(Coming::default()),
            earlier => coming(&v, page, earlier.is_some()).await,
        }
    };
    let (past, coming, waiting, figures, whose) = join5(past, coming, waiting(&v), figures(&v), whose(&v)).await;
    let (past, coming, waiting) = (past?, coming?, waiting?);
    let m = &v.m;
    let is_empty = past.runs.is_empty() && coming.rows.is_empty() && waiting.is_empty() && !is_alone;
    let main = html! {
        h1.unseen { (m.t(t::TITLE)) }
        (whose)
        @if v.may(Scope::Write) { (add::field(&v)) }
        div #day data-live="reminder. attempt." data-live-user=(v.person) data-each-minute {
            @for DueRun { occurrence, reminder } in &waiting { (ask::ask(&v, occurrence, reminder)) }
            @if is_empty { (teach(&v)) } @else if is_alone { (further(&v, &coming)) } @else { (line(&v, &past, &coming)) }
        }
        div.strip { (figures) }
    };
    Ok(v.page(Place::Today, &m.t(t::TITLE), &main))
}

/// The way for a key that may not read, such as one that makes keys: to the first page that is for it, or to a page that says there is none.
fn elsewhere(v: &Viewer) -> Response {
    if let Some(place) = Place::first_for(v) {
        return leads(&v.href(place.path()));
    }
    let m = &v.m;
    let title = m.t(t::NO_PAGE);
    v.page(None, &title, &html! { h1 { (title) } p { (m.say(t::NO_PAGE_WHY, &[("name", &v.caller.name)])) } })
}

/// The `earlier` of the query that unfolds what happened today; every other one is the cursor of what came before that.
const ALL: &str = "all";

/// The past is unfolded.
struct Earlier {
    /// Where its page begins; the latest runs have none.
    cursor: Option<String>,
}

/// What has happened today.
#[derive(Default)]
struct PastRuns {
    /// The latest few, oldest first.
    runs: Vec<DueRun<'static>>,
    /// How many came before them, how many of those did not reach anybody, and how many nobody answered.
    n_earlier: usize,
    n_earlier_failed: usize,
    n_earlier_unanswered: usize,
    /// Where the runs are that nobody has looked at.
    before: Option<String>,
    is_unfolded: bool,
    /// Whether later ones are on the page before.
    has_later: bool,
}

/// What has happened today, the latest first.
async fn past(v: &Viewer, earlier: Option<&Earlier>) -> Result<PastRuns, Trouble> {
    let cursor = earlier.and_then(|earlier| earlier.cursor.clone());
    let (is_unfolded, has_later) = (earlier.is_some(), cursor.is_some());
    let query = DueQuery {
        user: Some(v.person.clone()),
        from: Some(v.m.begins(v.m.today()).to_string()),
        to: Some(v.m.now.to_string()),
        order: Some("newest".into()),
        limit: Some(if is_unfolded { PAST_UNFOLDED } else { PAST_LOOKED_AT }),
        cursor,
        ..DueQuery::default()
    };
    let page = v.client.runs(&query).await?;
    let (mut runs, before) = (page.runs, page.next_cursor);
    runs.retain(|run| !is_coming(&run.occurrence));
    let earlier = runs.split_off(runs.len().min(if is_unfolded { PAST_UNFOLDED } else { PAST_SHOWN }));
    runs.reverse();
    let n_of = |ends: &[StateKind]| {
        let is_one = |run: &&DueRun<'_>| ends.iter().any(|end| run.occurrence.state == *end);
        earlier.iter().filter(is_one).count()
    };
    let n_earlier_failed = n_of(&[StateKind::Failed, StateKind::Missed]);
    let n_earlier_unanswered = n_of(&[StateKind::Unanswered]);
    let n_earlier = earlier.len();
    Ok(PastRuns { runs, n_earlier, n_earlier_failed, n_earlier_unanswered, before, is_unfolded, has_later })
}

/// Whether a run is still to be sent.
fn is_coming(run: &Occurrence) -> bool {
    use StateKind::{PendingRetry, Processing, Scheduled, Snoozed, Unplanned, Waiting};
    [Scheduled, Snoozed, Waiting, PendingRetry, Processing, Unplanned].iter().any(|state| run.state == *state)
}

/// How the whole server did today, for those who look after it. A part that is fetched anew has no use for it.
async fn figures(v: &Viewer) -> Markup {
    if !v.is_admin() || v.is_part {
        return html! {};
    }
    super::health::figures(v).await.unwrap_or_default()
}

/// What waits for an answer, whenever it was due.
async fn waiting(v: &Viewer) -> Result<Vec<DueRun<'static>>, Trouble> {
    let (user, status) = (Some(v.person.clone()), Some("awaiting_ack".into()));
    Ok(v.client.runs(&DueQuery { user, status, order: Some("newest".into()), ..DueQuery::default() }).await?.runs)
}

fn line(v: &Viewer, past: &PastRuns, coming: &Coming) -> Markup {
    let m = &v.m;
    let today = m.today();
    html! {
        h2 { (m.long_date(today)) }
        ol.day {
            @if past.n_earlier > 0 || past.is_unfolded { (earlier_row(v, past)) }
            @for past in &past.runs { (past_row(v, past)) }
            @if past.has_later { (later_row(v)) } @else {
            li.now { time datetime=(m.now) { (m.time(m.now)) } span.dot {} span.hand { span.unseen { (m.t(t::NOW)) } } }
            @let todays = coming.of_day(m, today);
            @if todays.is_empty() { li { time {} span.dot aria-hidden="true" { "–" } span.soft { (m.t(t::NOTHING_COMING)) } } }
            (hours(v, coming, &todays))
            }
        }
        @for day in coming.days(m).into_iter().filter(|day| *day > today) { h2 { (m.day(day)) } ol.day { (hours(v, coming, &coming.of_day(m, day))) } }
        (rest(v, coming))
    }
}

/// The days after those that stand on Today.
fn further(v: &Viewer, coming: &Coming) -> Markup {
    let m = &v.m;
    let before = match coming.page {
        0..=2 => v.href("/"),
        page => v.href(&format!("/?ahead={}", page - 1)),
    };
    html! {
        p.rest.back { a href=(before) { (m.t(t::SOONER)) } }
        @for day in coming.days(m) { h2 { (m.day(day)) } ol.day { (hours(v, coming, &coming.of_day(m, day))) } }
        (rest(v, coming))
    }
}

/// How many runs of the week are not shown, and the way to them.
fn rest(v: &Viewer, coming: &Coming) -> Markup {
    let m = &v.m;
    let until = m.date(m.local(coming.until).date());
    let said = match coming.n_more {
        0 => m.say(t::MORE_UNTIL_SOME, &[("when", &until)]),
        n => m.say(t::MORE_UNTIL, &[("n", &m.number(n as u64)), ("when", &until)]),
    };
    // Beside an unfolded past there is less of it: Today has the rest.
    let on = if coming.is_beside { "/".to_owned() } else { format!("/?ahead={}", coming.page + 1) };
    html! {
        p.rest {
            @if coming.is_on { a #ahead href=(v.href(&on)) { (said) } " · " }
            a href=(v.href("/reminders")) { (m.t(t::MORE_COMING)) }
        }
    }
}

/// The runs of a day; a full day is headed by its hours.
fn hours(v: &Viewer, coming: &Coming, rows: &[&Row]) -> Markup {
    let m = &v.m;
    let hour_of = |row: &Row| m.local(row.at).hour();
    let is_headed = rows.len() >= HOUR_HEADED_FROM;
    html! {
        @for (index, row) in rows.iter().enumerate() {
            @let hour = hour_of(row);
            @if is_headed && (index == 0 || hour_of(rows[index - 1]) != hour) {
                li.hour { span { (m.clock(hour, 0)) } }
            }
            (coming_row(v, coming, row))
        }
    }
}

fn earlier_row(v: &Viewer, past: &PastRuns) -> Markup {
    let m = &v.m;
    let n = m.number(past.n_earlier as u64);
    html! {
        li.past.earlier {
            time {}
            span.dot aria-hidden="true" { "⋯" }
            @if past.is_unfolded { a.what #earlier href=(v.href("/")) { (m.t(t::FOLD)) } }
            @else { a.what #earlier href=(v.href("/?earlier=all")) { (m.say(if past.before.is_some() { t::EARLIER_MORE } else { t::EARLIER }, &[("n", &n)])) } }
            span.state {
                @if let (Some(before), true) = (&past.before, past.is_unfolded) { a href=(earlier_still(v, before)) { (m.t(t::EARLIER_STILL)) } }
                @else if past.is_unfolded {}
                @else { (became(m, past)) }
            }
        }
    }
}

/// What became of the runs that are folded.
fn became(m: &Manner, past: &PastRuns) -> String {
    let said = |n: usize, text| (n > 0).then(|| m.say(text, &[("n", &m.number(n as u64))]));
    let all = [said(past.n_earlier_failed, t::SOME_FAILED), said(past.n_earlier_unanswered, t::SOME_UNANSWERED)];
    let all: Vec<String> = all.into_iter().flatten().collect();
    if all.is_empty() { m.t(t::ALL_WELL).into_owned() } else { all.join(", ") }
}

/// The way back to what happened after the runs that are shown.
fn later_row(v: &Viewer) -> Markup {
    let m = &v.m;
    html! {
        li.past.earlier { time {} span.dot aria-hidden="true" { "⋯" } a.what href=(v.href("/?earlier=all")) { (m.t(t::LATER)) } span.state {} }
    }
}

fn earlier_still(v: &Viewer, before: &str) -> String {
    v.href(&format!("/?earlier={}", utf8_percent_encode(before, NON_ALPHANUMERIC)))
}

fn past_row(v: &Viewer, DueRun { occurrence: run, reminder }: &DueRun<'_>) -> Markup {
    let m = &v.m;
    let shape = parts::of_run(m, &run.state);
    let late = run.attempts.first().map(|attempt| parts::lateness(m, run.due_at, attempt.started_at));
    let by = run.responses.last().filter(|_| run.state == StateKind::Completed);
    let by = by.and_then(|response| response.name.as_deref().or(response.user_id.as_deref()));
    html! {
        li.past.(shape.class) data-id=(format!("{}-{}", run.id, run.state.as_str())) {
            time datetime=(run.due_at) title=(m.whole(run.due_at)) { (m.time(run.due_at)) }
            span.dot aria-hidden="true" { (shape.mark) }
            a.what href=(v.href(&format!("/reminders/{}#run-{}", reminder.id, run.run_number))) { (reminder.message) }
            span.state {
                b { (shape.word) }
                @if let Some(by) = by { " " (m.say(t::BY, &[("who", by)])) }
                @if let Some(late) = late { " · " (late) }
                (parts::there(m, run.due_at, &reminder.timezone))
            }
        }
    }
}

fn coming_row(v: &Viewer, coming: &Coming, row: &Row) -> Markup {
    let m = &v.m;
    let DueRun { occurrence: run, reminder } = &coming.runs[row.of];
    let is_once = reminder.schedule.is_once();
    let mark = match (row.leaves, run.state == StateKind::Scheduled || !row.is_next, is_once) {
        (Some(_), ..) => "☾",
        (None, false, _) => parts::of_run(m, &run.state).mark,
        (None, true, true) => "○",
        (None, true, false) => "↻",
    };
    let channel = reminder.to.first().map(|to| to.channel.as_str());
    html! {
        li.wait[row.leaves.is_some()] data-id=[row.is_next.then_some(&reminder.id)] {
            time datetime=(row.at) title=(m.whole(row.at)) { (m.time(row.at)) }
            span.dot aria-hidden="true" { (mark) }
            a.what href=(v.href(&format!("/reminders/{}", reminder.id))) {
                (reminder.message)
                @if !is_once && row.is_next {
                    small {
                        (m.schedule(reminder))
                        @if row.n_more > 0 { " · " (m.say(t::THEN_MORE, &[("n", &m.number(row.n_more as u64)), ("when", &m.date(m.local(coming.until).date()))])) }
                    }
                }
            }
            span.state {
                @if let Some(at) = row.leaves { (m.say(t::LEAVES, &[("when", &m.instant(at))])) } @else { (m.relative(row.at)) }
                @if reminder.require_ack { " · " (m.t(t::ANSWER_WANTED)) } @else if let (Some(channel), true) = (channel, row.is_next) { " · " (channel) }
                (parts::there(m, row.at, &reminder.timezone))
            }
        }
    }
}

/// A sentence that a button adds, for pages on which there is nothing yet. Whoever may only look reads what one looks like.
pub(super) fn to_try(v: &Viewer, example: &str) -> Markup {
    if !v.may(Scope::Write) {
        return html! { p.try { (example) } p.hint { (v.m.t(t::MAY_ONLY_LOOK)) } };
    }
    let fields = html! {
        input type="hidden" name="text" value=(example);
        input type="hidden" name="user" value=(v.person);
        input type="hidden" name="back" value=(v.here);
        p.try { (example) }
        button type="submit" { (v.m.t(t::TRY)) }
    };
    parts::form(v, "/add", fields)
}

fn teach(v: &Viewer) -> Markup {
    let m = &v.m;
    parts::empty(Empty { title: &m.t(t::EMPTY_TITLE), what_for: &m.t(t::EMPTY), example: to_try(v, &m.t(t::EXAMPLE)) })
}

/// An admin chooses whose day is shown, where there are several people.
async fn whose(v: &Viewer) -> Markup {
    if !v.is_admin() || v.is_part {
        return html! {};
    }
    let m = &v.m;
    let people = v.client.users(&PageQuery { limit: Some(PEOPLE_OFFERED), cursor: None }).await;
    let people = people.map(|page| page.users).unwrap_or_default();
    if !v.looks_at_another() && people.iter().all(|user| user.id == v.person) {
        return html! {};
    }
    html! {
        form.whose-form method="get" action="/" {
            label for="user" { (m.t(t::WHOSE_LABEL)) }
            input #user name="user" value=(v.person) autocomplete="off" list="people";
            datalist #people { @for user in &people { option value=(user.id) {} } }
            button type="submit" { (m.t(t::SHOW)) }
        }
    }
}
