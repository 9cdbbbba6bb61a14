//! The page Today.

texts! {
    TITLE: "Today", "Heute", "Danas", "Danas";
    ADD_LABEL: "New reminder", "Neue Erinnerung", "Novi podsjetnik", "Novi podsetnik";
    ADD_PLACEHOLDER: "call mom tomorrow at 8", "morgen um 8 Mama anrufen", "sutra u 8 nazvati mamu", "sutra u 8 pozvati mamu";
    ADD_BUTTON: "Add", "Anlegen", "Dodaj", "Dodaj";
    ADDED: "Added “{what}”: {when}.", "„{what}“ angelegt: {when}.", "Dodano „{what}”: {when}.", "Dodato „{what}”: {when}.";
    OR: "or", "oder", "ili", "ili";
    TO_ADD: "to add it", "legt sie an", "dodaje", "dodaje";
    NO_TIME: "Say when as well, such as “tomorrow at 8”.", "Sagen Sie auch wann, etwa „morgen um 8“.", "Recite i kada, na primjer „sutra u 8”.", "Recite i kada, na primer „sutra u 8”.";
    DID_YOU_MEAN: "Did you mean: {what}?", "Meinen Sie: {what}?", "Mislite li: {what}?", "Mislite li: {what}?";
    WAITING: "Waiting for an answer", "Wartet auf Antwort", "Čeka odgovor", "Čeka odgovor";
    SENT_ON: "Sent {time} on {channel}", "Gesendet {time} über {channel}", "Poslano {time} preko {channel}", "Poslato {time} preko {channel}";
    ASKED_TIMES: "asked {n} {n|time|times}", "{n}-{n|mal|mal} gefragt", "pitano {n} {n|put|puta|puta}", "pitano {n} {n|put|puta|puta}";
    ASKED_NEXT: "asks again at {time}", "fragt wieder um {time}", "pita se opet {time}", "pita se opet {time}";
    THEN_TOLD: "{who} is told {time}", "{who} erfährt es {time}", "{who} doznaje {time}", "{who} saznaje {time}";
    DONE: "Done", "Erledigt", "Obavljeno", "Obavljeno";
    SNOOZE_15: "Snooze 15 min", "15 Min. später", "Za 15 min", "Za 15 min";
    SNOOZE_60: "1 hour", "1 Stunde", "1 sat", "1 sat";
    TOMORROW_8: "Tomorrow 8:00", "Morgen 8:00", "Sutra 8:00", "Sutra 8:00";
    NOT_NEEDED: "Not needed", "Nicht nötig", "Nije potrebno", "Nije potrebno";
    UNTIL: "Snooze until …", "Verschieben bis …", "Odgodi do …", "Odloži do …";
    UNTIL_EXAMPLE: "friday at 8", "freitag um 8", "petak u 8", "petak u 8";
    SNOOZE: "Snooze", "Verschieben", "Odgodi", "Odloži";
    EARLIER: "{n} earlier today", "{n} früher heute", "{n} ranije danas", "{n} ranije danas";
    EARLIER_MORE: "More than {n} earlier today", "Mehr als {n} früher heute", "Više od {n} ranije danas", "Više od {n} ranije danas";
    EARLIER_STILL: "Earlier still", "Noch früher", "Još ranije", "Još ranije";
    LATER: "Later today", "Später heute", "Kasnije danas", "Kasnije danas";
    FOLD: "Show fewer", "Weniger zeigen", "Prikaži manje", "Prikaži manje";
    ALL_WELL: "all reached their person", "alle kamen an", "sve je stiglo", "sve je stiglo";
    SOME_FAILED: "{n} did not arrive", "{n} {n|kam|kamen} nicht an", "{n} nije stiglo", "{n} nije stiglo";
    BY: "by {who}", "von {who}", "{who}", "{who}";
    NOW: "now", "jetzt", "sada", "sada";
    NOTHING_COMING: "Nothing more today.", "Heute kommt nichts mehr.", "Danas više nema ničega.", "Danas više nema ničega.";
    ANSWER_WANTED: "answer wanted", "Antwort erwünscht", "traži se odgovor", "traži se odgovor";
    EMPTY_TITLE: "Nothing yet, and nothing lost", "Noch nichts, und nichts verpasst", "Još ničega, i ništa propušteno", "Još ničega, i ništa propušteno";
    EMPTY: "A reminder is one sentence: what, and when. It is sent on the instant, and you see here what became of it.", "Eine Erinnerung ist ein Satz: was und wann. Sie wird auf den Augenblick gesendet, und hier steht, was daraus wurde.", "Podsjetnik je jedna rečenica: što i kada. Šalje se u trenutak, a ovdje vidite što je od njega bilo.", "Podsetnik je jedna rečenica: šta i kada. Šalje se u trenutak, a ovde vidite šta je od njega bilo.";
    TRY: "Try it", "Ausprobieren", "Isprobaj", "Isprobaj";
    EXAMPLE: "drink a glass of water in 1 minute", "in 1 Minute ein Glas Wasser trinken", "popiti čašu vode za 1 minutu", "popiti čašu vode za 1 minut";
    MORE_UNTIL: "{n} more until {when}", "{n} weitere bis {when}", "još {n} do {when}", "još {n} do {when}";
    MORE_UNTIL_SOME: "More until {when}", "Weitere bis {when}", "Još do {when}", "Još do {when}";
    THEN_MORE: "then {n} more until {when}", "danach {n} weitere bis {when}", "zatim još {n} do {when}", "zatim još {n} do {when}";
    SOONER: "Sooner", "Früher", "Ranije", "Ranije";
    LEAVES: "waits until {when}", "wartet bis {when}", "čeka do {when}", "čeka do {when}";
    MORE_COMING: "All reminders", "Alle Erinnerungen", "Svi podsjetnici", "Svi podsetnici";
    WHOSE_LABEL: "Whose day", "Wessen Tag", "Čiji dan", "Čiji dan";
    SHOW: "Show", "Zeigen", "Prikaži", "Prikaži";
}
