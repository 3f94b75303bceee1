// How long the requests of others take while a server is attacked, beside the same without the attack: each attack of test/attacks/testing/denial
// in turn, against the command as it is built, from a process of its own.
// Usage: tsx --conditions=@postern/source benchmarks/under-attack.ts [--seconds 6] [--objects 3000] [--ahead 5] [word…]
// With words, only the attacks that have one in their name. With --ahead, which takes root, server and bystander run before all else on the
// machine, and the attacker behind it, as if it were another machine.

import { readdir, readFile } from "node:fs/promises";
import { setPriority } from "node:os";
import { parseArgs } from "node:util";
import { refusedIn, totalOf } from "../test/attacks/testing/denial/attack.ts";
import { ATTACKS } from "../test/attacks/testing/denial/attacks.ts";
import { type Experience, experience, percentile } from "../test/attacks/testing/denial/bystander.ts";
import { startAttacker } from "../test/attacks/testing/denial/start-attacker.ts";
import { startTenants, type Tenants } from "../test/attacks/testing/denial/tenants.ts";
import { type Row, renderTable } from "./report/render-table.ts";

const { values, positionals } = parseArgs({
  options: {
    seconds: { type: "string", default: "6" },
    objects: { type: "string", default: "3000" },
    ahead: { type: "string" },
    profile: { type: "string" },
  },
  allowPositionals: true,
});
const seconds = Number(values.seconds);
const chosen = ATTACKS.filter(
  ({ name }) => positionals.length === 0 || positionals.some((word) => name.includes(word)),
);

const milliseconds = (value: number): string => (Number.isNaN(value) ? "none" : value.toFixed(value < 10 ? 1 : 0));
const at = (waits: readonly number[], part: number): string => milliseconds(percentile(waits, part));
const p50and99 = (waits: readonly number[]): string => `${at(waits, 0.5)} / ${at(waits, 0.99)}`;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const failuresOf = (each: Experience): string =>
  Object.entries({ read: each.reads, login: each.logins, revocation: each.revocations, write: each.writes })
    .flatMap(([what, { failures }]) => Object.entries(failures).map(([why, many]) => `${many} × ${what} ${why}`))
    .join(", ");

async function residentMiB({ process }: Tenants): Promise<number> {
  return Math.round((Number((await readFile(`/proc/${process.pid}/statm`, "utf8")).split(" ")[1]) * 4096) / (1 << 20));
}

/** Seconds of processor time that the server has used. */
async function processorSeconds({ process }: Tenants): Promise<number> {
  const fields = (await readFile(`/proc/${process.pid}/stat`, "utf8")).split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

await using tenants = await startTenants({
  objects: Number(values.objects),
  env: values.profile === undefined ? {} : { NODE_OPTIONS: `--require=${values.profile}` },
});
await using attacker = startAttacker();
if (values.ahead !== undefined) {
  const ahead = Number(values.ahead);
  for (const pid of [process.pid, tenants.process.pid])
    for (const thread of await readdir(`/proc/${pid}/task`)) setPriority(Number(thread), -ahead);
  setPriority(attacker.pid, ahead);
}
await experience(tenants, pause(3_000));

const rows: Row[] = [];
for (const { name } of chosen) {
  if (values.profile !== undefined) process.kill(tenants.process.pid, "SIGUSR2");
  const alone = await experience(tenants, pause((seconds * 1_000) / 2));
  await attacker.attack(name, tenants.target);
  await pause(1_500);
  const [before, startedAt] = [await processorSeconds(tenants), performance.now()];
  const during = await experience(tenants, pause(seconds * 1_000));
  const used = (await processorSeconds(tenants)) - before;
  const share = used / ((performance.now() - startedAt) / 1_000);
  const counts = await attacker.counts();
  await attacker.stop();
  const row = {
    attack: name,
    tried: String(totalOf(counts)),
    refused: String(refusedIn(counts)),
    "GET p50 / p99": p50and99(during.reads.times),
    "of it work": p50and99(during.reads.work),
    alone: p50and99(alone.reads.times),
    "new connection": p50and99(during.logins.times),
    "of it work ": p50and99(during.logins.work),
    "alone ": p50and99(alone.logins.times),
    "revoked, median / longest": `${at(during.revocations.times, 0.5)} / ${at(during.revocations.times, 1)}`,
    "of it work  ": at(during.revocations.work, 1),
    "admin's write, longest": at(during.writes.times, 1),
    "of it work   ": at(during.writes.work, 1),
    processors: share.toFixed(2),
    MiB: String(await residentMiB(tenants)),
    failures:
      failuresOf(during) + (during.acceptedAfterwards > 0 ? ` ACCEPTED AFTERWARDS: ${during.acceptedAfterwards}` : ""),
  };
  rows.push(row);
  console.log(`${JSON.stringify(row)} ${JSON.stringify(counts)}`);
  await pause(1_000);
}
console.log(`\nmilliseconds; ${seconds} s each; attacker, server and all others on one machine\n`);
console.log(renderTable(rows));
if (values.profile !== undefined) process.kill(tenants.process.pid, "SIGUSR2");
await pause(1_000);
await tenants.process.stop();
process.exit(0);
