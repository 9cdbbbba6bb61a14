//! The words of each language.

use crate::phrase::Lang;

/// The words of one language. `{message}` is the reminder's, in quotes.
pub(super) struct Words {
    /// Around a message.
    pub(super) quotes: [&'static str; 2],
    /// The days of a week, short, from Monday on.
    pub(super) days: [&'static str; 7],
    /// How a date is written.
    pub(super) date: &'static str,
    /// It is done.
    pub(super) done: &'static str,
    /// It is done, late.
    pub(super) done_late: &'static str,
    /// It is put off until `{time}`.
    pub(super) snoozed: &'static str,
    /// It is not needed.
    pub(super) dismissed: &'static str,
    /// It was done before, at `{time}`.
    pub(super) was_done: &'static str,
    /// The same, by `{who}`.
    pub(super) was_done_by: &'static str,
    /// It was not needed before.
    pub(super) was_not_needed: &'static str,
    /// Its reminder was cancelled before.
    pub(super) was_cancelled: &'static str,
    /// It has ended.
    pub(super) is_over: &'static str,
    /// It must not be put off.
    pub(super) cannot_snooze: &'static str,
    /// It is asked about again at `{time}`.
    pub(super) again: &'static str,
    /// It cannot be put off until then.
    pub(super) bad_time: &'static str,
    /// Which one is meant?
    pub(super) which: &'static str,
    /// It is just being sent.
    pub(super) busy: &'static str,
    /// A reminder was made that is due as `{summary}` says.
    pub(super) made: &'static str,
    /// A reminder was asked for without a time.
    pub(super) no_time: &'static str,
    /// Nobody can be reminded then, as `{why}` says.
    pub(super) no_reminder: &'static str,
    /// A reminder was asked for without a word of what about.
    pub(super) only_when: &'static str,
    /// What comes next follows.
    pub(super) listed: &'static str,
    /// Nothing is to come.
    pub(super) nothing: &'static str,
    /// A reminder was cancelled.
    pub(super) cancelled: &'static str,
    /// Which one is to be cancelled?
    pub(super) cancel_which: &'static str,
    /// No reminder says `{what}`.
    pub(super) no_such: &'static str,
    /// The button that cancels.
    pub(super) cancel_label: &'static str,
}

/// The words of `lang`.
pub(super) fn words(lang: Lang) -> &'static Words {
    match lang {
        Lang::En => &EN,
        Lang::Es => &ES,
        Lang::Fr => &FR,
        Lang::De => &DE,
        Lang::Hr | Lang::Bs => &HR,
        Lang::Sr => &SR,
        Lang::SrCyrl => &SR_CYRL,
    }
}

const EN: Words = Words {
    quotes: ["“", "”"],
    days: ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"],
    date: "%-d %b",
    done: "✓ Done: {message}",
    done_late: "✓ Done, if late: {message}",
    snoozed: "⏰ Put off until {time}: {message}",
    dismissed: "Not needed: {message}",
    was_done: "That is done already, since {time}: {message}",
    was_done_by: "{who} did that already, {time}: {message}",
    was_not_needed: "That was not needed any more: {message}",
    was_cancelled: "That reminder was cancelled: {message}",
    is_over: "That one is over and cannot be put off any more: {message}",
    cannot_snooze: "This one cannot be put off: {message}",
    again: "I will ask again at {time}.",
    bad_time: "It cannot be put off until then; say a time to come, within a year.",
    which: "Which one do you mean?",
    busy: "That one is just being sent. Please try again in a moment.",
    made: "✓ I will remind you: {message}, {summary}",
    no_time: "I found no time in that. Write, for example: remind me tomorrow at 8 to call mom",
    no_reminder: "I cannot remind you then: {why}",
    only_when: "Say also what to remind you of.",
    listed: "What comes next:",
    nothing: "Nothing is to come.",
    cancelled: "✓ Cancelled: {message}",
    cancel_which: "Which one shall I cancel?",
    no_such: "No reminder says {what}.",
    cancel_label: "Cancel",
};

const ES: Words = Words {
    quotes: ["«", "»"],
    days: ["lun", "mar", "mié", "jue", "vie", "sáb", "dom"],
    date: "%-d/%-m",
    done: "✓ Hecho: {message}",
    done_late: "✓ Hecho, aunque tarde: {message}",
    snoozed: "⏰ Aplazado hasta {time}: {message}",
    dismissed: "No hace falta: {message}",
    was_done: "Eso ya está hecho, desde {time}: {message}",
    was_done_by: "Ya está hecho ({who}, {time}): {message}",
    was_not_needed: "Eso ya no hacía falta: {message}",
    was_cancelled: "Ese recordatorio se canceló: {message}",
    is_over: "Eso ya pasó y no se puede aplazar: {message}",
    cannot_snooze: "Esto no se puede aplazar: {message}",
    again: "Volveré a preguntar a las {time}.",
    bad_time: "No se puede aplazar hasta entonces; di una hora por venir, dentro de un año.",
    which: "¿A cuál te refieres?",
    busy: "Se está enviando ahora mismo. Vuelve a intentarlo en un momento.",
    made: "✓ Te lo recordaré: {message}, {summary}",
    no_time: "Ahí no dice cuándo. Escribe, por ejemplo: recuérdame mañana a las 8 llamar a mamá",
    no_reminder: "No te lo puedo recordar entonces: {why}",
    only_when: "Di también qué debo recordarte.",
    listed: "Lo próximo:",
    nothing: "No hay nada pendiente.",
    cancelled: "✓ Cancelado: {message}",
    cancel_which: "¿Cuál cancelo?",
    no_such: "Ningún recordatorio dice {what}.",
    cancel_label: "Cancelar",
};

const FR: Words = Words {
    quotes: ["« ", " »"],
    days: ["lun", "mar", "mer", "jeu", "ven", "sam", "dim"],
    date: "%-d/%-m",
    done: "✓ C'est fait : {message}",
    done_late: "✓ C'est fait, même si c'est tard : {message}",
    snoozed: "⏰ Reporté jusqu'à {time} : {message}",
    dismissed: "Pas besoin : {message}",
    was_done: "C'est déjà fait, depuis {time} : {message}",
    was_done_by: "C'est déjà fait ({who}, {time}) : {message}",
    was_not_needed: "Ce n'était plus nécessaire : {message}",
    was_cancelled: "Ce rappel a été annulé : {message}",
    is_over: "C'est passé et ne peut plus être reporté : {message}",
    cannot_snooze: "Ceci ne peut pas être reporté : {message}",
    again: "Je redemanderai à {time}.",
    bad_time: "On ne peut pas reporter jusque-là ; dis une heure à venir, dans moins d'un an.",
    which: "Lequel veux-tu dire ?",
    busy: "Il est en cours d'envoi. Réessaie dans un instant.",
    made: "✓ Je te rappellerai : {message}, {summary}",
    no_time: "Il n'y a pas d'heure. Écris, par exemple : rappelle-moi demain à 8h d'appeler maman",
    no_reminder: "Je ne peux pas te le rappeler à ce moment : {why}",
    only_when: "Dis aussi ce que je dois te rappeler.",
    listed: "La suite :",
    nothing: "Rien n'est prévu.",
    cancelled: "✓ Annulé : {message}",
    cancel_which: "Lequel dois-je annuler ?",
    no_such: "Aucun rappel ne dit {what}.",
    cancel_label: "Annuler",
};

const DE: Words = Words {
    quotes: ["„", "“"],
    days: ["Mo", "Di", "Mi", "Do", "Fr", "Sa", "So"],
    date: "%-d.%-m.",
    done: "✓ Erledigt: {message}",
    done_late: "✓ Erledigt, wenn auch spät: {message}",
    snoozed: "⏰ Verschoben bis {time}: {message}",
    dismissed: "Nicht nötig: {message}",
    was_done: "Das ist schon erledigt, seit {time}: {message}",
    was_done_by: "{who} hat das schon erledigt, {time}: {message}",
    was_not_needed: "Das war nicht mehr nötig: {message}",
    was_cancelled: "Diese Erinnerung wurde abgesagt: {message}",
    is_over: "Das ist vorbei und lässt sich nicht mehr verschieben: {message}",
    cannot_snooze: "Das lässt sich nicht verschieben: {message}",
    again: "Ich frage um {time} noch einmal.",
    bad_time: "Bis dahin lässt es sich nicht verschieben; nenne eine Zeit in der Zukunft, innerhalb eines Jahres.",
    which: "Was davon meinst du?",
    busy: "Das wird gerade gesendet. Bitte versuche es gleich noch einmal.",
    made: "✓ Ich erinnere dich: {message}, {summary}",
    no_time: "Darin steht keine Zeit. Schreibe zum Beispiel: erinnere mich morgen um 8 daran, Mama anzurufen",
    no_reminder: "Dann kann ich dich nicht erinnern: {why}",
    only_when: "Sage auch, woran ich dich erinnern soll.",
    listed: "Als Nächstes:",
    nothing: "Es steht nichts an.",
    cancelled: "✓ Abgesagt: {message}",
    cancel_which: "Was davon soll ich absagen?",
    no_such: "Keine Erinnerung enthält {what}.",
    cancel_label: "Absagen",
};

const HR: Words = Words {
    quotes: ["„", "”"],
    days: ["pon", "uto", "sri", "čet", "pet", "sub", "ned"],
    date: "%-d.%-m.",
    done: "✓ Gotovo: {message}",
    done_late: "✓ Gotovo, makar i kasno: {message}",
    snoozed: "⏰ Odgođeno do {time}: {message}",
    dismissed: "Ne treba: {message}",
    was_done: "To je već gotovo, od {time}: {message}",
    was_done_by: "Već gotovo ({who}, {time}): {message}",
    was_not_needed: "To više nije trebalo: {message}",
    was_cancelled: "Taj je podsjetnik otkazan: {message}",
    is_over: "To je prošlo i više se ne može odgoditi: {message}",
    cannot_snooze: "Ovo se ne može odgoditi: {message}",
    again: "Pitat ću ponovo u {time}.",
    bad_time: "Do tada se ne može odgoditi; reci vrijeme u budućnosti, unutar godine dana.",
    which: "Na što misliš?",
    busy: "To se upravo šalje. Pokušaj ponovo za trenutak.",
    made: "✓ Podsjetit ću te: {message}, {summary}",
    no_time: "U tome nema vremena. Napiši, na primjer: podsjeti me sutra u 8 da nazovem mamu",
    no_reminder: "Tada te ne mogu podsjetiti: {why}",
    only_when: "Reci i na što da te podsjetim.",
    listed: "Slijedi:",
    nothing: "Ništa ne slijedi.",
    cancelled: "✓ Otkazano: {message}",
    cancel_which: "Što da otkažem?",
    no_such: "Nijedan podsjetnik ne sadrži {what}.",
    cancel_label: "Otkaži",
};

const SR: Words = Words {
    quotes: ["„", "”"],
    days: ["pon", "uto", "sre", "čet", "pet", "sub", "ned"],
    date: "%-d.%-m.",
    done: "✓ Gotovo: {message}",
    done_late: "✓ Gotovo, makar i kasno: {message}",
    snoozed: "⏰ Odloženo do {time}: {message}",
    dismissed: "Ne treba: {message}",
    was_done: "To je već gotovo, od {time}: {message}",
    was_done_by: "Već gotovo ({who}, {time}): {message}",
    was_not_needed: "To više nije trebalo: {message}",
    was_cancelled: "Taj podsetnik je otkazan: {message}",
    is_over: "To je prošlo i više ne može da se odloži: {message}",
    cannot_snooze: "Ovo ne može da se odloži: {message}",
    again: "Pitaću ponovo u {time}.",
    bad_time: "Do tada ne može da se odloži; reci vreme u budućnosti, u roku od godinu dana.",
    which: "Na šta misliš?",
    busy: "To se upravo šalje. Pokušaj ponovo za trenutak.",
    made: "✓ Podsetiću te: {message}, {summary}",
    no_time: "U tome nema vremena. Napiši, na primer: podseti me sutra u 8 da pozovem mamu",
    no_reminder: "Tada ne mogu da te podsetim: {why}",
    only_when: "Reci i na šta da te podsetim.",
    listed: "Sledi:",
    nothing: "Ništa ne sledi.",
    cancelled: "✓ Otkazano: {message}",
    cancel_which: "Šta da otkažem?",
    no_such: "Nijedan podsetnik ne sadrži {what}.",
    cancel_label: "Otkaži",
};

const SR_CYRL: Words = Words {
    quotes: ["„", "”"],
    days: ["пон", "уто", "сре", "чет", "пет", "суб", "нед"],
    date: "%-d.%-m.",
    done: "✓ Готово: {message}",
    done_late: "✓ Готово, макар и касно: {message}",
    snoozed: "⏰ Одложено до {time}: {message}",
    dismissed: "Не треба: {message}",
    was_done: "То је већ готово, од {time}: {message}",
    was_done_by: "Већ готово ({who}, {time}): {message}",
    was_not_needed: "То више није требало: {message}",
    was_cancelled: "Тај подсетник је отказан: {message}",
    is_over: "То је прошло и више не може да се одложи: {message}",
    cannot_snooze: "Ово не може да се одложи: {message}",
    again: "Питаћу поново у {time}.",
    bad_time: "До тада не може да се одложи; реци време у будућности, у року од годину дана.",
    which: "На шта мислиш?",
    busy: "То се управо шаље. Покушај поново за тренутак.",
    made: "✓ Подсетићу те: {message}, {summary}",
    no_time: "У томе нема времена. Напиши, на пример: подсети ме сутра у 8 да позовем маму",
    no_reminder: "Тада не могу да те подсетим: {why}",
    only_when: "Реци и на шта да те подсетим.",
    listed: "Следи:",
    nothing: "Ништа не следи.",
    cancelled: "✓ Отказано: {message}",
    cancel_which: "Шта да откажем?",
    no_such: "Ниједан подсетник не садржи {what}.",
    cancel_label: "Откажи",
};
