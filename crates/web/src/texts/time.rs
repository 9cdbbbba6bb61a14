//! Time: units, days and months.

texts! {
    SECOND: "s", "s", "s", "s";
    MINUTE: "min", "Min.", "min", "min";
    HOUR: "h", "Std.", "h", "h";
    DAY: "d", "T.", "d", "d";
    NOW: "now", "jetzt", "sada", "sada";
    IN: "in {span}", "in {span}", "za {span}", "za {span}";
    AGO: "{span} ago", "vor {span}", "prije {span}", "pre {span}";
    TODAY: "Today", "Heute", "Danas", "Danas";
    TOMORROW: "Tomorrow", "Morgen", "Sutra", "Sutra";
    YESTERDAY: "Yesterday", "Gestern", "Jučer", "Juče";
    WEEKDAYS: "Monday Tuesday Wednesday Thursday Friday Saturday Sunday", "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag", "ponedjeljak utorak srijeda četvrtak petak subota nedjelja", "ponedeljak utorak sreda četvrtak petak subota nedelja";
    SHORT_WEEKDAYS: "Mon Tue Wed Thu Fri Sat Sun", "Mo Di Mi Do Fr Sa So", "pon uto sri čet pet sub ned", "pon uto sre čet pet sub ned";
    MONTHS: "January February March April May June July August September October November December", "Januar Februar März April Mai Juni Juli August September Oktober November Dezember", "siječnja veljače ožujka travnja svibnja lipnja srpnja kolovoza rujna listopada studenoga prosinca", "januar februar mart april maj jun jul avgust septembar oktobar novembar decembar";
    SHORT_MONTHS: "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec", "Jan Feb März Apr Mai Juni Juli Aug Sep Okt Nov Dez", "sij velj ožu tra svi lip srp kol ruj lis stu pro", "jan feb mar apr maj jun jul avg sep okt nov dec";
    LATE: "{span} late", "{span} zu spät", "kasni {span}", "kasni {span}";
    THERE: "{time} in {zone}", "{time} in {zone}", "{time} u {zone}", "{time} u {zone}";
}
