package sample

// vocabulary is what a language lends to a topic.
type vocabulary struct {
	databases, nouns, qualifiers, places, units, tables []string

	questions, additions, definitions, remarks, reasons []string
}

var italian = vocabulary{
	databases:  []string{"clinica", "territorio", "farmacia", "laboratorio"},
	nouns:      []string{"ricovero", "accesso", "prelievo", "referto", "intervento", "farmaco", "esame", "consulto", "trasferimento", "impianto", "turno", "presidio", "episodio", "percorso", "controllo", "vaccino", "parto", "trapianto", "letto", "contatto", "ticket", "appuntamento", "reclamo", "campione"},
	qualifiers: []string{"programmato", "urgente", "ripetuto", "annullato", "sospeso", "ordinario", "diurno", "notturno", "tardivo", "doppio", "incompleto", "chiuso", "aperto", "attivo", "critico", "evitabile", "complesso", "gratuito", "esterno", "interno", "anticipato", "prolungato", "registrato a mano", "senza esito"},
	places:     []string{"in cardiologia", "in ortopedia", "in medicina d'urgenza", "nel polo nord", "nel polo sud", "in day hospital", "in terapia intensiva", "negli ambulatori", "in pediatria", "in nefrologia"},
	units:      []string{"giorni", "ore", "settimane", "mesi", "punti percentuali"},
	tables:     []string{"ricovero", "paziente", "reparto", "tempo", "esame", "farmaco", "procedura", "contatto", "letto", "turno", "referto", "prestazione"},
	questions: []string{
		"Quanti casi di {thing} ci sono stati {place} nel {year}?", "Qual è la durata media di {thing} {place}?",
		"Come è cambiato il numero di {thing} dal {year} a oggi?", "Quale quota di {thing} supera {n} {unit}?",
		"In quali reparti {thing} è più frequente nel {year}?", "Quanto costa in media un {thing} {place}?",
	},
	additions: []string{
		", contando ogni paziente una volta sola", ", esclusi i casi di prova", ", per mese e per reparto", " nei {n} mesi prima della data di riferimento",
		", senza i record annullati", ", dal {year} in poi", "",
	},
	definitions: []string{
		"{thing}: evento con {flag} = TRUE e data compresa nel {year}.",
		"Si intende per {thing} quello che dura almeno {n} {unit} {place}.",
		"{thing} vale quando il codice è {n} e il paziente non è stato trasferito.",
		"È {thing} se sono passati meno di {n} {unit} dal contatto precedente.",
		"Conta come {thing} ogni riga con {flag} valorizzato, tolti i doppioni dello stesso giorno.",
		"{thing} si misura dalla presa in carico alla chiusura, in {unit}.",
		"Per {thing} fa fede la data di registrazione, non quella di richiesta, dal {year}.",
	},
	remarks: []string{
		"I casi aperti restano fuori.", "Prima del {year} il campo non era compilato.", "Chi passa da un reparto all'altro conta una volta.",
		"Le righe caricate due volte si riconoscono da {flag}.", "La soglia di {n} {unit} è stata concordata con la direzione.",
	},
	reasons: []string{"", "", "confermato dal revisore", "dal manuale di dominio", "riunione con il reparto", "verificato su un campione"},
}

var english = vocabulary{
	databases:  []string{"freight", "warehouse", "fleet", "billing"},
	nouns:      []string{"shipment", "parcel", "pallet", "stop", "route", "invoice", "claim", "pickup", "return", "delivery", "trailer", "driver shift", "booking", "consignment", "dock visit", "customs entry", "container", "quote", "inspection", "refund", "transfer", "order line", "loading slot", "complaint"},
	qualifiers: []string{"late", "cancelled", "duplicated", "disputed", "urgent", "open", "closed", "refused", "damaged", "unbilled", "billed twice", "on hold", "rerouted", "oversized", "returned", "prepaid", "consolidated", "split", "at risk", "without a scan", "entered by hand", "cross-border", "cooled", "insured"},
	places:     []string{"at the north hub", "at the south hub", "on night routes", "for key accounts", "in the harbour depot", "across the border", "in rural areas", "on line hauls", "in the returns hall", "for seasonal customers"},
	units:      []string{"days", "hours", "minutes", "kilometres", "percentage points"},
	tables:     []string{"shipment", "customer", "depot", "route", "invoice", "vehicle", "stop", "claim", "pallet", "driver", "tariff", "calendar"},
	questions: []string{
		"How many cases of {thing} were there {place} in {year}?", "What is the average duration of a {thing} {place}?",
		"How did the number of {thing} change since {year}?", "What share of {thing} takes more than {n} {unit}?",
		"Which depots had the most {thing} in {year}?", "What does a {thing} cost on average {place}?",
	},
	additions: []string{
		", counting each customer once", ", test records left out", ", by month and depot", " in the {n} months before the reference date",
		", without cancelled rows", ", from {year} on", "",
	},
	definitions: []string{
		"{thing}: an event with {flag} = TRUE dated within {year}.",
		"A {thing} is one that takes at least {n} {unit} {place}.",
		"{thing} holds when the code is {n} and nothing was transferred.",
		"It is a {thing} when fewer than {n} {unit} have passed since the contact before.",
		"Every row with {flag} set counts as {thing}, repeats of the same day removed.",
		"{thing} is measured from acceptance to closing, in {unit}.",
		"For {thing} the booking date decides, not the date of the request, since {year}.",
	},
	remarks: []string{
		"Open cases stay out.", "Before {year} the field was not filled in.", "What moves between depots counts once.",
		"Rows loaded twice can be told by {flag}.", "The limit of {n} {unit} was agreed with operations.",
	},
	reasons: []string{"", "", "confirmed by the reviewer", "from the domain manual", "meeting with the depot", "checked on a sample"},
}
