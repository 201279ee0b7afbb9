package main

import (
	"math"
	"strconv"
	"strings"

	"github.com/thtbatch/thtbatch/internal/jobs"
)

// embedSettings say what makes vectors.
func embedSettings() []setting {
	return []setting{
		{key: "embed.provider", doc: "What makes vectors: lexical, which is built in; ollama or openai, servers that speak /api/embed or /v1/embeddings; onnx, a model in a directory.",
			at: func(s *jobs.Settings) value {
				return word{to: &s.Embed.Provider, among: []string{"lexical", "ollama", "openai", "onnx"}}
			}},
		{key: "embed.model", doc: "The model, as the provider calls it.",
			at: func(s *jobs.Settings) value { return word{to: &s.Embed.Model} }},
		{key: "embed.revision", doc: "A word of yours for the state of the model. Another one makes all vectors anew: for a model that changed behind its name.",
			at: func(s *jobs.Settings) value { return word{to: &s.Embed.Revision} }},
		{key: "embed.dimensions", doc: "Length of a vector. 0: 1024 with lexical, what the model has with onnx; ollama and openai need it. An index holds one length.",
			at: func(s *jobs.Settings) value { return number{&s.Embed.Dimensions, 0, 65536} }},
		{key: "embed.cache", doc: "Keep vectors by text: on, off, or auto (on where making them costs something).",
			at: func(s *jobs.Settings) value {
				return word{to: &s.Embed.Cache, among: []string{"auto", "on", "off"}}
			}},
		{key: "embed.document_prefix", doc: "Put before what is indexed: \"passage: \" for e5, \"search_document: \" for nomic, \"title: none | text: \" for embeddinggemma.",
			at: func(s *jobs.Settings) value { return word{to: &s.Embed.DocumentPrefix} }},
		{key: "embed.query_prefix", doc: "Put before a question: \"query: \" for e5, \"search_query: \" for nomic, \"task: search result | query: \" for embeddinggemma; qwen3 wants an instruction.",
			at: func(s *jobs.Settings) value { return word{to: &s.Embed.QueryPrefix} }},
		{key: "embed.normalise", doc: "Bring vectors to unit length.",
			at: func(s *jobs.Settings) value { return truth{&s.Embed.Normalise} }},
		{key: "embed.truncate", doc: "A text that is too long for the model: refuse and report it, let the server cut it as it likes, or cut it to its first N code points (head:N).",
			at: func(s *jobs.Settings) value {
				return word{to: &s.Embed.Truncate, check: isTruncation, shape: "refuse|server|head:N"}
			}},
		{key: "embed.batch", doc: "Texts in one request, 1 to 2048.",
			at: func(s *jobs.Settings) value { return number{&s.Embed.Batch, 1, 2048} }},
		{key: "embed.batch_tokens", doc: "Tokens in one request, as estimated from the bytes.",
			at: func(s *jobs.Settings) value { return number{&s.Embed.BatchTokens, 1, math.MaxInt32} }},
		{key: "embed.concurrency", doc: "Requests at once. 0: one with ollama and onnx, two with openai, one a processor with lexical.",
			at: func(s *jobs.Settings) value { return number{&s.Embed.Concurrency, 0, 64} }},

		{key: "embed.url", doc: "ollama, openai: the server. Empty: http://localhost:11434 with ollama.",
			at: func(s *jobs.Settings) value {
				return word{to: &s.Embed.URL, check: func(u string) bool { return u == "" || isURL(u) }, shape: "http://host:port|https://host"}
			}},
		{key: "embed.key_file", doc: "ollama, openai: a file that only its owner can read, with the key. THTBATCH_EMBED_KEY stands above it.", dir: true,
			at: func(s *jobs.Settings) value { return word{to: &s.Embed.KeyFile} }},
		{key: "embed.allow_remote", doc: "Allow an embedder that is not on this machine or a private address: the texts leave your network.",
			at: func(s *jobs.Settings) value { return truth{&s.Embed.AllowRemote} }},
		{key: "embed.send_dimensions", doc: "ollama, openai: ask for embed.dimensions. Only for models that can give another length than their own.",
			at: func(s *jobs.Settings) value { return truth{&s.Embed.SendDimensions} }},
		{key: "embed.requests_per_minute", doc: "ollama, openai: the most requests in a minute. 0: as fast as it goes.",
			at: func(s *jobs.Settings) value { return number{&s.Embed.RequestsPerMinute, 0, 1_000_000} }},
		{key: "embed.timeout", doc: "ollama, openai: how long one request may take, the server's queue included.",
			at: func(s *jobs.Settings) value { return duration{&s.Embed.Timeout} }},
		{key: "embed.tries", doc: "ollama, openai: how often a request is tried, with growing pauses, before the server counts as down.",
			at: func(s *jobs.Settings) value { return number{&s.Embed.Tries, 1, 100} }},
		{key: "embed.pause", doc: "ollama, openai: the pause before the second try; each further one is longer.",
			at: func(s *jobs.Settings) value { return duration{&s.Embed.Pause} }},

		{key: "embed.model_dir", doc: "onnx: the directory with model.onnx and tokenizer.json.", dir: true,
			at: func(s *jobs.Settings) value { return word{to: &s.Embed.ModelDir} }},
		{key: "embed.library", doc: "onnx: the file of the ONNX Runtime, libonnxruntime.so.", dir: true,
			at: func(s *jobs.Settings) value { return word{to: &s.Embed.Library} }},
		{key: "embed.threads", doc: "onnx: threads of the runtime. 0: what the machine has.",
			at: func(s *jobs.Settings) value { return number{&s.Embed.Threads, 0, 1024} }},
	}
}

// isTruncation accepts refuse, server, and head:N with N of at least 1.
func isTruncation(s string) bool {
	digits, head := strings.CutPrefix(s, "head:")
	if !head {
		return s == "refuse" || s == "server"
	}
	n, err := strconv.Atoi(digits)
	return err == nil && n > 0 && strconv.Itoa(n) == digits
}
