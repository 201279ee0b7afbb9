# thtbatch: everything a contributor runs. `make` alone lists the targets.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# The driver moves Arrow batches only when built with this tag.
TAGS        := duckdb_arrow
GOFLAGS_ALL := -tags $(TAGS)
VERSION     := $(shell git describe --tags --always --dirty 2>/dev/null || echo unversioned)
# The version comes from git describe; a checkout that git distrusts builds all the same.
export GOFLAGS := $(GOFLAGS) -buildvcs=false
LDFLAGS     := -s -w -X main.version=$(VERSION)
PACKAGES    := ./...
TIMEOUT     := 20m
FUZZTIME    := 30s
SESSIONS    := 100000
RECORDS     := 100000

# Pinned, and run from the module cache: nothing is installed.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: help tools build demo test bench bench-go bench-whole bench-load lint format vet staticcheck fuzz cover clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

tools: # the three programs that a build needs
	@for tool in go gcc g++; do \
	  command -v $$tool >/dev/null || { \
	    echo "make: $$tool is missing. thtbatch links DuckDB and needs Go, gcc and g++:" >&2; \
	    echo "make: on Debian or Ubuntu 'apt-get install golang gcc g++', on Fedora 'dnf install golang gcc gcc-c++'." >&2; \
	    exit 1; }; \
	done

build: tools ## build bin/thtbatch
	CGO_ENABLED=1 go build $(GOFLAGS_ALL) -trimpath -ldflags '$(LDFLAGS)' -o bin/thtbatch ./cmd/thtbatch

demo: build ## run the nightly job on the sample in testdata and show what happened
	@rm -rf build/demo
	bin/thtbatch demo --artifacts testdata/artifacts --state build/demo --log-level warn

test: tools ## run every test with the race detector
	CGO_ENABLED=1 go test -race $(GOFLAGS_ALL) -count=1 -timeout $(TIMEOUT) $(PACKAGES)

bench: bench-go bench-whole bench-load ## run every benchmark once, whole runs on SESSIONS (100000) sessions, and a load of RECORDS (100000)

bench-go: tools
	CGO_ENABLED=1 go test $(GOFLAGS_ALL) -run '^$$' -bench . -benchtime 1x -timeout 60m $(PACKAGES)

# Whole runs beside a program that only reads, or only looks at, the same files.
bench-whole: build
	CGO_ENABLED=1 go build $(GOFLAGS_ALL) -o bin/bench ./internal/bench
	bin/bench -program bin/thtbatch -sessions $(SESSIONS)

# Loading an index on a server that is in the benchmark's own process.
bench-load: build
	CGO_ENABLED=1 go build $(GOFLAGS_ALL) -o bin/bench ./internal/bench
	bin/bench -program bin/thtbatch -records $(RECORDS)

lint: tools format vet staticcheck ## check formatting, vet, staticcheck

format:
	@unformatted=$$(gofmt -l .); \
	if [ -n "$$unformatted" ]; then echo "gofmt would change:" >&2; echo "$$unformatted" >&2; exit 1; fi

vet:
	CGO_ENABLED=1 go vet $(GOFLAGS_ALL) $(PACKAGES)

staticcheck:
	CGO_ENABLED=1 go run $(STATICCHECK) $(GOFLAGS_ALL) $(PACKAGES)

fuzz: tools ## run each fuzz target for FUZZTIME (30s)
	@grep -rlE --include '*_test.go' '^func Fuzz' . | while read -r file; do \
	  dir=$$(dirname "$$file"); \
	  for target in $$(grep -oE '^func Fuzz[A-Za-z0-9_]+' "$$file" | cut -c6-); do \
	    echo "== $$dir $$target"; \
	    go test $(GOFLAGS_ALL) -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$dir" </dev/null; \
	  done; \
	done

cover: tools ## write build/cover.html
	@mkdir -p build
	CGO_ENABLED=1 go test $(GOFLAGS_ALL) -count=1 -timeout $(TIMEOUT) -coverpkg=./... -coverprofile=build/cover.out $(PACKAGES)
	go tool cover -html=build/cover.out -o build/cover.html
	@go tool cover -func=build/cover.out | tail -1

clean: ## remove bin and build
	rm -rf bin build
