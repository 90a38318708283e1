package conformance

const breaks = "A frame that breaks a rule of this page ends the connection"

// supervisorRules bind hostsup. A scripted host plays them in the tests, because only the
// program that embeds a supervisor sees what becomes of its calls.
var supervisorRules = []Rule{
	{ID: "V1", What: "an item without credit ends the connection", Level: Required, Sentence: "An item without credit, or out of sequence, ends the connection."},
	{ID: "V2", What: "an item out of sequence ends the connection", Level: Required, Sentence: "An item without credit, or out of sequence, ends the connection."},
	{ID: "V3", What: "an answer to no request ends the connection", Level: Required, Sentence: "so does a response to a request that is not open"},
	{ID: "V4", What: "an ack of an id that was never used ends the connection", Level: Required, Sentence: "one for an id that was never used ends the connection"},
	{ID: "V5", What: "a length of 0 ends the connection", Level: Required, Sentence: "a length of 0 or above"},
	{ID: "V6", What: "a length above 50 MiB ends the connection", Level: Required, Sentence: "a length of 0 or above"},
	{ID: "V7", What: "a frame that is not MessagePack ends the connection", Level: Required, Sentence: breaks},
	{ID: "V8", What: "a byte behind the array ends the connection", Level: Required, Sentence: breaks},
	{ID: "V9", What: "an unknown kind of message ends the connection", Level: Required, Sentence: breaks},
	{ID: "V10", What: "129 levels end the connection", Level: Required, Sentence: "nesting of arrays and maps, including the message's own"},
	{ID: "V11", What: "an end within a frame is a crash", Level: Required, Sentence: "An end in the middle of a frame is a protocol error."},
	{ID: "V12", What: "an ack that is not in force ends the connection", Level: Required, Sentence: "a message whose capability is not in force ends the connection"},
	{ID: "V13", What: "a second answer ends the connection", Level: Required, Sentence: "A request is answered exactly once, in any order."},
	{ID: "V14", What: "an ack after the answer is ignored", Level: Required, Sentence: "An ack, cancel, item or credit for a request that is finished is ignored"},
	{ID: "V15", What: "a call that its caller gives up is cancelled, and a late result is dropped", Level: Required, Sentence: "hostsup has answered its own caller by then, and drops the answer."},
	{ID: "V16", What: "a message before the answer to initialize ends the connection", Level: Required, Sentence: "any other message ends the connection"},
	{ID: "V17", What: "a host of another version is not tried again", Level: Required, Sentence: "hostsup does not try that host again"},
	{ID: "V18", What: "the 257th open request of a host is refused by name", Level: Required, Sentence: "hostsup answers a request of a host with the error `Overloaded` while 256 requests of that host are open"},
	{ID: "V19", What: "a host with ping is pinged", Level: Required, Sentence: "With `ping`, hostsup sends the request `$/ping`, params nil, from time to time"},
	{ID: "V20", What: "a stop is shutdown, and then the end of the stream", Level: Required, Sentence: "after any answer, even an error, hostsup closes its half of the stream"},
	{ID: "V21", What: "an error that is not a map has a message", Level: Required, Sentence: "A string is taken as the message, `[code, message]` as those two, any other value as a message in JSON."},
	{ID: "V22", What: "credit follows a request that accepts items, and more as they are read", Level: Required, Sentence: "A caller that accepts items sends `[6, id, n]` directly after the request."},
}
