//! The things that a person asks a bot to do: `remind me tomorrow at 8 to call mom`, `list`, `cancel call mom`.
//!
//! A reminder needs the words that ask for one, because `call mom tomorrow at 8` may be talk. So these are looked for in every language;
//! what is to be done when is read elsewhere ([`crate::sentence`]). Words are compared in their plainest form: small, without accents, in
//! Latin letters.

use super::token::fold;

/// Something that a person asks a bot to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Make a reminder of a sentence.
    Remind {
        /// The sentence as people usually write it, without words of courtesy around it.
        sentence: String,
    },
    /// Say what comes next.
    List,
    /// Cancel a reminder.
    Cancel {
        /// Words of the reminder that is meant, as they were written; none if nobody said.
        what: Option<String>,
    },
}

/// How well words name a reminder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mention {
    /// Each of them begins a word of it.
    Named,
    /// They are alike but for their endings: `zubara` and `zubar`.
    Alike,
    /// They are about something else.
    Other,
}

/// The longest text that can be a command, in bytes.
pub const COMMAND_MAX: usize = 500;
/// Two words of which only so many letters at the end differ are alike.
const ENDING_MAX: usize = 2;
/// They have at least so many letters in common.
const STEM_MIN: usize = 3;

/// Words around a command that say nothing.
const POLITE: &str = "\
    please | pls | plz | hey | hi | hello | ok | okay | thanks | thank you | thx | bitte | hallo | danke | mal | molim te | \
    molim vas | molim | hej | ej | bok | zdravo | hvala | ajde | hajde";

/// Words that make a request of a question.
const CAN_YOU: &str = "\
    can you | could you | will you | would you | kannst du | konntest du | koenntest du | wurdest du | mozes li | mozete li | \
    mozes | mozete | hoces li | da li mozes | bi li";

/// Words with which people ask for a reminder. Where others follow a `=`, these are how they are usually written, and what a sentence is read
/// with.
const REMIND: &str = "\
    remind me | dont let me forget=don't let me forget | do not let me forget | set a reminder | set reminder | create a reminder | create reminder | \
    add a reminder | add reminder | make a reminder | wake me up | /remind=remind me | /reminder=remind me | remindme=remind me | \
    remid me=remind me | remnd me=remind me | rmind me=remind me | reming me=remind me | remimd me=remind me | \
    new reminder=remind me | erinnere mich | erinner mich | weck mich | wecke mich | stell eine erinnerung | \
    stelle eine erinnerung | setz eine erinnerung | setze eine erinnerung | erstelle eine erinnerung | erstell eine erinnerung | \
    mach eine erinnerung | lass mich nicht vergessen | erinnre mich=erinnere mich | errinnere mich=erinnere mich | \
    erinere mich=erinnere mich | erinnert mich=erinnere mich | neue erinnerung=erinnere mich | podsjeti me | podsjetite me | \
    podseti me | podsetite me | probudi me | napravi podsjetnik | postavi podsjetnik | dodaj podsjetnik | stavi podsjetnik | \
    napravi podsetnik | postavi podsetnik | dodaj podsetnik | stavi podsetnik | podsijeti me=podsjeti me | podsjetime=podsjeti me | \
    podsjedi me=podsjeti me | me podsjetiti=podsjeti me | me podsjetit=podsjeti me | da me podsjetis=podsjeti me | \
    novi podsjetnik=podsjeti me | podsetime=podseti me | me podsetiti=podseti me | da me podsetis=podseti me | \
    novi podsetnik=podseti me";

/// The words that people who have said `mich` say at the end (`kannst du mich morgen daran erinnern`), and how they are said at the beginning.
const MICH: &str = "mich";
const REMIND_LAST: &str = "erinnern=erinnere mich | wecken=weck mich";

/// Whole texts that ask what comes next.
const LIST: &str = "\
    /list | /reminders | list | reminders | my reminders | list reminders | list my reminders | list all | list all reminders | \
    list all my reminders | show reminders | show my reminders | show me my reminders | show all reminders | \
    what are my reminders | what reminders do i have | do i have any reminders | any reminders | upcoming | upcoming reminders | \
    next reminders | what next | whats next | what is next | whats coming up | what is coming up | whats up next | liste | \
    erinnerungen | meine erinnerungen | alle erinnerungen | zeig erinnerungen | zeig meine erinnerungen | \
    zeige meine erinnerungen | zeig mir meine erinnerungen | zeige mir meine erinnerungen | welche erinnerungen habe ich | \
    welche erinnerungen hab ich | was steht an | was kommt als nachstes | was kommt als naechstes | was kommt | popis | lista | \
    spisak | podsjetnici | moji podsjetnici | svi podsjetnici | popis podsjetnika | lista podsjetnika | pokazi podsjetnike | \
    pokazi moje podsjetnike | pokazi mi podsjetnike | prikazi podsjetnike | prikazi moje podsjetnike | koje podsjetnike imam | \
    sto slijedi | sto je sljedece | sto imam | podsetnici | moji podsetnici | svi podsetnici | spisak podsetnika | \
    lista podsetnika | pokazi podsetnike | pokazi moje podsetnike | pokazi mi podsetnike | prikazi podsetnike | \
    prikazi moje podsetnike | koje podsetnike imam | sta sledi | sta je sledece | sta imam";

