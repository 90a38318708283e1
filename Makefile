# Short names for the same commands that CI runs; see ./test.

GO ?= go

.PHONY: all test lint fuzz confine-faults confine-model simulate soak build bench cover clean

all: build

test: ## every check, then every test
	./test all

lint: ## the linters alone
	./test format vet lint

fuzz: ## every fuzz target, a minute each
	HOSTSUP_FUZZTIME=$${HOSTSUP_FUZZTIME:-60s} ./test fuzz

confine-faults: ## every system call of a confined start fails, every process is killed at it; takes hours
	CGO_ENABLED=0 $(GO) test ./sandbox -run '^TestFaults$$' -v -timeout 0 -faults $${FAULTS:-.}

confine-model: ## random grants, links and renames against a model: SEEDS cases for each user and level
	$(GO) test -count 1 -timeout 0 -v -run 'TestModel$$' ./sandbox/selftest/grants -seeds $${SEEDS:-2000}

simulate: ## stories of the simulated tree, of new seeds, until one fails
	GOMAXPROCS=1 GODEBUG=asyncpreemptoff=1 CGO_ENABLED=0 $(GO) test ./simulation -count 1 -timeout 0 -v -run '^TestSeeds$$' -forever -first $${FIRST:-$$(date +%s)000}

soak: ## pairs of faults on real processes for SOAK (default 2h), then faults of one supervisor for as long
	CGO_ENABLED=0 $(GO) test ./integration/faults -count 1 -timeout 0 -v -run 'TestPairs|TestSoak' -pairs $${SOAK:-2h} -soak $${SOAK:-2h} -seed $${SEED:-$$(date +%s)}

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
