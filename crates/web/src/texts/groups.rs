//! Groups.

texts! {
    WHAT: "People who belong together: one name for whoever is to be asked.", "Menschen, die zusammengehören: ein Name für alle, die gefragt werden.", "Ljudi koji pripadaju zajedno: jedno ime za sve koje treba pitati.", "Ljudi koji pripadaju zajedno: jedno ime za sve koje treba pitati.";
    NEW: "New group", "Neue Gruppe", "Nova grupa", "Nova grupa";
    NAME: "Name", "Name", "Ime", "Ime";
    NAME_HINT: "Small letters, digits, and . _ -", "Kleinbuchstaben, Ziffern und . _ -", "Mala slova, znamenke i . _ -", "Mala slova, cifre i . _ -";
    MEMBERS: "Members", "Mitglieder", "Članovi", "Članovi";
    MEMBERS_HINT: "Names, with commas between.", "Namen, mit Komma getrennt.", "Imena, odvojena zarezima.", "Imena, odvojena zarezima.";
    ADD_MEMBER: "Add somebody", "Jemanden hinzufügen", "Dodaj nekoga", "Dodaj nekoga";
    MODE: "They are asked", "Sie werden gefragt", "Pita ih se", "Pitaju se";
    IN_ORDER: "one after the other", "nacheinander", "jedno po jedno", "jedno po jedno";
    AT_ONCE: "all at once", "alle zugleich", "sve odjednom", "svi odjednom";
    ROTA: "Calendar that says who is on call", "Kalender, der sagt, wer Dienst hat", "Kalendar dežurstava", "Kalendar dežurstava";
    ROTA_HINT: "https://… or file:NAME. Empty: none; then the members are asked.", "https://… oder file:NAME. Leer: keiner; dann werden die Mitglieder gefragt.", "https://… ili file:IME. Prazno: bez njega; tada se pitaju članovi.", "https://… ili file:IME. Prazno: bez njega; tada se pitaju članovi.";
    ON_CALL: "On call now: {names}", "Jetzt im Dienst: {names}", "Sada dežura: {names}", "Sada dežura: {names}";
    ON_CALL_NOBODY: "Nobody is on call now; the members are asked.", "Niemand hat jetzt Dienst; die Mitglieder werden gefragt.", "Sada nitko ne dežura; pitaju se članovi.", "Sada niko ne dežura; pitaju se članovi.";
    FIRST: "Asked first: {name}", "Zuerst gefragt: {name}", "Prvi se pita: {name}", "Prvi se pita: {name}";
    SETTINGS: "How they are asked", "Wie sie gefragt werden", "Kako ih se pita", "Kako se pitaju";
    DELETE: "Delete the group", "Gruppe löschen", "Obriši grupu", "Obriši grupu";
    DELETE_ASK: "Delete the group {name}?", "Die Gruppe {name} löschen?", "Obrisati grupu {name}?", "Obrisati grupu {name}?";
    DELETE_WHAT: "Its people stay. Plans that name it ask nobody in its place.", "Ihre Mitglieder bleiben. Pläne, die sie nennen, fragen an ihrer Stelle niemanden.", "Članovi ostaju. Planovi koji je spominju umjesto nje ne pitaju nikoga.", "Članovi ostaju. Planovi koji je pominju umesto nje ne pitaju nikoga.";
    DELETED: "The group {name} is gone.", "Die Gruppe {name} ist weg.", "Grupe {name} više nema.", "Grupe {name} više nema.";
    CREATED: "The group {name} is there.", "Die Gruppe {name} ist angelegt.", "Grupa {name} je stvorena.", "Grupa {name} je napravljena.";
    N_MEMBERS: "{n} {n|member|members}", "{n} {n|Mitglied|Mitglieder}", "{n} {n|član|člana|članova}", "{n} {n|član|člana|članova}";
}
