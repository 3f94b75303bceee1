// The bystander in a process of its own: in the attacker's process, the attacker's work would count as waiting for the server.
// `experienceElsewhere` starts it. It begins at once, and ends at a message.

import { readFileSync } from "node:fs";
import { httpClient } from "../../../e2e/testing/http-client.ts";
import { keyMaker } from "../attacked-server.ts";
import { experience } from "./bystander.ts";
import type { Bystander } from "./start-bystander.ts";

const { url, pid, caFile, good, admin } = JSON.parse(process.argv[2] ?? "{}") as Bystander;
const send = await httpClient({ url, caFile });
const isOver = new Promise((resolve) => process.once("message", resolve));
const bystanding = { process: { url, pid }, ca: readFileSync(caFile), good, admin, newKey: keyMaker(send, admin) };
const experienced = await experience(bystanding, isOver);
process.send?.(experienced, () => process.disconnect());
