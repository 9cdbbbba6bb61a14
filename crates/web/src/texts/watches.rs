//! The page Watches, and the page of one watch.

texts! {
    TITLE: "Watches", "Wächter", "Nadzori", "Nadzori";
    INTRO: "A watch looks into a table of yours and makes one reminder for each row that is due soon.", "Ein Wächter schaut in eine Ihrer Tabellen und macht für jede bald fällige Zeile eine Erinnerung.", "Nadzor gleda u vašu tablicu i za svaki redak kojemu se bliži rok stvara jedan podsjetnik.", "Nadzor gleda u vašu tabelu i za svaki red kojem se bliži rok pravi jedan podsetnik.";
    EMPTY_TITLE: "No watches yet", "Noch keine Wächter", "Još nema nadzora", "Još nema nadzora";
    EMPTY: "Invoices, tasks or appointments in your own database need no code to be reminded of. Put this into the server's config file, with your own table, and start it again.", "Rechnungen, Aufgaben oder Termine in Ihrer eigenen Datenbank brauchen keinen Code für Erinnerungen. Schreiben Sie dies mit Ihrer Tabelle in die Konfigurationsdatei des Servers und starten Sie ihn neu.", "Računi, zadaci ili termini u vašoj bazi ne trebaju kôd da bi se na njih podsjećalo. Upišite ovo, sa svojom tablicom, u konfiguracijsku datoteku poslužitelja i pokrenite ga iznova.", "Računi, zadaci ili termini u vašoj bazi ne traže kod da bi se na njih podsećalo. Upišite ovo, sa svojom tabelom, u konfiguracioni fajl servera i pokrenite ga ponovo.";
    EMPTY_THEN: "Then try it without sending anything:", "Danach ausprobieren, ohne etwas zu senden:", "Zatim isprobajte bez slanja:", "Zatim isprobajte bez slanja:";
    NOT_RUN: "has not run yet", "ist noch nicht gelaufen", "još se nije izvršio", "još se nije izvršio";
    RUNNING: "runs now", "läuft gerade", "upravo se izvršava", "upravo se izvršava";
    DONE: "done", "fertig", "gotovo", "gotovo";
    GIVEN_UP: "given up", "aufgegeben", "odustalo se", "odustalo se";
    PROBLEM: "problem", "Problem", "problem", "problem";
    NEXT: "next {when}", "nächster {when}", "sljedeći {when}", "sledeći {when}";
    COUNTS: "{seen} seen, {sent} sent, {skipped} skipped, {failed} failed, {retried} retried", "{seen} gesehen, {sent} gesendet, {skipped} übersprungen, {failed} fehlgeschlagen, {retried} wiederholt", "{seen} viđeno, {sent} poslano, {skipped} preskočeno, {failed} neuspjelo, {retried} ponovljeno", "{seen} viđeno, {sent} poslato, {skipped} preskočeno, {failed} neuspelo, {retried} ponovljeno";
    NOT_HERE: "not defined on this server", "auf diesem Server nicht definiert", "nije definiran na ovom poslužitelju", "nije definisan na ovom serveru";
    RUN_NOW: "Run now", "Jetzt ausführen", "Pokreni sada", "Pokreni sada";
    DRY_RUN: "Dry run", "Probelauf", "Probni prolaz", "Probno pokretanje";
    DRY_WHAT: "A dry run sends and writes nothing.", "Ein Probelauf sendet und schreibt nichts.", "Probni prolaz ništa ne šalje i ne zapisuje.", "Probno pokretanje ništa ne šalje i ne zapisuje.";
    FORGET: "Forget it", "Vergessen", "Zaboravi", "Zaboravi";
    FORGET_ASK: "Forget the watch {name}?", "Den Wächter {name} vergessen?", "Zaboraviti nadzor {name}?", "Zaboraviti nadzor {name}?";
    FORGET_WHAT: "Its runs and its ledger are removed. Reminders that it made stay.", "Seine Läufe und sein Verzeichnis werden entfernt. Erinnerungen, die er gemacht hat, bleiben.", "Uklanjaju se njegovi prolazi i dnevnik. Podsjetnici koje je stvorio ostaju.", "Uklanjaju se njegovi prolazi i dnevnik. Podsetnici koje je napravio ostaju.";
    FORGOTTEN: "The watch {name} is forgotten.", "Der Wächter {name} ist vergessen.", "Nadzor {name} je zaboravljen.", "Nadzor {name} je zaboravljen.";
    RAN: "Run {run}: {counts}.", "Lauf {run}: {counts}.", "Prolaz {run}: {counts}.", "Prolaz {run}: {counts}.";
    GOES_ON: "Run {run} goes on: {counts} so far.", "Lauf {run} geht weiter: bisher {counts}.", "Prolaz {run} još traje: dosad {counts}.", "Prolaz {run} još traje: do sada {counts}.";

    RUNS: "Runs", "Läufe", "Prolazi", "Prolazi";
    RUN: "Run", "Lauf", "Prolaz", "Prolaz";
    BEGAN: "Began", "Begonnen", "Početak", "Početak";
    TOOK: "Took", "Dauer", "Trajanje", "Trajanje";
    SEEN: "Seen", "Gesehen", "Viđeno", "Viđeno";
    SENT: "Sent", "Gesendet", "Poslano", "Poslato";
    SKIPPED: "Skipped", "Übersprungen", "Preskočeno", "Preskočeno";
    FAILED: "Failed", "Fehlgeschlagen", "Neuspjelo", "Neuspelo";
    RETRIED: "Retried", "Wiederholt", "Ponovljeno", "Ponovljeno";
    STATE: "State", "Stand", "Stanje", "Stanje";
    NODE: "Node", "Knoten", "Čvor", "Čvor";
    ASKED: "asked for", "angefordert", "na zahtjev", "na zahtev";
    BAD: "Rows that could not be reminded of", "Zeilen, an die nicht erinnert werden konnte", "Reci za koje podsjetnik nije uspio", "Redovi za koje podsetnik nije uspeo";
    BAD_NONE: "Every row was fine.", "Jede Zeile war in Ordnung.", "Svi su reci bili u redu.", "Svi redovi su bili u redu.";
    ROW_KEY: "Row", "Zeile", "Redak", "Red";
    COLUMN: "Column", "Spalte", "Stupac", "Kolona";
    WRONG: "What is wrong", "Was nicht stimmt", "Što nije u redu", "Šta nije u redu";

    WOULD: "{n} {n|row|rows} would be reminded of now; nothing was written.", "An {n} {n|Zeile|Zeilen} würde jetzt erinnert; nichts wurde geschrieben.", "Sada bi podsjetnik dobio {n} {n|redak|retka|redaka}; ništa nije zapisano.", "Sada bi podsetnik dobio {n} {n|red|reda|redova}; ništa nije zapisano.";
    WOULD_MORE: "At least {n} {n|row|rows} would be reminded of now; nothing was written.", "An mindestens {n} {n|Zeile|Zeilen} würde jetzt erinnert; nichts wurde geschrieben.", "Sada bi podsjetnik dobilo barem {n} {n|redak|retka|redaka}; ništa nije zapisano.", "Sada bi podsetnik dobilo bar {n} {n|red|reda|redova}; ništa nije zapisano.";
    FIRST_ROWS: "The first {n} are shown.", "Die ersten {n} werden gezeigt.", "Prikazano je prvih {n}.", "Prikazano je prvih {n}.";
    DUE: "Due", "Fällig", "Rok", "Rok";
    LAST_SENT: "Last reminded", "Zuletzt erinnert", "Zadnji podsjetnik", "Poslednji podsetnik";
    WHO: "Who", "Wer", "Tko", "Ko";
    WHAT: "Message", "Nachricht", "Poruka", "Poruka";
    CHANNEL: "Channel", "Kanal", "Kanal", "Kanal";
    MODE_COLUMN: "Each row is marked in its own column.", "Jede Zeile wird in ihrer eigenen Spalte markiert.", "Svaki se redak označava u vlastitom stupcu.", "Svaki red se označava u sopstvenoj koloni.";
    MODE_LEDGER: "Rows are marked in the watch's own ledger.", "Zeilen werden im Verzeichnis des Wächters markiert.", "Reci se označavaju u dnevniku nadzora.", "Redovi se označavaju u dnevniku nadzora.";

    DEFINITION: "How it is defined", "Wie er definiert ist", "Kako je definiran", "Kako je definisan";
    DATABASE: "Database", "Datenbank", "Baza podataka", "Baza podataka";
    ROWS: "Rows of", "Zeilen aus", "Reci iz", "Redovi iz";
    WHERE: "Only where", "Nur wenn", "Samo ako", "Samo ako";
    LOOKS: "Looks", "Schaut", "Gleda", "Gleda";
    WINDOW: "Due within", "Fällig innerhalb", "Rok unutar", "Rok unutar";
    AGAIN: "Again after", "Wieder nach", "Opet nakon", "Opet posle";
    NEXT_RUN: "Next run", "Nächster Lauf", "Sljedeći prolaz", "Sledeći prolaz";
    PRIORITY: "Priority", "Priorität", "Prioritet", "Prioritet";
}
