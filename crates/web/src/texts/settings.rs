//! The page Settings.

texts! {
    TITLE: "Settings", "Einstellungen", "Postavke", "Podešavanja";
    SUB: "As they are in force on node {node}. A flag beats a variable, which beats the file; the server reads them when it starts.", "Wie sie auf dem Knoten {node} gelten. Ein Schalter schlägt eine Variable, diese die Datei; der Server liest sie beim Start.", "Kako vrijede na čvoru {node}. Zastavica je jača od varijable, a ona od datoteke; poslužitelj ih čita pri pokretanju.", "Kako važe na čvoru {node}. Opcija je jača od promenljive, a ona od datoteke; server ih čita pri pokretanju.";
    ASSUMED: "What the server assumes where nobody says.", "Was der Server annimmt, wo niemand etwas sagt.", "Što poslužitelj pretpostavlja kad nitko ne kaže.", "Šta server pretpostavlja kad niko ne kaže.";
    CHOSEN: "Chosen", "Gewählt", "Odabrano", "Odabrano";
    DEFAULTS: "Defaults", "Vorgaben", "Zadano", "Podrazumevano";
    NONE_CHOSEN: "Nobody has chosen anything: all is as it comes. A setting is a line in the config file, a variable or a flag.", "Niemand hat etwas gewählt: alles ist, wie es kommt. Eine Einstellung ist eine Zeile der Konfigurationsdatei, eine Variable oder ein Schalter.", "Nitko nije ništa odabrao: sve je zadano. Postavka je redak konfiguracijske datoteke, varijabla ili zastavica.", "Niko nije ništa odabrao: sve je podrazumevano. Podešavanje je red konfiguracione datoteke, promenljiva ili opcija.";
    NAME: "Setting", "Einstellung", "Postavka", "Podešavanje";
    VALUE: "Value", "Wert", "Vrijednost", "Vrednost";
    FLAG: "flag {from}", "Schalter {from}", "zastavica {from}", "opcija {from}";
    VARIABLE: "variable {from}", "Variable {from}", "varijabla {from}", "promenljiva {from}";
    FILE: "file {from}", "Datei {from}", "datoteka {from}", "datoteka {from}";
    DEFAULT: "default", "Vorgabe", "zadano", "podrazumevano";
    SECRET: "set; nobody sees it", "gesetzt; niemand sieht ihn", "postavljeno; nitko je ne vidi", "podešeno; niko je ne vidi";
    NOT_SET: "not set", "nicht gesetzt", "nije postavljeno", "nije podešeno";
    TIMEZONE: "Zone of users who have none", "Zone von Benutzern ohne eigene", "Zona korisnika koji je nemaju", "Zona korisnika koji je nemaju";
    LANGUAGE: "Language of users who have none", "Sprache von Benutzern ohne eigene", "Jezik korisnika koji ga nemaju", "Jezik korisnika koji ga nemaju";
    VERSION: "Version", "Version", "Verzija", "Verzija";
    HOW: "set it by {variable}", "gesetzt durch {variable}", "postavlja se s {variable}", "podešava se sa {variable}";
}