/// Words with which people cancel.
const CANCEL: &str = "\
    /cancel | /delete | cancel | delete | remove | stop reminding me | dont remind me | do not remind me | losche | losch | \
    loesche | loesch | storniere | stornier | entferne | erinnere mich nicht mehr | erinner mich nicht mehr | otkazi | \
    otkazite | otkazati | obrisi | obrisite | obrisati | izbrisi | ukloni | ponisti | nemoj me vise podsjecati | nemoj me podsjecati | \
    nemoj me vise podsecati | nemoj me podsecati | ne podsjecaj me vise | ne podsecaj me vise";

/// The words that people who have named a reminder say at the end: `die Erinnerung an Tee löschen`.
const CANCEL_LAST: &str = "loschen | loeschen | absagen | stornieren | entfernen | streichen";
const NAMED: &str = "erinnerung | erinnerungen | reminder | reminders | podsjetnik | podsetnik";

/// Words between these and what is meant.
const FILLER: &str = "\
    the | my | that | this | reminder | reminders | to | about | for | of | die | den | das | meine | meinen | erinnerung | an | \
    zu | fur | fuer | mit | ans | am | podsjetnik | podsetnik | moj | taj | onaj | za | na | da | o";

/// The thing that `text` asks a bot to do, if it asks for anything.
pub fn command(text: &str) -> Option<Command> {
    // Somebody else's words, quoted.
    if text.len() > COMMAND_MAX || text.trim_start().starts_with('>') {
        return None;
    }
    let words = Word::all(text);
    let (mut rest, mut is_request) = (words.as_slice(), false);
    loop {
        if let Some(after) = after_any(rest, POLITE) {
            rest = after;
        } else if let Some(after) = after_any(rest, CAN_YOU) {
            (rest, is_request) = (after, true);
        } else {
            break;
        }
    }
    while let Some(before) = phrases(POLITE).find_map(|words| before(rest, words)) {
        rest = before;
    }
    if phrases(LIST).any(|words| after(rest, words).is_some_and(<[Word<'_>]>::is_empty)) {
        return Some(Command::List);
    }
    let [first, .., last] = rest else {
        return rest.first().and_then(|only| {
            let is_bare = is_one_of(only, CANCEL) && !is_asked(text);
            is_bare.then_some(Command::Cancel { what: None })
        });
    };
    // A question that asks for nothing: `cancel the meeting?`
    if is_request || !is_asked(text) {
        let cancelled = after_any(rest, CANCEL);
        let cancelled = cancelled.or_else(|| {
            let is_named = rest.iter().any(|word| is_one_of(word, NAMED));
            (is_named && is_one_of(last, CANCEL_LAST)).then(|| &rest[..rest.len() - 1])
        });
        if let Some(what) = cancelled {
            return Some(Command::Cancel { what: meant(what) });
        }
    }
    // The signs after a request, and courtesy, are no part of what it asks for.
    let is_whole = !is_request && words.last().is_some_and(|word| word.start == last.start);
    let end = if is_whole { text.len() } else { last.start + last.raw.len() };
    let sentence = match named(rest, REMIND) {
        Some((usual, said)) => format!("{usual} {}", said.first().map_or("", |word| &text[word.start..end])),
        None if is_request && first.plain == MICH => {
            let (usual, _) = named(std::slice::from_ref(last), REMIND_LAST)?;
            format!("{usual} {}", text[first.start + first.raw.len()..last.start].trim())
        }
        None => return None,
    };
    Some(Command::Remind { sentence: sentence.trim_end().to_owned() })
}

/// How well `what` names a reminder that says `text`.
pub fn mention(text: &str, what: &str) -> Mention {
    let (said, meant) = (Word::all(text), Word::all(what));
    let all = |is_it: fn(&str, &str) -> bool| {
        !meant.is_empty() && meant.iter().all(|meant| said.iter().any(|said| is_it(&said.plain, &meant.plain)))
    };
    if all(|said, meant| said.starts_with(meant)) {
        Mention::Named
    } else if all(is_alike) {
        Mention::Alike
    } else {
        Mention::Other
    }
}

fn is_alike(one: &str, other: &str) -> bool {
    let n_common = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let longer = one.chars().count().max(other.chars().count());
    n_common >= STEM_MIN && longer - n_common <= ENDING_MAX
}

/// The reminder that is meant. A number names none: it would be a place in a list, which may have changed since.
fn meant(mut words: &[Word<'_>]) -> Option<String> {
    while let Some(after) = after_any(words, FILLER) {
        words = after;
    }
    while let Some((_, before)) = words.split_last().filter(|(last, _)| is_one_of(last, NAMED)) {
        words = before;
    }
    if words.iter().all(|word| word.plain.chars().all(|c| c.is_ascii_digit())) {
        return None;
    }
    Some(words.iter().map(|word| word.raw).collect::<Vec<_>>().join(" "))
}

fn is_asked(text: &str) -> bool {
    text.trim_end().ends_with('?')
}

/// A word without the signs around it, as it was written and in its plainest form.
struct Word<'t> {
    /// Where it begins in the text, in bytes.
    start: usize,
    raw: &'t str,
    plain: String,
}

impl<'t> Word<'t> {
    fn all(text: &'t str) -> Vec<Self> {
        let is_sign = |c: char| !c.is_alphanumeric() && c != '/';
        let mut words = Vec::new();
        let mut at = 0;
        for piece in text.split_inclusive(char::is_whitespace) {
            let raw = piece.trim_matches(is_sign);
            let start = at + piece.find(raw).unwrap_or_default();
            at += piece.len();
            if raw.is_empty() {
                continue;
            }
            let mut plain = String::with_capacity(raw.len());
            // In a group a bot's command names the bot: `/list@bot`.
            let said = if raw.starts_with('/') { raw.split('@').next().unwrap_or(raw) } else { raw };
            said.chars().filter(|c| c.is_alphanumeric() || *c == '/' || *c == '-').for_each(|c| fold(c, &mut plain));
            words.push(Self { start, raw, plain });
        }
        words
    }
}

/// The phrases of a list.
fn phrases(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.split(" | ")
}

fn is_one_of(word: &Word<'_>, list: &'static str) -> bool {
    phrases(list).any(|phrase| phrase == word.plain)
}

/// The words after those of one of the phrases in `list`, if these are the first.
fn after_any<'w, 't>(words: &'w [Word<'t>], list: &'static str) -> Option<&'w [Word<'t>]> {
    phrases(list).find_map(|phrase| after(words, phrase))
}

/// The usual form of the first words, which are a phrase of `list`, and the words after them.
fn named<'w, 't>(words: &'w [Word<'t>], list: &'static str) -> Option<(&'static str, &'w [Word<'t>])> {
    phrases(list).find_map(|phrase| {
        let (said, usual) = phrase.split_once('=').unwrap_or((phrase, phrase));
        Some((usual, after(words, said)?))
    })
}

