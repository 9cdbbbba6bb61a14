//! What forms and lists of every page say.

texts! {
    SAVE: "Save", "Speichern", "Spremi", "Sačuvaj";
    ADD: "Add", "Hinzufügen", "Dodaj", "Dodaj";
    CREATE: "Create", "Anlegen", "Stvori", "Napravi";
    EDIT: "Edit", "Bearbeiten", "Uredi", "Izmeni";
    REMOVE: "Remove", "Entfernen", "Ukloni", "Ukloni";
    UP: "Move up", "Nach oben", "Pomakni gore", "Pomeri gore";
    DOWN: "Move down", "Nach unten", "Pomakni dolje", "Pomeri dole";
    KEEP: "No, go back", "Nein, zurück", "Ne, natrag", "Ne, nazad";
    FILTER: "Filter", "Filtern", "Filtriraj", "Filtriraj";
    SHOW_ALL: "Show all", "Alle zeigen", "Prikaži sve", "Prikaži sve";
    PAGES: "Pages of the list", "Seiten der Liste", "Stranice popisa", "Stranice liste";
    FIRST_PAGE: "First page", "Erste Seite", "Prva stranica", "Prva stranica";
    NEXT_PAGE: "Next page", "Nächste Seite", "Sljedeća stranica", "Sledeća stranica";
    SAVED: "Saved.", "Gespeichert.", "Spremljeno.", "Sačuvano.";
    REMOVED: "Removed “{name}”.", "„{name}“ entfernt.", "Uklonjeno: „{name}”.", "Uklonjeno: „{name}”.";
    SORT_HINT: "Drag to sort, or use Alt with the arrow keys, or the arrows.", "Zum Sortieren ziehen, Alt mit den Pfeiltasten drücken oder die Pfeile benutzen.", "Poredajte povlačenjem, tipkom Alt i strelicama ili gumbima sa strelicama.", "Poređajte prevlačenjem, tasterom Alt i strelicama ili dugmadima sa strelicama.";
}
