//! What went wrong.

texts! {
    REFUSED: "That was not done", "Das wurde nicht getan", "To nije učinjeno", "To nije urađeno";
    NOT_REMOVED: "Somebody has changed this since you were asked, so it was not removed. Look at it once more.", "Jemand hat das geändert, seit Sie gefragt wurden; es wurde nicht entfernt. Sehen Sie es sich noch einmal an.", "Netko je ovo promijenio otkad ste upitani, pa nije uklonjeno. Pogledajte još jednom.", "Neko je ovo promenio otkad ste upitani, pa nije uklonjeno. Pogledajte još jednom.";
    OVERTAKEN: "Somebody has changed this since you opened the page, so it was not saved. What you wrote still stands here: look at it once more, then save.", "Jemand hat dies geändert, seit Sie die Seite geöffnet haben; es wurde nicht gespeichert. Was Sie geschrieben haben, steht noch hier: Sehen Sie es noch einmal an, dann speichern Sie.", "Netko je ovo promijenio otkad ste otvorili stranicu, pa nije spremljeno. Ono što ste napisali još je tu: pogledajte još jednom, pa spremite.", "Neko je ovo promenio otkad ste otvorili stranicu, pa nije sačuvano. Ono što ste napisali još je tu: pogledajte još jednom, pa sačuvajte.";
    NOW_SAYS: "Now it says: {what}", "Jetzt steht hier: {what}", "Sada piše: {what}", "Sada piše: {what}";
    NOW_EMPTY: "Now it is empty", "Jetzt ist es leer", "Sada je prazno", "Sada je prazno";
    FORBIDDEN: "This key may not do that", "Dieser Schlüssel darf das nicht", "Ovaj ključ to ne smije", "Ovaj ključ to ne sme";
    NOT_FOUND: "Not found", "Nicht gefunden", "Nije nađeno", "Nije nađeno";
    NOT_FOUND_WHY: "There is no such page, or your key must not see it.", "Es gibt keine solche Seite, oder Ihr Schlüssel darf sie nicht sehen.", "Nema takve stranice ili je vaš ključ ne smije vidjeti.", "Nema takve stranice ili vaš ključ ne sme da je vidi.";
    FAILED: "That did not work", "Das hat nicht geklappt", "To nije uspjelo", "To nije uspelo";
    ELSEWHERE: "The form was not written for this session. Go back, load the page again, and repeat it.", "Das Formular gehört nicht zu dieser Sitzung. Gehen Sie zurück, laden Sie die Seite neu und wiederholen Sie es.", "Obrazac ne pripada ovoj sesiji. Vratite se, učitajte stranicu ponovno i ponovite.", "Obrazac ne pripada ovoj sesiji. Vratite se, učitajte stranicu ponovo i ponovite.";
    TOO_LARGE: "The form is too large.", "Das Formular ist zu groß.", "Obrazac je prevelik.", "Obrazac je prevelik.";
    BACK: "To today", "Zu heute", "Na danas", "Na danas";
}
