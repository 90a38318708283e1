// A host of hostsup. It is started by "hostsup run", never by hand.
import { Host } from "@hostsup/host";
import { count, crash, greet, hang } from "./handlers.js";

const host = new Host({ name: "greeter", version: "1.0" });

host.handle("greet", greet);
host.handle("count", count);
host.handle("hang", hang);
host.handle("crash", crash);

await host.serve();
