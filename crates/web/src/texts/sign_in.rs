//! Signing in.

texts! {
    TITLE: "Sign in", "Anmelden", "Prijava", "Prijava";
    INTRO: "With a key of this server. The page can do what the key may do.", "Mit einem Schlüssel dieses Servers. Die Seite kann, was der Schlüssel darf.", "Ključem ovog poslužitelja. Stranica može ono što ključ smije.", "Ključem ovog servera. Stranica može ono što ključ sme.";
    KEY: "Key", "Schlüssel", "Ključ", "Ključ";
    BUTTON: "Sign in", "Anmelden", "Prijavi se", "Prijavi se";
    NO_KEY: "No key at hand?", "Kein Schlüssel zur Hand?", "Nemate ključ pri ruci?", "Nemate ključ pri ruci?";
    HOW: "On the machine where the server runs, this opens the page signed in:", "Auf dem Rechner des Servers öffnet dies die Seite angemeldet:", "Na računalu na kojem radi poslužitelj ovo otvara stranicu s prijavom:", "Na računaru na kojem radi server ovo otvara stranicu s prijavom:";
    WRONG_KEY: "This key is not known here. It may have been deleted, or replaced by another.", "Dieser Schlüssel ist hier nicht bekannt. Vielleicht wurde er gelöscht oder ersetzt.", "Ovaj ključ ovdje nije poznat. Možda je obrisan ili zamijenjen.", "Ovaj ključ ovde nije poznat. Možda je obrisan ili zamenjen.";
    WRONG_LINK: "This link does not work any more: each works once, for ten minutes. Ask for a new one.", "Dieser Link gilt nicht mehr: jeder gilt einmal, zehn Minuten lang. Holen Sie einen neuen.", "Ova poveznica više ne vrijedi: svaka vrijedi jednom, deset minuta. Zatražite novu.", "Ova veza više ne važi: svaka važi jednom, deset minuta. Zatražite novu.";
    TOO_MANY: "Too many keys were wrong. Try again in {n} s.", "Zu viele Schlüssel waren falsch. Versuchen Sie es in {n} s wieder.", "Previše je ključeva bilo pogrešno. Pokušajte opet za {n} s.", "Previše ključeva je bilo pogrešno. Pokušajte opet za {n} s.";
    UNAVAILABLE: "The server cannot look keys up just now. Try again in a moment.", "Der Server kann gerade keine Schlüssel nachschlagen. Versuchen Sie es gleich wieder.", "Poslužitelj trenutačno ne može provjeriti ključeve. Pokušajte opet za koji trenutak.", "Server trenutno ne može da proveri ključeve. Pokušajte opet za koji trenutak.";
    ELSEWHERE: "The form came from another site. Write the key here.", "Das Formular kam von einer anderen Seite. Geben Sie den Schlüssel hier ein.", "Obrazac je došao s druge stranice. Upišite ključ ovdje.", "Obrazac je došao s drugog sajta. Upišite ključ ovde.";
}
