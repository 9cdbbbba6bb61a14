//! What stands around every page.

texts! {
    SKIP: "Skip to the page", "Zum Inhalt", "Na sadržaj", "Na sadržaj";
    MAIN: "Pages", "Seiten", "Stranice", "Stranice";
    MORE: "More", "Mehr", "Više", "Više";
    LIVE: "live", "live", "uživo", "uživo";
    LOST: "The connection is lost. What you see may be old; it comes back by itself.", "Die Verbindung ist unterbrochen. Was Sie sehen, kann veraltet sein; sie kommt von selbst wieder.", "Veza je prekinuta. Ovo što vidite možda je zastarjelo; veza se vraća sama.", "Veza je prekinuta. Ovo što vidite možda je zastarelo; veza se vraća sama.";
    BACK: "The connection is back.", "Die Verbindung ist wieder da.", "Veza je opet tu.", "Veza je opet tu.";
    SIGN_OUT: "Sign out", "Abmelden", "Odjava", "Odjava";
    SIGN_OUT_EVERYWHERE: "Sign out everywhere", "Überall abmelden", "Odjava svugdje", "Odjava svuda";
    SIGNED_IN_AS: "Signed in with the key {name}", "Angemeldet mit dem Schlüssel {name}", "Prijavljeni ste ključem {name}", "Prijavljeni ste ključem {name}";
    UNDO: "Undo", "Rückgängig", "Poništi", "Poništi";
    CLOSE: "Close", "Schließen", "Zatvori", "Zatvori";
    SEARCH: "Search, go, do", "Suchen und tun", "Traži, idi, učini", "Traži, idi, učini";
    PALETTE_HINT: "Type to find a reminder, a page or an action", "Tippen, um eine Erinnerung, Seite oder Aktion zu finden", "Tipkajte da nađete podsjetnik, stranicu ili radnju", "Kucajte da nađete podsetnik, stranicu ili radnju";
    KEYS_TITLE: "Keys", "Tasten", "Tipke", "Tasteri";
    KEY_PALETTE: "search, go, do", "suchen, öffnen, tun", "traži, idi, učini", "traži, idi, učini";
    KEY_ADD: "a new reminder", "eine neue Erinnerung", "novi podsjetnik", "novi podsetnik";
    KEY_FIND: "search on this page", "auf dieser Seite suchen", "traži na ovoj stranici", "traži na ovoj stranici";
    KEY_GO: "then t, r, p, e, w, c, h, k, s: go to a page", "dann t, r, p, e, w, c, h, k, s: zu einer Seite", "pa t, r, p, e, w, c, h, k, s: na stranicu", "pa t, r, p, e, w, c, h, k, s: na stranicu";
    KEY_MOVE: "down and up in a list", "in einer Liste ab und auf", "dolje i gore po popisu", "dole i gore po spisku";
    KEY_SORT: "move an address in its list", "eine Adresse in ihrer Liste verschieben", "pomakni adresu u popisu", "pomeri adresu na spisku";
    KEY_CLOSE: "close what is open", "Offenes schließen", "zatvori što je otvoreno", "zatvori što je otvoreno";
    KEY_UNDO: "undo", "rückgängig machen", "poništi", "poništi";
    KEY_HELP: "these keys", "diese Tasten", "ove tipke", "ovi tasteri";
    WHOSE: "Whose", "Wessen", "Čije", "Čije";
    WHOSE_ME: "My own", "Meine eigenen", "Moje", "Moje";
}
