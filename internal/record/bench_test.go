package record

import (
	"strings"
	"testing"
	"time"
)

// BenchmarkMemory builds records of the size that a registry has.
func BenchmarkMemory(b *testing.B) {
	template, err := ParseTemplate(DefaultTemplate())
	if err != nil {
		b.Fatal(err)
	}
	seq, ts := int64(7), time.Date(2026, 2, 1, 9, 0, 0, 0, time.UTC)
	m := Memory{
		ID: "mem-0001", Type: ReusableType, Subject: "paziente attivo", Detail: strings.Repeat("flag_attivo = TRUE è ", 8),
		Rationale: "dal manuale", QuestionContext: "Quanti pazienti attivi nel 2023?", Tables: []string{"fact_ricovero"},
		Concepts: []string{"paziente attivo"}, SessionID: "20260105_080000_000001_ab12", DecisionSeq: &seq, TS: &ts,
	}
	builder := Builder{Workspace: "default", Layout: Flat, Template: template}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := builder.Memory(m); err != nil {
			b.Fatal(err)
		}
	}
}
