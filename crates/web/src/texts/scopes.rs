//! Scopes: offsets for all events below a path.

texts! {
    TITLE: "Scopes", "Bereiche", "Područja", "Područja";
    INTRO: "An event without offsets of its own has those of the nearest scope above it.", "Ein Ereignis ohne eigene Vorläufe hat die des nächsten Bereichs darüber.", "Događaj bez vlastitih odmaka ima odmake najbližeg područja iznad sebe.", "Događaj bez sopstvenih odmaka ima odmake najbližeg područja iznad sebe.";
    NEW: "New scope", "Neuer Bereich", "Novo područje", "Novo područje";
    PATH: "Path", "Pfad", "Putanja", "Putanja";
    PATH_HINT: "Levels with slashes between, such as guild:1/channel:2.", "Ebenen mit Schrägstrichen, etwa guild:1/channel:2.", "Razine odvojene kosom crtom, primjerice guild:1/channel:2.", "Nivoi odvojeni kosom crtom, na primer guild:1/channel:2.";
    OPEN: "Open", "Öffnen", "Otvori", "Otvori";
    EMPTY_TITLE: "No scopes yet", "Noch keine Bereiche", "Još nema područja", "Još nema područja";
    EMPTY: "Say once when people are reminded, and every event below the path does it so: 60 and 15 minutes before all games of a club.", "Sagen Sie einmal, wann erinnert wird, und jedes Ereignis unter dem Pfad hält sich daran: 60 und 15 Minuten vor allen Spielen eines Vereins.", "Recite jednom kada podsjećati, i svaki događaj ispod putanje drži se toga: 60 i 15 minuta prije svih utakmica kluba.", "Recite jednom kada podsećati, i svaki događaj ispod putanje drži se toga: 60 i 15 minuta pre svih utakmica kluba.";
    INHERITED: "from {path}", "von {path}", "iz {path}", "iz {path}";
    NOTHING: "says nothing", "sagt nichts", "ne kaže ništa", "ne kaže ništa";
    N_EVENTS: "{n} {n|event|events}", "{n} {n|Ereignis|Ereignisse}", "{n} {n|događaj|događaja|događaja}", "{n} {n|događaj|događaja|događaja}";
    DEPEND: "Events that inherit from here", "Ereignisse, die von hier erben", "Događaji koji nasljeđuju odavde", "Događaji koji nasleđuju odavde";
    DEPEND_NONE: "No event inherits from here.", "Kein Ereignis erbt von hier.", "Nijedan događaj ne nasljeđuje odavde.", "Nijedan događaj ne nasleđuje odavde.";
    BELOW: "Below it", "Darunter", "Ispod njega", "Ispod njega";
    EDIT: "Change its offsets", "Vorläufe ändern", "Promijeni odmake", "Promeni odmake";
    OFFSETS_HINT: "Minutes before the start, with commas: 60, 15. Or 1d, -30m (after), end+10m. Empty: never.", "Minuten vor dem Beginn, mit Komma: 60, 15. Oder 1d, -30m (danach), end+10m. Leer: nie.", "Minute prije početka, odvojene zarezom: 60, 15. Ili 1d, -30m (poslije), end+10m. Prazno: nikada.", "Minuti pre početka, odvojeni zarezom: 60, 15. Ili 1d, -30m (posle), end+10m. Prazno: nikada.";
    PREVIEW: "Show what changes", "Zeigen, was sich ändert", "Pokaži što se mijenja", "Pokaži šta se menja";
    PREVIEW_REMOVE: "Remove it: show what changes", "Entfernen: zeigen, was sich ändert", "Ukloni: pokaži što se mijenja", "Ukloni: pokaži šta se menja";
    CHANGES: "Before and after", "Vorher und nachher", "Prije i poslije", "Pre i posle";
    N_CHANGE: "{n} {n|event changes|events change}; nothing is saved yet.", "{n} {n|Ereignis ändert|Ereignisse ändern} sich; noch ist nichts gespeichert.", "Mijenja se {n} {n|događaj|događaja|događaja}; još ništa nije spremljeno.", "Menja se {n} {n|događaj|događaja|događaja}; još ništa nije sačuvano.";
    ONLY_FIRST: "Only the first {n} events below it were looked at.", "Nur die ersten {n} Ereignisse darunter wurden angesehen.", "Pregledano je samo prvih {n} događaja ispod njega.", "Pregledano je samo prvih {n} događaja ispod njega.";
    NOTHING_CHANGES: "No event changes by it; nothing is saved yet.", "Kein Ereignis ändert sich dadurch; noch ist nichts gespeichert.", "Nijedan se događaj time ne mijenja; još ništa nije spremljeno.", "Nijedan događaj se time ne menja; još ništa nije sačuvano.";
    EVENT: "Event", "Ereignis", "Događaj", "Događaj";
    NEXT_START: "Next start", "Nächster Beginn", "Sljedeći početak", "Sledeći početak";
    BEFORE: "Before", "Vorher", "Prije", "Pre";
    AFTER: "After", "Nachher", "Poslije", "Posle";
    NOBODY: "nobody is reminded", "niemand wird erinnert", "nitko se ne podsjeća", "niko se ne podseća";
    SAVE: "Save this", "So speichern", "Spremi ovo", "Sačuvaj ovo";
    REMOVE: "Remove the scope", "Bereich entfernen", "Ukloni područje", "Ukloni područje";
    SAVED: "Saved; {n} {n|event is|events are} planned anew.", "Gespeichert; {n} {n|Ereignis wird|Ereignisse werden} neu geplant.", "Spremljeno; iznova se planira {n} {n|događaj|događaja|događaja}.", "Sačuvano; iznova se planira {n} {n|događaj|događaja|događaja}.";
    REMOVED: "The scope {path} is gone.", "Der Bereich {path} ist weg.", "Područja {path} više nema.", "Područja {path} više nema.";
    N_MORE: "{n} more", "{n} weitere", "još {n}", "još {n}";
    MORE_THAN: "Only the first {n} scopes are shown.", "Nur die ersten {n} Bereiche werden gezeigt.", "Prikazano je samo prvih {n} područja.", "Prikazano je samo prvih {n} područja.";
}
