//! The page Channels.

texts! {
    TITLE: "Channels", "Kanäle", "Kanali", "Kanali";
    SUB: "The ways to reach people, as node {node} sees them since {since}.", "Die Wege zu den Menschen, wie der Knoten {node} sie seit {since} sieht.", "Putevi do ljudi, kako ih čvor {node} vidi od {since}.", "Putevi do ljudi, kako ih čvor {node} vidi od {since}.";
    DEFAULT: "used when nobody says where", "wenn niemand sagt, wohin", "kad nitko ne kaže kamo", "kad niko ne kaže kuda";
    WELL: "well", "in Ordnung", "u redu", "u redu";
    UNUSED: "nothing sent yet", "noch nichts gesendet", "još ništa nije poslano", "još ništa nije poslato";
    TROUBLED: "some fail", "manches scheitert", "nešto ne uspijeva", "nešto ne uspeva";
    FAILING: "everything fails", "alles scheitert", "ništa ne uspijeva", "ništa ne uspeva";
    LAST_HOUR: "Last hour", "Letzte Stunde", "Zadnji sat", "Poslednji sat";
    SENT_FAILED: "{sent} sent, {failed} failed", "{sent} gesendet, {failed} gescheitert", "{sent} poslano, {failed} neuspjelo", "{sent} poslato, {failed} neuspelo";
    LAST_MINUTE: "Last minute", "Letzte Minute", "Zadnja minuta", "Poslednji minut";
    SENDS: "{n} {n|send|sends}", "{n} {n|Sendung|Sendungen}", "{n} {n|slanje|slanja|slanja}", "{n} {n|slanje|slanja|slanja}";
    RATE: "Limit", "Grenze", "Granica", "Granica";
    TO_RECEIVER: "{rate} to one receiver", "{rate} an einen Empfänger", "{rate} jednom primatelju", "{rate} jednom primaocu";
    TO_ADDRESS: "{rate} to one address", "{rate} an eine Adresse", "{rate} na jednu adresu", "{rate} na jednu adresu";
    AT_ONCE: "{n} at once", "{n} zugleich", "{n} odjednom", "{n} odjednom";
    NOW: "Now", "Jetzt", "Sada", "Sada";
    SENDING_WAITING: "{sending} being sent, {waiting} waiting", "{sending} werden gesendet, {waiting} warten", "{sending} se šalje, {waiting} čeka", "{sending} se šalje, {waiting} čeka";
    LAST_ERROR: "Last trouble", "Letztes Problem", "Zadnji problem", "Poslednji problem";
    CLOSED: "Left alone", "In Ruhe gelassen", "Ostavljeno na miru", "Ostavljeno na miru";
    THROTTLED: "asked to wait", "bat zu warten", "traži da se pričeka", "traži da se pričeka";
    BROKEN: "only fails ({n} in a row)", "scheitert nur ({n} in Folge)", "samo ne uspijeva ({n} zaredom)", "samo ne uspeva ({n} zaredom)";
    TRYING: "being tried", "wird probiert", "isprobava se", "isprobava se";
    UNTIL: "until {when}", "bis {when}", "do {when}", "do {when}";
    ANSWERS: "Answers", "Antworten", "Odgovori", "Odgovori";
    ANSWERS_TAKEN: "{state}, {n} taken", "{state}, {n} angenommen", "{state}, {n} primljeno", "{state}, {n} primljeno";
    DEAD: "Dead addresses", "Tote Adressen", "Mrtve adrese", "Mrtve adrese";
    DEAD_N: "{n} {n|dead address|dead addresses}", "{n} {n|tote Adresse|tote Adressen}", "{n} {n|mrtva adresa|mrtve adrese|mrtvih adresa}", "{n} {n|mrtva adresa|mrtve adrese|mrtvih adresa}";
    DEAD_WHAT: "Their platform says that nobody is there any more. Nothing is sent to them until somebody revives them.", "Ihre Plattform sagt, dass dort niemand mehr ist. Es wird nichts mehr dorthin gesendet, bis jemand sie wiederbelebt.", "Njihova platforma kaže da ondje više nema nikoga. Ništa im se ne šalje dok ih netko ne oživi.", "Njihova platforma kaže da tamo više nema nikoga. Ništa im se ne šalje dok ih neko ne oživi.";
    NO_DEAD: "No address is dead.", "Keine Adresse ist tot.", "Nijedna adresa nije mrtva.", "Nijedna adresa nije mrtva.";
    REVIVE: "Revive", "Wiederbeleben", "Oživi", "Oživi";
    REVIVED: "{address} is used again.", "{address} wird wieder verwendet.", "{address} se opet koristi.", "{address} se opet koristi.";
    MORE: "More", "Mehr", "Više", "Više";
    TEST: "Send a test", "Test senden", "Pošalji probu", "Pošalji probu";
    ADDRESS: "Address", "Adresse", "Adresa", "Adresa";
    ADDRESS_HINT: "as a user has it", "wie ein Benutzer sie hat", "kakvu ima korisnik", "kakvu ima korisnik";
    MESSAGE: "Message", "Nachricht", "Poruka", "Poruka";
    MESSAGE_HINT: "This is a test from punctual.", "Das ist ein Test von punctual.", "Ovo je proba od punctuala.", "Ovo je proba od punctuala.";
    TESTED: "{channel}: {outcome} in {span}. {said}", "{channel}: {outcome} in {span}. {said}", "{channel}: {outcome} za {span}. {said}", "{channel}: {outcome} za {span}. {said}";
    ADD_TITLE: "More ways to reach people", "Mehr Wege zu den Menschen", "Više puteva do ljudi", "Više puteva do ljudi";
    ADD: "Telegram, Discord, Slack, WhatsApp, e-mail, ntfy, phone and more: a table in the config file is a channel. The server reads it when it starts.", "Telegram, Discord, Slack, WhatsApp, E-Mail, ntfy, Telefon und mehr: eine Tabelle in der Konfigurationsdatei ist ein Kanal. Der Server liest sie beim Start.", "Telegram, Discord, Slack, WhatsApp, e-pošta, ntfy, telefon i više: tablica u konfiguracijskoj datoteci je kanal. Poslužitelj je čita pri pokretanju.", "Telegram, Discord, Slack, WhatsApp, e-pošta, ntfy, telefon i više: tabela u konfiguracionoj datoteci je kanal. Server je čita pri pokretanju.";
}
