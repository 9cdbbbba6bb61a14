//! The states of reminders and runs, each a word.

texts! {
    SCHEDULED: "planned", "geplant", "planirano", "planirano";
    PROCESSING: "being sent", "wird gesendet", "šalje se", "šalje se";
    PENDING_RETRY: "tried again", "neuer Versuch", "pokušava se opet", "pokušava se opet";
    AWAITING_ACK: "waits for an answer", "wartet auf Antwort", "čeka odgovor", "čeka odgovor";
    SNOOZED: "snoozed", "verschoben", "odgođeno", "odloženo";
    WAITING: "waits", "wartet", "čeka", "čeka";
    PAUSED: "paused", "pausiert", "pauzirano", "pauzirano";
    DELIVERED: "sent", "gesendet", "poslano", "poslato";
    COMPLETED: "done", "erledigt", "obavljeno", "obavljeno";
    DISMISSED: "not needed", "nicht nötig", "nije potrebno", "nije potrebno";
    UNANSWERED: "unanswered", "unbeantwortet", "bez odgovora", "bez odgovora";
    FAILED: "failed", "fehlgeschlagen", "neuspjelo", "neuspelo";
    CANCELLED: "cancelled", "abgesagt", "otkazano", "otkazano";
    MISSED: "missed", "verpasst", "propušteno", "propušteno";
    ACTIVE: "active", "aktiv", "aktivno", "aktivno";
    OVER: "over", "vorbei", "završeno", "završeno";
    QUIET: "quiet hours", "Ruhezeit", "vrijeme tišine", "vreme tišine";
    WHY_PAUSED: "person paused", "Person pausiert", "osoba je pauzirana", "osoba je pauzirana";
    SILENCED: "silenced", "stummgeschaltet", "stišano", "utišano";
    EVENT: "event being planned", "Ereignis wird geplant", "događaj se planira", "događaj se planira";
    LOW: "low", "niedrig", "nizak", "nizak";
    NORMAL: "normal", "normal", "običan", "običan";
    HIGH: "high", "hoch", "visok", "visok";
    CRITICAL: "critical", "kritisch", "kritičan", "kritičan";
}
