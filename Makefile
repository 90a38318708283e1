# Short names for the same commands that CI runs; see ./test.

GO ?= go

.PHONY: all test lint fuzz build bench cover clean

all: build

test: ## every check, then every test
	./test

lint: ## the linters alone
	./test format vet lint

fuzz: ## every fuzz target, a minute each
	HOSTSUP_FUZZTIME=$${HOSTSUP_FUZZTIME:-60s} ./test fuzz

build: ## the binary, static, into bin/
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o bin/ ./cmd/hostsup

bench: ## side by side with peers; takes some minutes, wants an idle machine
	cd bench && CGO_ENABLED=0 $(GO) run . all

cover: ## coverage of all packages by all tests
	$(GO) test -covermode atomic -coverpkg ./... -coverprofile cover.out ./...
	$(GO) tool cover -func cover.out | tail -n 1
	$(GO) tool cover -html cover.out -o cover.html

clean:
	rm -rf bin dist .cache cover.out cover.html
