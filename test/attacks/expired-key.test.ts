// A key whose end has come stays visible for a while, is refused all the while, and goes: by the clock of a real server.

import { join } from "node:path";
import { expect, it } from "vitest";
import { startOwnServer } from "../e2e/testing/own-server.ts";
import { kubectlWith, succeed } from "../e2e/testing/postern-process.ts";
import { prepareAttack } from "./testing/thief.ts";

it("stays visible after its end, is refused all the while, and goes with an Event", async () => {
  const flags = ["--access-key-keep-expired-seconds", "20", "--failed-logins-per-minute", "0"];
  await using server = await startOwnServer(flags);
  const attack = await prepareAttack(server);
  const run = kubectlWith(server.adminKubeconfig, join(server.directory, "cache"));
  const kubectl = (...args: readonly string[]): Promise<string> => succeed(run(args));
  const name = attack.unique();
  const value = await attack.newKey(name, { ttl: 1 });
  await kubectl("wait", "--for=condition=Ready=false", `oak/${name}`, "--timeout=60s");
  expect((await attack.get(name)).status.conditions[0].reason).toBe("Expired");
  expect(await attack.works(value)).toBe(false);
  await kubectl("wait", "--for=delete", `oak/${name}`, "--timeout=120s");
  const events = await kubectl(
    "get",
    "events",
    "-A",
    "-o",
    "jsonpath={range .items[*]}{.involvedObject.name} {.reason}{'\\n'}{end}",
  );
  expect(events).toContain(`${name} Expired\n`);
});
