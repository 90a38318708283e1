// Command bare makes an actor system and nothing else.
package main

import "github.com/asynkron/protoactor-go/actor"

func main() { actor.NewActorSystem().Shutdown() }