/// The words after those of `phrase`, if these are the first.
fn after<'w, 't>(words: &'w [Word<'t>], phrase: &str) -> Option<&'w [Word<'t>]> {
    let mut rest = words;
    for expected in phrase.split(' ') {
        let (first, others) = rest.split_first()?;
        rest = (first.plain == expected).then_some(others)?;
    }
    Some(rest)
}

/// The words before those of `phrase`, if these are the last.
fn before<'w, 't>(words: &'w [Word<'t>], phrase: &str) -> Option<&'w [Word<'t>]> {
    let at = words.len().checked_sub(phrase.split(' ').count())?;
    let (rest, last) = words.split_at(at);
    after(last, phrase).filter(|after| after.is_empty()).map(|_| rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_a_reminder_by_its_own_words() {
        for (text, what, expect) in [
            ("call the bank", "bank", Mention::Named),
            ("call the bank", "CALL bank", Mention::Named),
            ("Čaj s medom", "caj", Mention::Named),
            ("Чај", "čaj", Mention::Named),
            ("nazovem mamu", "nazovem", Mention::Named),
            ("water the plants", "plant", Mention::Named),
            ("clean the steam iron", "tea", Mention::Other),
            ("call the bank", "banana", Mention::Other),
            ("call the bank", "the dentist", Mention::Other),
            ("zubar u 5", "zubara", Mention::Alike),
            ("nazovi mamu", "mama", Mention::Alike),
            ("Tabletten nehmen", "Tablette", Mention::Named),
            ("Tablette nehmen", "Tabletten", Mention::Alike),
            ("take 2 pills", "", Mention::Other),
        ] {
            assert_eq!(mention(text, what), expect, "{what} in {text}");
        }
    }

    #[test]
    fn a_story_or_a_quotation_is_no_command() {
        assert_eq!(command(&format!("remind me {}", "x".repeat(COMMAND_MAX))), None, "a story");
        assert_eq!(command("> remind me tomorrow at 8 to call mom"), None, "a quotation");
    }
}
